/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How much the RTT deviates because of others, which probes are too short to see.
 * crates/core/src/control/ascent/deviation.rs.
 */
#ifndef PCC_DEVIATION_H
#define PCC_DEVIATION_H

#include "../report.h"

struct pcc_deviation {
	/* Mean of others' part of the queue. Unit: s. NaN before the first look. */
	pcc_num theirs;
	/* Mean absolute difference from it. Unit: s. */
	pcc_num mean;
	/* What goes through the queue, ours and theirs, as far as it was seen. Unit: byte/s. */
	pcc_num total_throughput;
};

/* What goes through the queue, after a pair of which so much was carried, and that says
 * that no more than a part of the queue is ours.
 */
PCC_PART void pcc_deviation_throughput(struct pcc_deviation *deviation, pcc_num carried,
				       pcc_num ours, bool shared)
{
	pcc_num more;

	deviation->total_throughput = n_max(deviation->total_throughput, carried);
	if (!shared)
		return;
	more = n_not_negative(n_sub(n_div(carried, ours), deviation->total_throughput));
	deviation->total_throughput = n_add(deviation->total_throughput, n_mul(PAIR_WEIGHT, more));
}

/* Takes in an RTT above the path's own by so much, so long after the one before it: 0 after a
 * pause, since time of which nothing was seen counts for none. Others have no more than is left,
 * of the queue as of what goes through it.
 */
PCC_PART void pcc_deviation_learn(struct pcc_deviation *deviation, pcc_num above, pcc_num since,
				  pcc_num carried, pcc_num ours)
{
	pcc_num weight = n_clamp(n_div(since, DEVIATION_MEMORY), N_ZERO, N_ONE), theirs, apart;

	ours = n_max(ours, n_div(carried, deviation->total_throughput));
	theirs = n_mul(above, n_not_negative(n_sub(N_ONE, ours)));
	if (!n_known(deviation->theirs))
		deviation->theirs = theirs;
	apart = n_sub(theirs, deviation->theirs);
	deviation->mean = n_add(deviation->mean,
				n_mul(weight, n_sub(n_abs(apart), deviation->mean)));
	deviation->theirs = n_add(deviation->theirs, n_mul(weight, apart));
}

#endif
