/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A round of Vivace: pairs of probes above and below the rate, and how they vote.
 * crates/core/src/control/vivace/round.rs.
 */
#ifndef PCC_ROUND_H
#define PCC_ROUND_H

#include "../law.h"

/* Pairs of a round: a majority of them decides on a higher rate, all of them on a lower
 * one. Two, as NetDev 0x12: a lone pair (NSDI 2018) is lost in the noise of a loss of 2 %.
 */
#define VIVACE_PROBES (2 * VIVACE_PAIRS)

/* A probe's result; the rate as achieved, in Mbit/s. */
struct pcc_probed {
	pcc_num rate;
	pcc_num utility;
};

struct pcc_round {
	/* The probe below the rate and the one above it, for each pair. Then a bit for each pair:
	 * whether they are known, and whether it begins above the rate.
	 */
	struct pcc_probed low[VIVACE_PAIRS];
	struct pcc_probed high[VIVACE_PAIRS];
	u32 has_low;
	u32 has_high;
	u32 high_first;
	/* Probes that were sent. */
	u32 launched;
};

PCC_PART void pcc_round_begin(struct pcc_round *round)
{
	round->has_low = 0;
	round->has_high = 0;
	round->high_first = 0;
	round->launched = 0;
}

/* Whether this probe is one above the rate: 1 or 0. */
PCC_PART u32 pcc_is_high(const struct pcc_round *round, u32 trial)
{
	return (round->high_first >> (trial / 2 & 31) & 1) ^ (trial & 1);
}

/* Sends a probe, if there is one to be sent: its number, or PCC_FILLER. The order in a pair
 * is random.
 */
PCC_PART s32 pcc_round_launch(struct pcc_round *round, u64 *random)
{
	u32 trial = round->launched;

	if (trial >= VIVACE_PROBES)
		return PCC_FILLER;
	round->launched++;
	if (!(trial & 1))
		round->high_first |= (u32)pcc_coin(random) << trial / 2;
	return trial;
}

/* The slope of the utility from the lower to the higher probe of a pair, by Mbit/s. It is 0
 * if the rates are no more than this apart, or the slower probe achieved more.
 */
PCC_PART pcc_num pcc_gradient(const struct pcc_probed *low, const struct pcc_probed *high,
			      pcc_num alike)
{
	pcc_num apart = n_sub(high->rate, low->rate);

	return n_above(apart, alike) ? n_div(n_sub(high->utility, low->utility), apart) : N_ZERO;
}

/* The pairs' verdict around this rate: the mean gradient of those in favour; 0 if they do not
 * agree.
 */
PCC_PART pcc_num pcc_round_votes(const struct pcc_round *round, pcc_num base)
{
	pcc_num alike = n_mul(VIVACE_ALIKE, pcc_mbit(base)), up = N_ZERO, down = N_ZERO, slope;
	u32 ups = 0, downs = 0, i;

	for (i = 0; i < VIVACE_PAIRS; i++) {
		slope = pcc_gradient(&round->low[i], &round->high[i], alike);
		if (n_above(slope, N_ZERO)) {
			up = n_add(up, slope);
			ups++;
		} else if (n_less(slope, N_ZERO)) {
			down = n_add(down, slope);
			downs++;
		}
	}
	/* More go up than go down. A sender that needed all of them to go up would give way to
	 * everybody else's noise.
	 */
	if (2 * ups > VIVACE_PAIRS)
		return n_div(up, n_from(ups));
	return downs == VIVACE_PAIRS ? n_div(down, n_from(downs)) : N_ZERO;
}

/* Takes in what a probe achieved and is worth: whether all are known now. */
PCC_PART bool pcc_round_learn(struct pcc_round *round, u32 trial, pcc_num achieved,
			      pcc_num utility)
{
	struct pcc_probed probed = { pcc_mbit(achieved), utility };
	u32 pair = trial / 2 & (VIVACE_PAIRS - 1), all = (1U << VIVACE_PAIRS) - 1;

	if (pcc_is_high(round, trial)) {
		round->high[pair] = probed;
		round->has_high |= 1U << pair;
	} else {
		round->low[pair] = probed;
		round->has_low |= 1U << pair;
	}
	return round->has_low == all && round->has_high == all;
}

#endif
