/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The law's driver: start-up, and then Ascent, which knows of no start-up.
 * crates/core/src/control/driver.rs.
 *
 *            grew: r := 2r
 *             ,----.
 *             |    v  stopped growing: r := what the path carried
 * start --> STARTING ---------------------------> DRAINING -------> PROBING: the law,
 *             ^ ^ '--- back off: r := that, ------^  an interval  |    |     from r on
 *             | |      nothing drains                below r      |    |
 *             | '----- once, if r is no more than at the start ---'    |
 *             '---------- the path was silent, idle for long ----------'
 */
#ifndef PCC_DRIVER_H
#define PCC_DRIVER_H

#include "ascent.h"
#include "monitor.h"

/* The plan of the next interval: law->slot. law->path is up to date. */
PCC_CALL int pcc_law_next(struct pcc_law *law)
{
	PCC_NEEDS(law, 0);
	if (law->state == PCC_STARTING) {
		pcc_starting_next(&law->starting, &law->path, &law->slot);
		return 0;
	}
	if (law->state == PCC_DRAINING && !law->drain_sent) {
		law->drain_sent = 1;
		law->slot.rate = n_mul(law->rate, law->drain_share);
		law->slot.rtts_least = N_ONE;
		law->slot.rtts_most = N_ONE;
		law->slot.trial = PCC_FILLER;
		law->slot.is_stretched = 1;
		return 0;
	}
	if (law->state == PCC_DRAINING) {
		law->state = PCC_PROBING;
		pcc_probing_begin(law);
	}
	return pcc_next_probe(law);
}

/* enum pcc_verdict. */
PCC_PART int pcc_on_starting(struct pcc_law *law, const struct pcc_program *program)
{
	pcc_num queue, target = law->judged.rate;

	switch (pcc_starting_judge(&law->starting, &law->report, &law->path, program, target)) {
	case PCC_RATE_UNKNOWN:
		law->rate = pcc_within_reach(&law->path, target);
		return PCC_WAIT;
	case PCC_RATE_GOOD:
		law->rate = target;
		return law->starting.unknown ? PCC_WAIT : PCC_REALIGN;
	case PCC_RATE_REACHED:
		law->rate = pcc_clamp(&law->path, law->starting.rate);
		law->state = PCC_DRAINING;
		/* It built no queue. */
		law->drain_sent = 1;
		return PCC_REALIGN;
	}
	law->rate = pcc_clamp(&law->path, law->starting.rate);
	queue = n_div(law->path.queue, n_max(law->path.rtt, PCC_NANOSECOND));
	law->state = PCC_DRAINING;
	law->drain_share = n_clamp(n_sub(N_ONE, queue), DRIVER_DRAIN_SHARE, N_ONE);
	law->drain_sent = 0;
	return PCC_REALIGN;
}

/* The interval law->judged was resolved, law->report is what it achieved; law->path is
 * up to date. enum pcc_verdict.
 */
PCC_CALL int pcc_law_on_report(struct pcc_law *law, const struct pcc_program *program)
{
	PCC_NEEDS(law && program, 0);
	/* The rates achieved are judged; but those asked for must not run away. */
	if (law->report.limited_by == PCC_BY_HOST ||
	    (law->state == PCC_PROBING && law->report.app_limited))
		law->rate = pcc_within_reach(&law->path, law->rate);
	if (law->state == PCC_STARTING)
		return pcc_on_starting(law, program);
	if (law->state == PCC_DRAINING || law->judged.trial < 0)
		return PCC_WAIT;
	return pcc_on_probe(law, program);
}

/* The RTT is known now: begin at this rate. */
PCC_PART void pcc_law_start(struct pcc_law *law, pcc_num rate)
{
	law->rate = rate;
	law->state = PCC_STARTING;
	pcc_starting_at(&law->starting, rate);
}

/* The path stalled, or lost more than the utility bears: go on from this rate. */
PCC_PART void pcc_law_back_off(struct pcc_law *law, pcc_num rate)
{
	if (law->state == PCC_PROBING) {
		pcc_probing_back_off(law, rate);
	} else {
		law->rate = rate;
		law->state = PCC_DRAINING;
		law->drain_share = N_ONE;
		law->drain_sent = 0;
	}
}

/* The sender was idle, or a trial told nothing: keep the rate, compare afresh. */
PCC_PART void pcc_law_restart(struct pcc_law *law)
{
	if (law->state == PCC_STARTING) {
		pcc_starting_at(&law->starting, law->rate);
	} else if (law->state == PCC_PROBING) {
		pcc_forget_pairs(&law->probing);
		pcc_interrupt(&law->probing);
	}
}

/* Whether law->report, as though all that is outstanding of it arrived, is enough to
 * decide: Starting overshoots by what it sends until it does.
 */
PCC_PART bool pcc_law_ends_early(struct pcc_law *law, const struct pcc_program *program)
{
	if (law->state != PCC_STARTING)
		return false;
	pcc_doubted(&law->starting.doubted, &law->report, PCC_IN_FAVOUR_SO_FAR);
	return pcc_overloads(&law->starting, &law->report, &law->path, program);
}

/* Adds the law's knowledge of the path to law->report: the RTT without any queue, and the loss
 * beyond the loss that no rate of ours changes. No single interval has either.
 */
PCC_PART void pcc_law_tells(struct pcc_law *law)
{
	struct pcc_report *report = &law->report;
	pcc_num excess;

	if (law->state != PCC_PROBING)
		return;
	report->rtt_base = n_whole_nanoseconds(pcc_level_base(&law->probing.level));
	excess = n_sub(pcc_undelivered(report), law->probing.losses.random);
	report->excess_loss = n_not_negative(excess);
}

/* The RTT that no rate of ours would shorten: of the path without a queue, or with the
 * queue that somebody else fills; NaN where the law does not know it. Unit: s.
 */
PCC_PART pcc_num pcc_law_standing_rtt(const struct pcc_law *law)
{
	const struct pcc_level *level = &law->probing.level;
	pcc_num filled = N_ZERO;

	if (law->state != PCC_PROBING)
		return N_UNKNOWN;
	if (law->probing.rival.has_floor)
		filled = pcc_level_raw(level);
	return n_add(pcc_level_base(level), filled);
}

PCC_PART void pcc_law_new(struct pcc_law *law, pcc_num rate, u64 seed)
{
	pcc_default_parameters(&law->parameters);
	law->random = seed;
	pcc_law_start(law, rate);
}

#endif
