/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Beside a sender that fills the queue until packets are lost: what such a sender
 * does, so that it leaves us our part: a floor under the rate that grows and falls as
 * CUBIC's window does, towards the most that was ever carried.
 * crates/core/src/control/ascent/rival.rs.
 */
#ifndef PCC_RIVAL_H
#define PCC_RIVAL_H

#include "../function.h"

/* Windows in packets, times in s. */
struct pcc_rival {
	/* How often the queue was too long of late, 0 to 1. */
	pcc_num crowded;
	pcc_num seen;
	/* CUBIC's window: where it grows slowest, from when and from where on it
	 * grows. We give way from the first to the second of the last two.
	 */
	pcc_num largest;
	pcc_num began;
	pcc_num low;
	pcc_num yields_from;
	pcc_num yields_to;
	/* Whether the next moment follows the one seen. */
	u32 follows;
	u32 has_floor;
};

/* A moment of the path. */
struct pcc_seen {
	pcc_num at;
	pcc_num rtt;
	pcc_num queue;
	/* So many packets an RTT are sent, and were carried at the most. */
	pcc_num window;
	pcc_num most;
	/* The queue is longer than senders of our kind would keep it; it certainly is
	 * not ours alone; packets were lost to it.
	 */
	u32 is_long;
	u32 shared;
	u32 lost;
	u32 reserved;
};

PCC_CALL pcc_num pcc_cubic_window(const struct pcc_rival *rival, pcc_num at, pcc_num rtt)
{
	pcc_num t, k, cubic, reno;

	PCC_NEEDS(rival, N_ZERO);
	t = n_sub(at, rival->began);
	k = n_div(n_max(n_sub(rival->largest, rival->low), N_ZERO), RIVAL_C);
	k = n_sub(t, n_pow(k, n_ratio(1, 3)));
	cubic = n_add(n_mul(RIVAL_C, n_mul(n_square(k), k)), rival->largest);
	/* Never slower than Reno with the same decrease (RFC 9438 4.3). */
	reno = n_div(n_mul(N_THREE, n_sub(N_ONE, RIVAL_BETA)), n_add(N_ONE, RIVAL_BETA));
	reno = n_add(rival->low, n_div(n_mul(reno, t), rtt));
	return n_max(cubic, reno);
}

/* Gives way after a loss, and then grows from a smaller window on. */
PCC_PART void pcc_rival_yields(struct pcc_rival *rival, const struct pcc_seen *seen)
{
	pcc_num end = n_add(seen->at, n_mul(RIVAL_YIELD_RTTS, seen->rtt)), now;

	/* What is not sent does not grow. */
	now = pcc_cubic_window(rival, seen->at, seen->rtt);
	now = n_min(now, n_mul(N_TWO, seen->window));
	rival->largest = now;
	rival->began = seen->at;
	rival->low = n_mul(now, RIVAL_BETA);
	rival->yields_from = seen->at;
	rival->yields_to = n_add(end, n_mul(N_TWO, seen->queue));
}

/* The window as it was, so much later: time in which nothing is sent is none in which it
 * grows (RFC 9438 5.8).
 */
PCC_PART void pcc_rival_later(struct pcc_rival *rival, pcc_num by)
{
	rival->began = n_add(rival->began, by);
	rival->yields_from = n_add(rival->yields_from, by);
	rival->yields_to = n_add(rival->yields_to, by);
}

/* The next moment does not follow the latest one: what was seen meanwhile is not known. */
PCC_PART void pcc_rival_interrupt(struct pcc_rival *rival)
{
	rival->follows = 0;
}

/* The floor under the rate, in packets an RTT; NaN if there is none. */
PCC_CALL pcc_num pcc_rival_update(struct pcc_rival *rival, const struct pcc_seen *seen)
{
	pcc_num since, weight;
	bool crowded;

	PCC_NEEDS(rival, N_UNKNOWN);
	PCC_NEEDS(seen, N_UNKNOWN);
	since = n_sub(seen->at, rival->seen);
	if (!rival->follows) {
		pcc_rival_later(rival, since);
		since = N_ZERO;
	}
	rival->seen = seen->at;
	rival->follows = 1;
	weight = n_div(since, n_max(n_mul(RIVAL_MEMORY_RTTS, seen->rtt), RIVAL_MEMORY));
	weight = n_clamp(weight, N_ZERO, N_ONE);
	/* Who was found out once is there as long as the queue is long: beside a floor nobody
	 * can tell whose it is.
	 */
	crowded = seen->is_long && (seen->shared || rival->has_floor);
	since = n_sub(crowded ? N_ONE : N_ZERO, rival->crowded);
	rival->crowded = n_add(rival->crowded, n_mul(weight, since));
	if (!rival->has_floor) {
		if (!n_above(rival->crowded, RIVAL_ENTER))
			return N_UNKNOWN;
		rival->has_floor = 1;
		rival->largest = n_max(seen->most, n_mul(N_TWO, seen->window));
		rival->low = seen->window;
		rival->began = seen->at;
		rival->yields_from = seen->at;
		rival->yields_to = seen->at;
	} else if (n_less(rival->crowded, RIVAL_LEAVE)) {
		rival->has_floor = 0;
	} else if (n_less(seen->at, rival->yields_to)) {
		/* What was sent before is still on its way for an RTT. */
		if (!seen->is_long && n_above(seen->at, n_add(rival->yields_from, seen->rtt))) {
			rival->crowded = N_ZERO;
			rival->has_floor = 0;
		}
	} else if (seen->lost) {
		pcc_rival_yields(rival, seen);
	}
	if (!rival->has_floor || n_less(seen->at, rival->yields_to))
		return N_UNKNOWN;
	return pcc_cubic_window(rival, seen->at, seen->rtt);
}

#endif
