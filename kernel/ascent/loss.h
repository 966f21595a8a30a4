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

struct pcc_losses {
	struct pcc_loss_line losses;
	struct pcc_loss_line marks;
	/* ln of the first pair's rate, from which others are counted; 0 before it,
	 * which that of one byte a second would be.
	 */
	pcc_num origin;
	/* Loss rate that does not answer. */
	pcc_num random;
};

/* Takes in a probe, of whose packets so many were lost, or marked, in so many runs. */
PCC_CALL int pcc_line_take(struct pcc_loss_line *line, pcc_num packets, pcc_num lost,
			   pcc_num bursts, pcc_num x)
{
	PCC_NEEDS(line, 0);
	line->packets = n_add(line->packets, packets);
	line->lost = n_add(line->lost, lost);
	line->bursts = n_add(line->bursts, bursts);
	line->x = n_add(line->x, n_mul(packets, x));
	line->xx = n_add(line->xx, n_mul(n_mul(packets, x), x));
	line->xy = n_add(line->xy, n_mul(lost, x));
	return 0;
}

PCC_PART void pcc_losses_take(struct pcc_losses *losses, const struct pcc_lost *probe)
{
	pcc_num x = n_sub(probe->ln_rate, losses->origin);

	pcc_line_take(&losses->losses, probe->packets, probe->lost, probe->bursts, x);
	pcc_line_take(&losses->marks, probe->packets, probe->marked, probe->marked, x);
}

PCC_CALL int pcc_line_fade(struct pcc_loss_line *line, pcc_num kept)
{
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

/* Whether it certainly is none of ours. */
PCC_PART bool pcc_line_is_free(const struct pcc_loss_line *line)
{
	return n_less(pcc_line_slope(line, N_TWO), LOSS_FREE);
}

/* Whether it is unclear whether marks, or losses that cost us our rate, are ours. */
PCC_PART bool pcc_losses_unclear(const struct pcc_losses *losses)
{
	if (n_above(losses->marks.lost, N_ZERO) && !pcc_line_is_free(&losses->marks))
		return true;
	return n_above(losses->random, LOSS_MUCH) && !pcc_line_is_free(&losses->losses);
}

/* Takes in a pair: the share of its packets that were lost because of the rate. */
PCC_CALL pcc_num pcc_losses_update(struct pcc_losses *losses, const struct pcc_pair *pair)
{
	pcc_num loss, less, packets, kept;

	PCC_NEEDS(losses, N_ZERO);
	PCC_NEEDS(pair, N_ZERO);
	loss = pair->loss.mean;
	if (n_is_zero(losses->origin))
		losses->origin = n_log(pair->rate);
	packets = n_add(pair->lost[0].packets, pair->lost[1].packets);
	kept = n_div(LOSS_REMEMBERED, n_add(LOSS_REMEMBERED, packets));
	pcc_line_fade(&losses->losses, RESPONSE_MEMORY);
	pcc_line_fade(&losses->marks, kept);
	pcc_losses_take(losses, &pair->lost[0]);
	pcc_losses_take(losses, &pair->lost[1]);
	if (n_above(pcc_line_slope(&losses->losses, n_neg(N_TWO)), N_ZERO)) {
		/* What the slower probe lost bounds what is random. */
		less = n_min(n_sub(pair->low_loss, losses->random), N_ZERO);
		losses->random = n_add(losses->random, n_mul(PAIR_WEIGHT, less));
		return n_not_negative(n_sub(loss, losses->random));
	}
	losses->random = n_add(losses->random, n_mul(PAIR_WEIGHT, n_sub(loss, losses->random)));
	return N_ZERO;
}

#endif
