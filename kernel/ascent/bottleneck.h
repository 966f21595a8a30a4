/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What the bottleneck carries for us, and how much its buffer holds.
 * crates/core/src/control/ascent/bottleneck.rs.
 */
#ifndef PCC_BOTTLENECK_H
#define PCC_BOTTLENECK_H

#include "level.h"
#include "scatter.h"

struct pcc_bottleneck {
	pcc_num capacity; /* byte/s */
	pcc_num variance; /* of ln capacity */
	/* Of ln of what pairs carry: on a host that sends in bursts they err by more
	 * than their slopes say.
	 */
	struct pcc_scatter scatter;
	/* By how much more is tried when all that was tried was carried. */
	pcc_num headroom;
	/* Half of the queueing delay at which packets are lost. Unit: s. */
	pcc_num half_buffer;
};

/* One that was seen to carry so much when the queue was so long. */
PCC_PART void pcc_bottleneck_new(struct pcc_bottleneck *bottleneck, pcc_num capacity, pcc_num queue)
{
	bottleneck->capacity = capacity;
	bottleneck->variance = n_ratio(1, 10);
	bottleneck->scatter = (struct pcc_scatter){ .last = N_UNKNOWN };
	bottleneck->headroom = N_ZERO;
	bottleneck->half_buffer = n_div(queue, N_TWO);
}

/* What was carried, in ln x, where so much was lost of what was sent. What overflows was
 * full: until it was, it grew by no more than what has been lost since, however little few
 * RTTs tell of that.
 */
PCC_PART void pcc_overflowing(struct pcc_estimate *carried, pcc_num sent, pcc_num lost)
{
	pcc_num weight = n_mul(lost, lost);

	weight = n_div(weight, n_add(weight, carried->variance));
	carried->mean = n_add(sent, n_mul(weight, n_sub(carried->mean, sent)));
	carried->variance = n_mul(weight, carried->variance);
}

/* A pair was carried, while so much of it was lost because of the rate, or
 * beyond what is random. Whether the bottleneck was busy.
 */
PCC_CALL int pcc_bottleneck_update(struct pcc_bottleneck *bottleneck, const struct pcc_pair *pair,
				   const struct pcc_level *level, pcc_num own_loss,
				   pcc_num loss_above_random)
{
	pcc_num rate, packet, gain, growth, variance, carried, kept;
	bool loses, loses_more, busy;
	struct pcc_estimate seen;

	PCC_NEEDS(bottleneck, 0);
	PCC_NEEDS(pair, 0);
	PCC_NEEDS(level, 0);
	rate = pair->rate;
	growth = pair->seen_growth.mean;
	variance = pair->seen_growth.variance;
	packet = n_div(pair->packet, rate);
	loses = n_above(own_loss, BOTTLENECK_TELLING_LOSS);
	if (loses)
		bottleneck->half_buffer = pcc_moved(bottleneck->half_buffer,
					     n_div(level->queue, N_TWO), BOTTLENECK_WEIGHT);
	bottleneck->half_buffer = n_max(bottleneck->half_buffer, n_div(level->queue, N_TWO));
	packet = n_max(level->queue_noise, n_mul(LEVEL_TELLING_PACKETS, packet));
	/* Whether or not that answers to our rate: all was not carried. */
	loses_more = n_above(loss_above_random, n_mul(N_TWO, n_sqrt(pair->loss.variance)));
	busy = loses || loses_more || n_above(level->queue, packet);
	if (!busy) {
		gain = n_add(n_mul(N_TWO, n_sqrt(variance)), PAIR_TELLING_GROWTH);
		busy = n_above(pcc_wiener(growth, variance), gain);
	}
	if (busy) {
		/* What it carried is what it can carry. */
		seen = pair->ln_carried;
		if (loses || loses_more)
			pcc_overflowing(&seen, n_log(rate), loss_above_random);
		/* A packet at the least: without one there would be no RTT, and no
		 * reading of the queue.
		 */
		kept = n_max(n_sub(N_ONE, loss_above_random), n_div(N_ONE, pair->packets));
		carried = n_mul(n_exp(seen.mean), kept);
		variance = seen.variance;
		bottleneck->variance = n_add(bottleneck->variance, n_square(BOTTLENECK_DRIFT));
		pcc_scatter_learn(&bottleneck->scatter, n_log(carried));
		gain = n_max(n_add(variance, pair->loss.variance),
			     pcc_scatter_variance(&bottleneck->scatter));
		gain = n_div(bottleneck->variance, n_add(bottleneck->variance, gain));
		bottleneck->variance = n_mul(bottleneck->variance, n_sub(N_ONE, gain));
		carried = n_pow(n_div(carried, bottleneck->capacity), gain);
		bottleneck->capacity = n_mul(bottleneck->capacity, carried);
		gain = loses ? N_ZERO : pcc_level_noisy(level);
		bottleneck->headroom = n_mul(bottleneck->headroom, gain);
		return 1;
	}
	return 0;
}

/* The rate that the path was offered. A pacer is always a little late: who asked that
 * what was sent be what was asked for would never ask for more, and lose a little with
 * each queue that it meets. What falls far behind shows no more than itself.
 */
PCC_PART pcc_num pcc_offered(const struct pcc_pair *pair)
{
	if (n_less(pair->rate, n_mul(INTERVAL_ACHIEVED_SHARE, pair->target)))
		return pair->rate;
	return n_max(pair->rate, pair->target);
}

/* The bottleneck was not busy, and if it carried all, then it can carry more: whether
 * more is tried now. The first step beyond that is `first`, which it also takes for a rate
 * to have been offered. What a host sent late and all at once is no such proof, and what left
 * before more was tried for the last time has no say in it either.
 */
PCC_CALL int pcc_bottleneck_idle(struct pcc_bottleneck *bottleneck, const struct pcc_pair *pair,
				 pcc_num first)
{
	pcc_num carried, headroom;

	PCC_NEEDS(bottleneck, 0);
	PCC_NEEDS(pair, 0);
	carried = n_mul(bottleneck->capacity, n_sub(N_ONE, first));
	if (!pair->after_increase || n_less(pcc_offered(pair), carried))
		return 0;
	carried = n_max(bottleneck->capacity, n_min(pair->rate, pair->target));
	bottleneck->capacity = n_mul(carried, n_add(N_ONE, bottleneck->headroom));
	pcc_scatter_interrupt(&bottleneck->scatter);
	headroom = n_max(bottleneck->headroom, n_div(first, N_TWO));
	headroom = n_mul(headroom, n_pow(N_TWO, pair->pairs));
	bottleneck->headroom = n_min(headroom, pair->largest_step);
	bottleneck->variance = BOTTLENECK_UNSURE;
	return 1;
}

/* Where the rate stays low, what was carried once is forgotten. */
PCC_PART void pcc_bottleneck_forget(struct pcc_bottleneck *bottleneck, pcc_num rate)
{
	if (n_less(rate, n_mul(BOTTLENECK_UNUSED, bottleneck->capacity)))
		bottleneck->capacity = n_mul(bottleneck->capacity, RESPONSE_MEMORY);
}

#endif
