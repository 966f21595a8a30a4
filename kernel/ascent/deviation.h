/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How much the RTT deviates because of others, which probes are too short to see.
 * crates/core/src/control/ascent/deviation.rs.
 */
#ifndef PCC_DEVIATION_H
#define PCC_DEVIATION_H

#include "../report.h"

/* Of others' part of the queue: its mean, NaN before the first look; when that was, NaN where
 * the next one does not follow it, so that time of which nothing was seen counts for none; and
 * by how much it differs from the mean in the mean. All in s.
 */
struct pcc_deviation {
	pcc_num theirs;
	pcc_num at;
	pcc_num mean;
};

/* Takes in others' part of the queue at this time. */
PCC_PART void pcc_deviation_learn(struct pcc_deviation *deviation, pcc_num at, pcc_num theirs)
{
	pcc_num weight = N_ZERO, apart;

	if (!n_known(deviation->theirs))
		deviation->theirs = theirs;
	else if (n_known(deviation->at))
		weight = n_clamp(n_div(n_sub(at, deviation->at), DEVIATION_MEMORY), N_ZERO, N_ONE);
	apart = n_sub(theirs, deviation->theirs);
	deviation->mean = n_add(deviation->mean,
				n_mul(weight, n_sub(n_abs(apart), deviation->mean)));
	deviation->theirs = n_add(deviation->theirs, n_mul(weight, apart));
	deviation->at = at;
}

/* The next look does not follow the latest one. */
PCC_PART void pcc_deviation_interrupt(struct pcc_deviation *deviation)
{
	deviation->at = N_UNKNOWN;
}

#endif
