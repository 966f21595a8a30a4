/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Whose losses and marks are: ours, since they answer to our rate, or nobody's, which come
 * whatever we send. A probability tells. crates/core/src/control/ascent/loss.rs.
 */
#ifndef PCC_OWN_LOSS_H
#define PCC_OWN_LOSS_H

#include "pair.h"

/* How losses, or marks, go with something else. Each probe is compared with those of late, so that
 * what others change meanwhile counts for little. Nothing is forgotten when the rate changes: who
 * sends few packets an RTT learns more from the rate's own moves than from probes.
 */
struct pcc_loss_regression {
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
	/* Losses along ln of the rate, and along the RTT; marks along ln of the rate. */
	struct pcc_loss_regression losses;
	struct pcc_loss_regression overflows;
	struct pcc_loss_regression marks;
	/* ln of the first pair's rate, from which others are counted; 0 before it,
	 * which that of one byte a second would be.
	 */
	pcc_num origin;
	/* Loss rate that does not certainly answer. Its part that may be somebody's has a price. */
	pcc_num random;
};

PCC_PART pcc_num pcc_of_late(pcc_num sum, pcc_num more)
{
	return n_mul(LOSS_RECENT, n_add(sum, more));
}

/* Takes in a probe that was sent at x. */
PCC_CALL int pcc_loss_regression_take(struct pcc_loss_regression *regression,
				      const struct pcc_lost *probe, pcc_num x, bool marks)
{
	pcc_num packets, lost, bursts, weight, more, worse, kept = LOSS_RECENT;

	PCC_NEEDS(regression, 0);
	PCC_NEEDS(probe, 0);
	packets = probe->packets;
	lost = marks ? probe->marked : probe->lost;
	bursts = n_add(regression->bursts, marks ? probe->marked : probe->bursts);
	if (n_above(regression->packets, N_ZERO) && n_above(packets, N_ZERO)) {
		if (n_above(lost, N_ZERO))
			kept = n_div(LOSS_REMEMBERED, n_add(LOSS_REMEMBERED, lost));
		more = n_add(regression->packets, packets);
		worse = n_add(regression->lost, lost);
		weight = n_add(n_div(N_ONE, packets), n_div(N_ONE, regression->packets));
		weight = n_mul(pcc_packet_variance(more, worse, bursts), weight);
		weight = n_div(N_ONE, weight);
		more = n_sub(x, n_div(regression->x, regression->packets));
		worse = n_sub(n_div(lost, packets), n_div(regression->lost, regression->packets));
		regression->xx = n_add(n_mul(kept, regression->xx),
				       n_mul(n_mul(weight, more), more));
		regression->xy = n_add(n_mul(kept, regression->xy),
				       n_mul(n_mul(weight, more), worse));
		regression->yy = n_add(n_mul(kept, regression->yy),
				       n_mul(n_mul(weight, worse), worse));
		regression->samples = n_add(n_mul(kept, regression->samples), N_ONE);
	}
	regression->bursts = n_mul(LOSS_RECENT, bursts);
	regression->packets = pcc_of_late(regression->packets, packets);
	regression->lost = pcc_of_late(regression->lost, lost);
	regression->x = pcc_of_late(regression->x, n_mul(packets, x));
	return 0;
}

/* e to the evidence, as far as it counts. */
PCC_PART pcc_num pcc_likelier(pcc_num evidence)
{
	return n_exp(n_min(evidence, LOSS_CERTAIN));
}

PCC_PART pcc_num pcc_likelier_by(const struct pcc_loss_regression *regression, pcc_num slope,
				 pcc_num scatter)
{
	pcc_num evidence = n_sub(regression->xy, n_div(n_mul(slope, regression->xx), N_TWO));

	return pcc_likelier(n_div(n_mul(slope, evidence), scatter));
}

/* Whether losses certainly rise (97.5 %), were no other sender there to scatter them. */
PCC_PART bool pcc_certainly_rise(const struct pcc_loss_regression *regression)
{
	return n_above(regression->xy, n_mul(N_TWO, n_sqrt(regression->xx)));
}

/* By how much likelier what was seen is if losses answer than if they do not, by the mean of
 * the slopes. Samples may scatter more than their own variance says, as beside other senders.
 */
