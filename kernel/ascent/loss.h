/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Whose losses and marks are: ours, since they answer to our rate, or nobody's, which come
 * whatever we send. A probability tells. crates/core/src/control/ascent/loss.rs.
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

/* How losses, or marks, go with something else. Each probe is compared with those of late, so that
 * what others change meanwhile counts for little.
 */
struct pcc_along {
	/* Sums over the probes of late: packets, lost ones, runs of those, and what each packet
	 * was sent at.
	 */
	pcc_num packets;
	pcc_num lost;
	pcc_num bursts;
	pcc_num x;
	/* Sums of squares and products, by the inverse of the variance; of how many. */
	pcc_num xx;
	pcc_num xy;
	pcc_num yy;
	pcc_num samples;
};

struct pcc_losses {
	struct pcc_loss_line own;
	/* Losses along ln of the rate, and along the RTT; marks along ln of the rate. */
	struct pcc_along losses;
	struct pcc_along overflows;
	struct pcc_along marks;
	/* ln of the first pair's rate, from which others are counted; 0 before it,
	 * which that of one byte a second would be.
	 */
	pcc_num origin;
	/* Loss rate that does not certainly answer. Its part that may be somebody's has a price. */
	pcc_num random;
};

/* Takes in a probe at a rate in ln x. */
PCC_CALL int pcc_line_take(struct pcc_loss_line *line, const struct pcc_lost *probe, pcc_num x)
{
	PCC_NEEDS(line, 0);
	PCC_NEEDS(probe, 0);
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

PCC_PART pcc_num pcc_of_late(pcc_num sum, pcc_num more)
{
	return n_mul(LOSS_RECENT, n_add(sum, more));
}

/* Takes in a probe that was sent at x. */
PCC_CALL int pcc_along_take(struct pcc_along *along, const struct pcc_lost *probe, pcc_num x,
			    bool marks)
{
	pcc_num packets, lost, bursts, weight, more, worse, kept = LOSS_RECENT;

	PCC_NEEDS(along, 0);
	PCC_NEEDS(probe, 0);
	packets = probe->packets;
	lost = marks ? probe->marked : probe->lost;
	bursts = n_add(along->bursts, marks ? probe->marked : probe->bursts);
	if (n_above(along->packets, N_ZERO) && n_above(packets, N_ZERO)) {
		if (n_above(lost, N_ZERO))
			kept = n_div(LOSS_REMEMBERED, n_add(LOSS_REMEMBERED, lost));
		more = n_add(along->packets, packets);
		worse = n_add(along->lost, lost);
		weight = n_add(n_div(N_ONE, packets), n_div(N_ONE, along->packets));
		weight = n_mul(pcc_packet_variance(more, worse, bursts), weight);
		weight = n_div(N_ONE, weight);
		more = n_sub(x, n_div(along->x, along->packets));
		worse = n_sub(n_div(lost, packets), n_div(along->lost, along->packets));
		along->xx = n_add(n_mul(kept, along->xx), n_mul(n_mul(weight, more), more));
		along->xy = n_add(n_mul(kept, along->xy), n_mul(n_mul(weight, more), worse));
		along->yy = n_add(n_mul(kept, along->yy), n_mul(n_mul(weight, worse), worse));
		along->samples = n_add(n_mul(kept, along->samples), N_ONE);
	}
	along->bursts = n_mul(LOSS_RECENT, bursts);
	along->packets = pcc_of_late(along->packets, packets);
	along->lost = pcc_of_late(along->lost, lost);
	along->x = pcc_of_late(along->x, n_mul(packets, x));
	return 0;
}

/* e to the evidence, as far as it counts. */
PCC_PART pcc_num pcc_likelier(pcc_num evidence)
{
	return n_exp(n_min(evidence, LOSS_CERTAIN));
}

PCC_PART pcc_num pcc_likelier_by(const struct pcc_along *along, pcc_num slope, pcc_num scatter)
{
	pcc_num evidence = n_sub(along->xy, n_div(n_mul(slope, along->xx), N_TWO));

	return pcc_likelier(n_div(n_mul(slope, evidence), scatter));
}

/* By how much likelier what was seen is if losses answer than if they do not, by the mean of
 * the slopes. Samples may scatter more than their own variance says, as beside other senders.
 */
PCC_CALL pcc_num pcc_along_answers(const struct pcc_along *along)
{
	pcc_num scatter = N_ZERO, sum;

	PCC_NEEDS(along, N_ONE);
	if (n_above(along->xx, N_ZERO))
		scatter = n_sub(along->yy, n_div(n_mul(along->xy, along->xy), along->xx));
	scatter = n_div(scatter, n_max(n_sub(along->samples, N_ONE), N_ONE));
	scatter = n_max(scatter, N_ONE);
	sum = pcc_likelier_by(along, LOSS_SLOPE_OF_33, scatter);
	sum = n_add(sum, pcc_likelier_by(along, LOSS_SLOPE_OF_10, scatter));
	sum = n_add(sum, pcc_likelier_by(along, LOSS_SLOPE_OF_3, scatter));
	sum = n_add(sum, pcc_likelier_by(along, LOSS_SLOPE_OF_1, scatter));
	return n_div(sum, N_FOUR);
}

/* The same where any slope above zero will do (Schwarz), less 1. */
PCC_CALL pcc_num pcc_along_rises(const struct pcc_along *along)
{
	pcc_num xy, evidence = N_ZERO;

	PCC_NEEDS(along, N_ZERO);
	xy = n_not_negative(along->xy);
	if (n_above(along->xx, N_ZERO))
		evidence = n_div(n_mul(xy, xy), n_mul(N_TWO, along->xx));
	evidence = n_sub(pcc_likelier(evidence), N_ONE);
	return n_div(evidence, n_sqrt(n_add(N_ONE, n_div(along->samples, N_TWO))));
}

/* The loss rate that has a price, where the longest queue of late is so full, above 0 and below 1.
 * What comes with a longer queue is somebody's overflow, however little ours.
 */
PCC_CALL pcc_num pcc_priced_loss(const struct pcc_losses *losses, pcc_num fullness)
{
	pcc_num odds, overflows, against;

	PCC_NEEDS(losses, N_ZERO);
	odds = n_mul(LOSS_NOBODYS, n_exp(n_div(n_neg(losses->random), LOSS_RARE)));
	odds = n_div(n_mul(odds, n_sub(N_ONE, fullness)), fullness);
	overflows = n_mul(LOSS_OTHERS, n_add(N_ONE, odds));
	overflows = n_div(pcc_along_rises(&losses->overflows), overflows);
	against = n_add(N_ONE, n_div(pcc_along_answers(&losses->losses), odds));
	against = n_mul(against, n_add(N_ONE, overflows));
	return n_mul(n_sub(N_ONE, n_div(N_ONE, against)), losses->random);
}

/* The share of marks that has a price. */
PCC_CALL pcc_num pcc_priced_marks(const struct pcc_losses *losses, pcc_num marked)
{
	pcc_num answers;

	PCC_NEEDS(losses, N_ZERO);
	answers = pcc_along_answers(&losses->marks);
	return n_mul(n_div(answers, n_add(LOSS_NOBODYS_MARKS, answers)), marked);
}

/* Takes in a pair: the share of its packets that were lost because of the rate. */
PCC_CALL pcc_num pcc_losses_update(struct pcc_losses *losses, const struct pcc_pair *pair)
{
	const struct pcc_lost *probe;
	pcc_num loss, less, x;
	int i;

	PCC_NEEDS(losses, N_ZERO);
	PCC_NEEDS(pair, N_ZERO);
	loss = pair->loss.mean;
	if (n_is_zero(losses->origin))
		losses->origin = n_log(pair->rate);
	pcc_line_fade(&losses->own);
	for (i = 0; i < 2; i++) {
		probe = &pair->lost[i];
		x = n_sub(probe->ln_rate, losses->origin);
		pcc_line_take(&losses->own, probe, x);
		pcc_along_take(&losses->losses, probe, x, false);
		if (n_known(probe->rtt))
			pcc_along_take(&losses->overflows, probe, probe->rtt, false);
		pcc_along_take(&losses->marks, probe, x, true);
	}
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
