/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How far readings of something that drifts are off, judged by the readings
 * themselves: the product of two successive changes is minus the variance of the
 * error in the mean. crates/core/src/control/ascent/scatter.rs.
 */
#ifndef PCC_SCATTER_H
#define PCC_SCATTER_H

#include "../function.h"

struct pcc_scatter {
	/* The latest reading, NaN where the next one follows none, and its
	 * difference from the one before it.
	 */
	pcc_num last;
	pcc_num change;
	/* Mean of the products. */
	pcc_num product;
};

/* Takes in a reading. */
PCC_PART void pcc_scatter_learn(struct pcc_scatter *scatter, pcc_num reading)
{
	pcc_num change = N_ZERO, before = N_ZERO, product;

	if (n_known(scatter->last)) {
		change = n_sub(reading, scatter->last);
		before = scatter->change;
	}
	product = n_sub(n_mul(change, before), scatter->product);
	scatter->product = n_add(scatter->product, n_mul(PAIR_WEIGHT, product));
	scatter->last = reading;
	scatter->change = change;
}

/* The next reading does not follow the latest one. */
PCC_PART void pcc_scatter_interrupt(struct pcc_scatter *scatter)
{
	scatter->last = N_UNKNOWN;
}

/* Variance of a reading's error. */
PCC_PART pcc_num pcc_scatter_variance(const struct pcc_scatter *scatter)
{
	return n_not_negative(n_neg(scatter->product));
}

#endif
