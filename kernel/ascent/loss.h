/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Which of the losses are ours: those that answer to our rate. Others happen
 * whatever we send. crates/core/src/control/ascent/loss.rs.
 */
#ifndef PCC_OWN_LOSS_H
#define PCC_OWN_LOSS_H

#include "pair.h"

/* Weight of a pair in the rate of random loss. */
#define LOSS_WEIGHT n_ratio(1, 10)

struct pcc_losses {
	struct pcc_response response;
	/* Loss rate that does not answer, and that of late, whoever caused it. */
	pcc_num random;
	pcc_num mean;
	/* The pair before: its rate, 0 if there was none, and its loss. */
	pcc_num last_rate;
	struct pcc_estimate last;
};

/* Takes in a pair: the share of its packets that were lost because of the rate. */
PCC_CALL pcc_num pcc_losses_update(struct pcc_losses *losses, const struct pcc_pair *pair)
{
	pcc_num loss, less;

	PCC_NEEDS(losses, N_ZERO);
	PCC_NEEDS(pair, N_ZERO);
	loss = pair->loss.mean;
	losses->mean = n_add(losses->mean, n_mul(LOSS_WEIGHT, n_sub(loss, losses->mean)));
	if (n_above(pair->step, N_ZERO))
		pcc_learn(&losses->response, pair->step, pair->loss_step.mean,
			  pair->loss_step.variance);
	/* The rate's own moves are larger than the probes, and tell more. */
	if (!n_is_zero(losses->last_rate))
		pcc_learn(&losses->response, n_log(n_div(pair->rate, losses->last_rate)),
			  n_sub(loss, losses->last.mean),
			  n_add(pair->loss.variance, losses->last.variance));
	losses->last_rate = pair->rate;
	losses->last = pair->loss;
	if (pcc_answers(&losses->response, N_ZERO, N_ZERO) == PCC_ANSWERS) {
		/* What the slower probe lost bounds what is random. */
		less = n_min(n_sub(pair->low_loss, losses->random), N_ZERO);
		losses->random = n_add(losses->random, n_mul(LOSS_WEIGHT, less));
		return n_not_negative(n_sub(loss, losses->random));
	}
	losses->random = n_add(losses->random, n_mul(LOSS_WEIGHT, n_sub(loss, losses->random)));
	return N_ZERO;
}

#endif
