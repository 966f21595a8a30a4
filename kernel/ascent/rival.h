/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Beside a sender that fills the queue until packets are lost: what such a sender
 * does, so that it leaves us our part: a floor under the rate that grows and falls as
 * CUBIC's window does, towards twice the rate that it began at. A queue that falls shows that
 * somebody gave way: who sees that follows, and returns if it grows again.
 * crates/core/src/control/ascent/rival.rs.
 */
#ifndef PCC_RIVAL_H
#define PCC_RIVAL_H

#include "../function.h"

/* Windows in packets, times in s. */
struct pcc_rival {
	/* How often the queue was too long of late, 0 to 1. */
	pcc_num crowded;
	/* The longest queue since the floor came or returned, or the shortest since it yields. */
	pcc_num extreme;
	/* CUBIC's window: where it grows slowest, where it began to grow, how long it has
	 * grown, without the time in which nothing was sent (RFC 9438 5.8), and below which
	 * age we give way.
	 */
	pcc_num largest;
	pcc_num low;
	pcc_num age;
	pcc_num yields;
	u32 has_floor;
	u32 reserved;
};

/* A moment of the path. */
struct pcc_rival_sample {
	/* How long after the one before it; 0 after a pause. */
	pcc_num since;
	pcc_num rtt;
	pcc_num queue;
	/* So many packets an RTT are sent. */
	pcc_num window;
	/* The queue is longer than senders of our kind would keep it; it certainly is
	 * not ours alone; packets were lost that are likelier somebody's than nobody's.
	 */
	u32 is_long;
	u32 shared;
	u32 lost;
	u32 reserved;
};

PCC_CALL pcc_num pcc_cubic_window(const struct pcc_rival *rival)
{
	pcc_num k;

	PCC_NEEDS(rival, N_ZERO);
	k = n_div(n_max(n_sub(rival->largest, rival->low), N_ZERO), RIVAL_C);
	k = n_sub(rival->age, n_pow(k, n_ratio(1, 3)));
	return n_add(n_mul(RIVAL_C, n_mul(n_square(k), k)), rival->largest);
}

/* Gives way, and then grows on; after a loss from a smaller window. */
PCC_PART void pcc_rival_yields(struct pcc_rival *rival, const struct pcc_rival_sample *sample)
{
	pcc_num drained = n_mul(N_TWO, sample->queue);

	rival->largest = pcc_cubic_window(rival);
	rival->low = sample->lost ? n_mul(rival->largest, RIVAL_BETA) : rival->largest;
	rival->age = N_ZERO;
	rival->yields = n_add(n_mul(RIVAL_YIELD_RTTS, sample->rtt), drained);
}

/* The floor under the rate, in packets an RTT; NaN if there is none. */
PCC_CALL pcc_num pcc_rival_update(struct pcc_rival *rival, const struct pcc_rival_sample *sample)
{
	pcc_num more, weight;
	bool crowded;

	PCC_NEEDS(rival, N_UNKNOWN);
	PCC_NEEDS(sample, N_UNKNOWN);
	weight = n_div(sample->since, n_max(n_mul(RIVAL_MEMORY_RTTS, sample->rtt), RIVAL_MEMORY));
	weight = n_clamp(weight, N_ZERO, N_ONE);
	crowded = sample->is_long && sample->shared;
	more = n_sub(crowded ? N_ONE : N_ZERO, rival->crowded);
	rival->crowded = n_add(rival->crowded, n_mul(weight, more));
	rival->age = n_add(rival->age, sample->since);
	if (!rival->has_floor) {
		if (!n_above(rival->crowded, RIVAL_ENTER))
			return N_UNKNOWN;
		rival->extreme = sample->queue;
		rival->has_floor = 1;
		rival->largest = n_mul(RIVAL_DOUBLED, sample->window);
		rival->low = sample->window;
		rival->age = N_ZERO;
		rival->yields = N_ZERO;
	} else if (n_less(rival->crowded, RIVAL_LEAVE)) {
		rival->has_floor = 0;
	} else if (n_less(rival->age, rival->yields)) {
		/* What was sent before is still on its way for an RTT. */
		if (!sample->is_long && n_above(rival->age, sample->rtt)) {
			rival->crowded = N_ZERO;
			rival->has_floor = 0;
		}
		rival->extreme = n_min(rival->extreme, sample->queue);
		if (n_above(rival->age, n_mul(RIVAL_ANSWERED, sample->rtt)) &&
		    n_above(n_mul(RIVAL_FELL, sample->queue), rival->extreme))
			rival->yields = N_ZERO;
	} else if (sample->lost || n_less(sample->queue, n_mul(RIVAL_FELL, rival->extreme))) {
		rival->extreme = sample->queue;
		pcc_rival_yields(rival, sample);
	} else {
		rival->extreme = n_max(rival->extreme, sample->queue);
	}
	if (!rival->has_floor || n_less(rival->age, rival->yields))
		return N_UNKNOWN;
	return pcc_cubic_window(rival);
}

#endif
