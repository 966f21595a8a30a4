/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What the queue costs in the mean, which senders of unequal rates agree on.
 * crates/core/src/control/ascent/price.rs.
 */
#ifndef PCC_PRICE_H
#define PCC_PRICE_H

#include "forecast.h"

/* The mean of the queueing delay, once it took in the level's latest reading. */
PCC_PART pcc_num pcc_price_follow(pcc_num mean, const struct pcc_level *level)
{
	pcc_num longest = n_mul(PRICE_UNUSUAL, n_max(mean, LEVEL_TELLING));

	return pcc_moved(mean, n_min(pcc_level_raw(level), longest), PAIR_WEIGHT);
}

/* The factor by which the rate of a pair should change for what the queue costs in the
 * mean, which the forecast's queue is afterwards. A part of its caller, since the call
 * stack is as deep as BPF allows.
 */
PCC_PART pcc_num pcc_price_factor(pcc_num mean, const struct pcc_level *level,
				  struct pcc_forecast *forecast,
				  const struct pcc_program *program)
{
	pcc_num carried = forecast->capacity, wanted;

	/* Behind no queue, or one that is not seen, nothing is known of what others want.
	 * RTTs are read to a nanosecond: what is shorter is what rounding left of none.
	 */
	if (n_less(pcc_level_raw(level), PRICE_READ_TO) ||
	    n_at_most(mean, level->queue_noise))
		return N_ONE;
	forecast->queue = mean;
	forecast->stands = 1;
	wanted = pcc_climb(forecast, program, n_div(carried, ASCENT_DOUBLING),
			   n_mul(carried, ASCENT_DOUBLING));
	forecast->stands = 0;
	return n_pow(n_div(wanted, carried), ASCENT_PRICE_GAIN);
}

#endif
