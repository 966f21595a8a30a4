/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* From a gradient to a change of rate: the confidence amplifier and the dynamic change
 * boundary (NSDI 2018 4). crates/core/src/control/vivace/stride.rs.
 *
 * All shares lie between 0 and VIVACE_WIDEST, so a change is at most half of the rate,
 * whatever the gradient is: even an infinite one.
 */
#ifndef PCC_STRIDE_H
#define PCC_STRIDE_H

#include "../number.h"

/* control/vivace/stride.rs, Stride */
struct pcc_stride {
	/* 1 or -1; 0 before the first decision. */
	s32 direction;
	u32 repeats;
	/* Steps by which the boundary is wider. At VIVACE_WIDEST, five steps, it goes on counting:
	 * below 2^32 since a decision takes a round trip.
	 */
	u32 widened;
	u32 reserved;
};

/* control/vivace/stride.rs, amplifier() */
PCC_PART pcc_num pcc_amplifier(u32 repeats)
{
	/* Below 2^33: exact. */
	if (repeats > 3)
		return n_from(2ULL * repeats - 3);
	return n_from(repeats ? repeats : 1);
}

/* The boundary with so many steps. */
PCC_PART pcc_num pcc_boundary(u32 widened)
{
	return n_min(n_add(VIVACE_BOUNDARY, n_mul(n_from(widened), VIVACE_BOUNDARY_STEP)),
		     VIVACE_WIDEST);
}

/* The fewest steps that would let such a share through, which is at most VIVACE_WIDEST. */
PCC_PART u32 pcc_widened_for(pcc_num share)
{
	pcc_num steps = n_div(n_sub(share, VIVACE_BOUNDARY), VIVACE_BOUNDARY_STEP);
	u64 whole = n_to(steps);

	if (!n_above(steps, N_ZERO))
		return 0;
	return whole + n_above(steps, n_from(whole));
}

/* The change of a rate, in Mbit/s, for this gradient, which is not 0. Unit: Mbit/s. */
PCC_PART pcc_num pcc_stride_change(struct pcc_stride *stride, pcc_num gradient, pcc_num mbit)
{
	s32 direction = n_above(gradient, N_ZERO) ? 1 : -1;
	pcc_num share, within;

	if (direction == stride->direction) {
		stride->repeats += stride->repeats + 1 != 0;
	} else {
		stride->direction = direction;
		stride->repeats = 0;
		stride->widened = 0;
	}
	share = n_mul(n_mul(pcc_amplifier(stride->repeats), VIVACE_CONVERSION), n_abs(gradient));
	share = n_div(share, mbit);
	within = n_min(share, pcc_boundary(stride->widened));
	if (n_above(share, within))
		stride->widened++;
	else
		stride->widened = pcc_widened_for(share);
	within = n_mul(n_max(within, VIVACE_STEP_MIN), mbit);
	return direction > 0 ? within : n_neg(within);
}

#endif
