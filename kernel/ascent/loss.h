/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Which of the losses and marks are ours: those that answer to our rate. Others happen
 * whatever we send. crates/core/src/control/ascent/loss.rs.
 */
#ifndef PCC_OWN_LOSS_H
#define PCC_OWN_LOSS_H

#include "pair.h"

/* A line through the loss rates of late on ln of the rates, each probe by its packets. Who
 * sends few an RTT learns more from the rate's own moves than from probes, the more the
 * further they went: so nothing is forgotten when the rate changes. Sums, of which older
 * ones weigh less.
 */
struct pcc_loss_line {
	pcc_num packets;
	pcc_num lost;
	pcc_num bursts;
	pcc_num x;
	pcc_num xx;
	pcc_num xy;
};

/* How losses go with something else. Each sample is compared with those shortly before it, so
 * that what others change meanwhile counts for little; what that tells is remembered for long.
 */
struct pcc_along {
	/* Sums over the samples of late: packets, lost ones, what each packet was sent at. */
	pcc_num packets;
	pcc_num lost;
	pcc_num x;
	/* Squares and products of how far each sample was from those. */
	pcc_num xx;
	pcc_num xy;
};

/* What losses, or marks, come with: a rate of ours, or a queue. */
struct pcc_cause {
	pcc_num packets;
	pcc_num lost;
	pcc_num bursts;
	struct pcc_along rate;
	struct pcc_along queue;
};

struct pcc_losses {
	struct pcc_loss_line own;
	struct pcc_cause losses;
	struct pcc_cause marks;
	/* ln of the first pair's rate, from which others are counted; 0 before it,
	 * which that of one byte a second would be.
	 */
	pcc_num origin;
	/* Loss rate that does not answer. */
	pcc_num random;
};

/* Takes in a probe. */
PCC_CALL int pcc_line_take(struct pcc_loss_line *line, const struct pcc_lost *probe,
			   pcc_num origin)
{
	pcc_num x;

	PCC_NEEDS(line, 0);
	PCC_NEEDS(probe, 0);
	x = n_sub(probe->ln_rate, origin);
	line->packets = n_add(line->packets, probe->packets);
	line->lost = n_add(line->lost, probe->lost);
	line->bursts = n_add(line->bursts, probe->bursts);
	line->x = n_add(line->x, n_mul(probe->packets, x));
	line->xx = n_add(line->xx, n_mul(n_mul(probe->packets, x), x));
	line->xy = n_add(line->xy, n_mul(probe->lost, x));
	return 0;
}

PCC_CALL int pcc_line_fade(struct pcc_loss_line *line)
{
	pcc_num kept = RESPONSE_MEMORY;

	PCC_NEEDS(line, 0);
	line->packets = n_mul(line->packets, kept);
	line->lost = n_mul(line->lost, kept);
	line->bursts = n_mul(line->bursts, kept);
	line->x = n_mul(line->x, kept);
	line->xx = n_mul(line->xx, kept);
	line->xy = n_mul(line->xy, kept);
	return 0;
}

/* How the loss rate answers to the rate, d L / d ln x: the slope, and so many errors more. */
PCC_CALL pcc_num pcc_line_slope(const struct pcc_loss_line *line, pcc_num errors)
{
	pcc_num squares, mean, variance;

	PCC_NEEDS(line, N_UNKNOWN);
	squares = n_sub(line->xx, n_div(n_mul(line->x, line->x), line->packets));
	mean = n_sub(line->xy, n_div(n_mul(line->x, line->lost), line->packets));
	mean = n_div(mean, squares);
	variance = pcc_packet_variance(line->packets, line->lost, line->bursts);
	variance = n_div(variance, squares);
	return n_add(mean, n_mul(errors, n_sqrt(variance)));
}

/* The part of what is known that so many more packets leave. */
PCC_PART pcc_num pcc_kept(pcc_num packets)
{
	return n_div(LOSS_REMEMBERED, n_add(LOSS_REMEMBERED, packets));
}

PCC_PART pcc_num pcc_of_late(pcc_num recent, pcc_num sum, pcc_num more)
{
	return n_mul(recent, n_add(sum, more));
}

/* Takes in packets that were sent at x, and how many of them were lost. Before others, those of
 * late count as much less as recent says.
 */