PCC_CALL pcc_num pcc_loss_regression_answers(const struct pcc_loss_regression *regression)
{
	pcc_num scatter = N_ZERO, sum;

	PCC_NEEDS(regression, N_ONE);
	if (n_above(regression->xx, N_ZERO))
		scatter = n_sub(regression->yy, n_div(n_square(regression->xy), regression->xx));
	scatter = n_div(scatter, n_max(n_sub(regression->samples, N_ONE), N_ONE));
	scatter = n_max(scatter, N_ONE);
	sum = pcc_likelier_by(regression, LOSS_SLOPE_OF_33, scatter);
	sum = n_add(sum, pcc_likelier_by(regression, LOSS_SLOPE_OF_10, scatter));
	sum = n_add(sum, pcc_likelier_by(regression, LOSS_SLOPE_OF_3, scatter));
	sum = n_add(sum, pcc_likelier_by(regression, LOSS_SLOPE_OF_1, scatter));
	return n_div(sum, N_FOUR);
}

/* The same where any slope above zero will do (Schwarz), less 1. */
PCC_CALL pcc_num pcc_loss_regression_rises(const struct pcc_loss_regression *regression)
{
	pcc_num xy, evidence = N_ZERO;

	PCC_NEEDS(regression, N_ZERO);
	xy = n_not_negative(regression->xy);
	if (n_above(regression->xx, N_ZERO))
		evidence = n_div(n_mul(xy, xy), n_mul(N_TWO, regression->xx));
	evidence = n_sub(pcc_likelier(evidence), N_ONE);
	return n_div(evidence, n_sqrt(n_add(N_ONE, n_div(regression->samples, N_TWO))));
}

/* Probability that losses are nobody's, where the longest queue of late is so full, above 0 and
 * below 1. What comes with a longer queue is somebody's overflow, however little ours.
 */
PCC_CALL pcc_num pcc_nobodys_loss(const struct pcc_losses *losses, pcc_num fullness)
{
	pcc_num odds, overflows, against;

	PCC_NEEDS(losses, N_ZERO);
	odds = n_mul(LOSS_NOBODYS, n_exp(n_div(n_neg(losses->random), LOSS_RARE)));
	odds = n_div(n_mul(odds, n_sub(N_ONE, fullness)), fullness);
	overflows = n_mul(LOSS_OTHERS, n_add(N_ONE, odds));
	overflows = n_div(pcc_loss_regression_rises(&losses->overflows), overflows);
	against = n_add(N_ONE, n_div(pcc_loss_regression_answers(&losses->losses), odds));
	against = n_mul(against, n_add(N_ONE, overflows));
	return n_div(N_ONE, against);
}

/* The loss rate that has a price. */
PCC_CALL pcc_num pcc_priced_loss(const struct pcc_losses *losses, pcc_num fullness)
{
	PCC_NEEDS(losses, N_ZERO);
	return n_mul(n_sub(N_ONE, pcc_nobodys_loss(losses, fullness)), losses->random);
}

/* The share of marks that has a price. */
PCC_CALL pcc_num pcc_priced_marks(const struct pcc_losses *losses, pcc_num marked)
{
	pcc_num answers;

	PCC_NEEDS(losses, N_ZERO);
	answers = pcc_loss_regression_answers(&losses->marks);
	return n_mul(n_div(answers, n_add(LOSS_NOBODYS_MARKS, answers)), marked);
}

/* Takes in a pair, behind a queue of which the longest of late was so full. The share of its
 * packets that the rate lost, as is to be expected.
 */
PCC_CALL pcc_num pcc_losses_update(struct pcc_losses *losses, const struct pcc_pair *pair,
				   pcc_num fullness)
{
	const struct pcc_lost *probe;
	pcc_num ours, change, more, x;
	bool certain;
	int i;

	PCC_NEEDS(losses, N_ZERO);
	PCC_NEEDS(pair, N_ZERO);
	if (n_is_zero(losses->origin))
		losses->origin = n_log(pair->rate);
	for (i = 0; i < 2; i++) {
		probe = &pair->lost[i];
		x = n_sub(probe->ln_rate, losses->origin);
		pcc_loss_regression_take(&losses->losses, probe, x, false);
		if (n_known(probe->rtt))
			pcc_loss_regression_take(&losses->overflows, probe, probe->rtt, false);
		pcc_loss_regression_take(&losses->marks, probe, x, true);
	}
	ours = n_sub(N_ONE, pcc_nobodys_loss(losses, fullness));
	change = n_sub(pair->loss.mean, losses->random);
	certain = pcc_certainly_rise(&losses->losses);
	/* What the slower probe lost bounds what is random. */
	if (certain)
		change = n_min(n_sub(pair->low_loss, losses->random), N_ZERO);
	losses->random = n_add(losses->random, n_mul(PAIR_WEIGHT, change));
	more = n_not_negative(n_sub(pair->loss.mean, losses->random));
	if (certain)
		return more;
	return n_mul(ours, pcc_wiener(more, pair->loss.variance));
}

#endif
