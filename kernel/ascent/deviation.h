/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How much the RTT deviates because of others, which probes are too short to see.
 * crates/core/src/control/ascent/deviation.rs.
 */
#ifndef PCC_DEVIATION_H
#define PCC_DEVIATION_H

#include "../number.h"

/* So long is remembered. Unit: s. */
#define DEVIATION_MEMORY n_ratio(3, 1)

/* Of the least RTT of pairs: its mean, NaN before the first, when it was taken in last,
 * and by how much it differs from the mean in the mean. All in s.
 */
struct pcc_deviation {
	pcc_num rtt;
	pcc_num at;
	pcc_num mean;
};

/* Takes in an RTT of that time, of a queue that is all ours or not. */
PCC_PART void pcc_deviation_learn(struct pcc_deviation *deviation, pcc_num rtt, pcc_num at,
				  bool is_ours)
{
	pcc_num weight = N_ZERO, apart;

	if (n_known(deviation->rtt))
		weight = n_clamp(n_div(n_sub(at, deviation->at), DEVIATION_MEMORY), N_ZERO, N_ONE);
	if (is_ours || !n_known(deviation->rtt))
		deviation->rtt = rtt;
	apart = n_sub(rtt, deviation->rtt);
	deviation->mean = n_add(deviation->mean,
				n_mul(weight, n_sub(n_abs(apart), deviation->mean)));
	deviation->rtt = n_add(deviation->rtt, n_mul(weight, apart));
	deviation->at = at;
}

#endif