PCC_CALL int pcc_along_take(struct pcc_along *along, pcc_num packets, pcc_num lost, pcc_num x,
			    pcc_num recent)
{
	pcc_num kept, weight, more, worse;

	PCC_NEEDS(along, 0);
	if (n_above(along->packets, N_ZERO)) {
		weight = n_div(n_mul(packets, along->packets), n_add(packets, along->packets));
		kept = pcc_kept(packets);
		more = n_sub(x, n_div(along->x, along->packets));
		worse = n_sub(n_div(lost, packets), n_div(along->lost, along->packets));
		weight = n_mul(weight, more);
		along->xx = n_add(n_mul(kept, along->xx), n_mul(weight, more));
		along->xy = n_add(n_mul(kept, along->xy), n_mul(weight, worse));
	}
	along->packets = pcc_of_late(recent, along->packets, packets);
	along->lost = pcc_of_late(recent, along->lost, lost);
	along->x = pcc_of_late(recent, along->x, n_mul(packets, x));
	return 0;
}

/* Takes in a pair. What is lost, or marked, at one RTT and not at the other tells of a queue. */
PCC_CALL int pcc_cause_take(struct pcc_cause *cause, const struct pcc_pair *pair,
			    pcc_num origin, bool marks)
{
	pcc_num packets = N_ZERO, lost = N_ZERO, bursts = N_ZERO, of, kept;
	int i;

	PCC_NEEDS(cause, 0);
	PCC_NEEDS(pair, 0);
	for (i = 0; i < 2; i++) {
		const struct pcc_lost *probe = &pair->lost[i];

		of = marks ? probe->marked : probe->lost;
		if (n_known(probe->rtt) && n_above(probe->packets, N_ZERO))
			pcc_along_take(&cause->queue, probe->packets, of, probe->rtt, LOSS_RECENT);
		packets = n_add(packets, probe->packets);
		lost = n_add(lost, of);
		bursts = n_add(bursts, marks ? of : probe->bursts);
	}
	if (n_above(packets, N_ZERO))
		pcc_along_take(&cause->rate, packets, lost, n_sub(n_log(pair->rate), origin),
			       RESPONSE_MEMORY);
	kept = pcc_kept(packets);
	cause->packets = n_add(n_mul(kept, cause->packets), packets);
	cause->lost = n_add(n_mul(kept, cause->lost), lost);
	cause->bursts = n_add(n_mul(kept, cause->bursts), bursts);
	return 0;
}

/* Whether what is lost, or marked, certainly is none of ours. What certainly comes with a longer
 * queue is somebody's overflow, however little ours.
 */
PCC_CALL int pcc_cause_is_free(const struct pcc_cause *cause)
{
	pcc_num variance, error;

	PCC_NEEDS(cause, 0);
	variance = pcc_packet_variance(cause->packets, cause->lost, cause->bursts);
	error = n_sqrt(n_mul(variance, cause->queue.xx));
	if (n_above(cause->queue.xy, n_mul(N_TWO, error)))
		return 0;
	error = n_mul(N_TWO, n_sqrt(n_mul(variance, cause->rate.xx)));
	return n_less(n_add(cause->rate.xy, error), n_mul(LOSS_FREE, cause->rate.xx));
}

/* Whether it is unclear whether marks, or losses that cost us our rate, are ours. */
PCC_PART bool pcc_losses_unclear(const struct pcc_losses *losses)
{
	if (n_above(losses->marks.lost, N_ZERO) && !pcc_cause_is_free(&losses->marks))
		return true;
	return n_above(losses->random, LOSS_MUCH) && !pcc_cause_is_free(&losses->losses);
}

/* Takes in a pair: the share of its packets that were lost because of the rate. */
PCC_CALL pcc_num pcc_losses_update(struct pcc_losses *losses, const struct pcc_pair *pair)
{
	pcc_num loss, less;

	PCC_NEEDS(losses, N_ZERO);
	PCC_NEEDS(pair, N_ZERO);
	loss = pair->loss.mean;
	if (n_is_zero(losses->origin))
		losses->origin = n_log(pair->rate);
	pcc_line_fade(&losses->own);
	pcc_line_take(&losses->own, &pair->lost[0], losses->origin);
	pcc_line_take(&losses->own, &pair->lost[1], losses->origin);
	pcc_cause_take(&losses->losses, pair, losses->origin, false);
	pcc_cause_take(&losses->marks, pair, losses->origin, true);
	if (n_above(pcc_line_slope(&losses->own, n_neg(N_TWO)), N_ZERO)) {
		/* What the slower probe lost bounds what is random. */
		less = n_min(n_sub(pair->low_loss, losses->random), N_ZERO);
		losses->random = n_add(losses->random, n_mul(PAIR_WEIGHT, less));
		return n_not_negative(n_sub(loss, losses->random));
	}
	losses->random = n_add(losses->random, n_mul(PAIR_WEIGHT, n_sub(loss, losses->random)));
	return N_ZERO;
}

#endif
