/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* PCC Vivace (NSDI 2018) as its authors' module has it (NetDev 0x12): gradient ascent on
 * the utility, one round of probes after the other. It has two pairs a round, and none of
 * the additions of PCC Proteus: no steps without probes, no filter of noise but the paper's.
 * crates/core/src/control/vivace/mod.rs.
 *
 *            round known: r := r + D, with D = m(t) * gradient within w * r
 *                     ,----.
 *                     |    v
 *  start-up -------> PROBING --> two pairs r(1 +- e), r(1 -+ e), each in random order;
 *                     |  ^      then r until the last result is there
 *                     |  |-- the pairs disagree, or their rates were alike: a new round at r
 *                     |  |-- short of data, idle: a new round at r, within reach
 *                     '--'-- back off: a new round at that rate, t and w as at first
 *
 * Faults of that module are not here:
 *
 *  - Steps down are steps as those up are. There last_decision is never written.
 *  - An interval is begun at the rate it is booked under.
 *  - An interval of which nothing arrived has the utility of a loss of 1, not 0.
 *  - A time-out lowers the rate, and a gradient of 0 is no reason to send more.
 *  - The rate is judged that was achieved.
 */
#ifndef PCC_VIVACE_H
#define PCC_VIVACE_H

#include "monitor.h"
#include "state.h"

/* From law->rate on; nothing is known. */
PCC_PART void pcc_vivace_begin(struct pcc_law *law)
{
	law->vivace.stride = (struct pcc_stride){ .direction = 0 };
	pcc_round_begin(&law->vivace.round);
}

/* How far the probes are from the rate, as a share of it; law->slot is of an interval. */
PCC_PART pcc_num pcc_visible(const struct pcc_law *law)
{
	pcc_num packets, one;
	u64 length, longest;

	length = pcc_interval_length(&law->path, &law->slot);
	longest = pcc_longest_interval(law->path.rtt_ns);
	packets = n_mul(law->slot.rate, n_seconds(length < longest ? length : longest));
	packets = n_div(packets, n_max(law->path.packet, N_ONE));
	one = n_div(N_ONE, n_max(packets, N_ONE));
	return n_max(VIVACE_EPSILON, n_min(one, PATH_EPSILON_LIMIT));
}

/* The plan of the next interval: law->slot. */
PCC_CALL int pcc_vivace_next(struct pcc_law *law)
{
	pcc_num step;

	PCC_NEEDS(law, 0);
	law->slot.rate = law->rate;
	law->slot.rtts_least = N_ONE;
	law->slot.rtts_most = N_ONE;
	law->slot.is_stretched = 1;
	law->slot.trial = pcc_round_launch(&law->vivace.round, &law->random);
	if (law->slot.trial < 0)
		return 0;
	step = pcc_visible(law);
	if (!pcc_is_high(&law->vivace.round, law->slot.trial))
		step = n_neg(step);
	law->slot.rate = pcc_clamp(&law->path, n_mul(law->rate, n_add(N_ONE, step)));
	return 0;
}

/* The report with the growth that counts. To the letter of the paper a small growth is none,
 * whatever its error.
 */
PCC_PART void pcc_filter_growth(struct pcc_report *seen)
{
	if (!n_known(seen->rtt_gradient))
		return;
	if (n_less(n_abs(seen->rtt_gradient), VIVACE_LATENCY_FILTER))
		seen->rtt_gradient = N_ZERO;
	seen->rtt_gradient_error = N_ZERO;
	seen->rtt_residual = N_ZERO;
}

/* enum pcc_verdict. */
PCC_CALL int pcc_vivace_on_report(struct pcc_law *law, const struct pcc_program *program)
{
	pcc_num utility, gradient, mbit;
	struct pcc_report *seen;

	PCC_NEEDS(law && program, 0);
	if (!law->report.app_limited) {
		/* The report itself is for `pcc kernel top`. */
		seen = &law->starting.doubted;
		*seen = law->report;
		pcc_filter_growth(seen);
		utility = pcc_worth(program, seen, &law->starting.machine);
		if (!pcc_round_learn(&law->vivace.round, law->judged.trial, seen->achieved,
				     utility))
			return PCC_WAIT;
		gradient = pcc_round_votes(&law->vivace.round, law->rate);
		if (!n_is_zero(gradient)) {
			mbit = pcc_mbit(law->rate);
			mbit = n_add(mbit, pcc_stride_change(&law->vivace.stride, gradient, mbit));
			law->rate = pcc_clamp(&law->path, n_mul(mbit, PCC_BYTES_PER_MBIT));
		}
	}
	pcc_round_begin(&law->vivace.round);
	return PCC_REALIGN;
}

#endif
