/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* PCC for one TCP connection: what TCP counts goes in, a rate and a window come out.
 * The facade of crates/core/src/pcc.rs, with the guards around the law.
 *
 *   TCP's counters          a report an interval
 *   ---------------> monitor --------> utility --> law --> rate of the next interval
 *
 * Performance-oriented Congestion Control sends for a moment a little faster and for a
 * moment a little slower, measures what each achieved, and moves to what is worth more:
 * docs/algorithm.md. It differs from the core in what TCP does not tell:
 *
 *  - Intervals begin and end at acknowledgements, at the time at which pacing lets the
 *    next packet leave, so that a train belongs to one of them as a whole.
 *  - Packets are attributed by counting: monitor.h. Where packets were held back and are
 *    acknowledged at once, only the last tells the RTT.
 *  - There is no timer. That the path fell silent is found when it answers again; until
 *    then TCP's own time-outs leave one packet in flight.
 */
#ifndef PCC_H
#define PCC_H

#include "flow.h"

/* Reports that one acknowledgement may bring at the most: those of a pair, so one decision. The
 * others wait for the next one, whatever is in flight.
 */
#define PCC_MOST_REPORTS 2
/* An unfinished interval is looked at whenever another part of it is answered for. */
#define PCC_LOOKS 16

/* A probe has at least the time of four trains: fewer tell little of a queue, and each costs a
 * decision. Start-up doubles as fast as it can. Unit: ns.
 */
#define PCC_SHORTEST_PROBE (4 * 1000000000ULL >> PCC_PACING_SHIFT)

/* Plans the next interval, and opens it. law->path is up to date. */
PCC_CALL int pcc_plan_next(struct pcc_flow *flow, struct pcc_law *law)
{
	struct pcc_slot *slot;
	u64 length;

	PCC_NEEDS(flow && law, 0);
	slot = &law->slot;
	if (flow->rtt.smoothed) {
		pcc_law_next(law);
	} else {
		slot->rate = law->rate;
		slot->rtts_least = N_ONE;
		slot->rtts_most = N_ONE;
		slot->trial = PCC_FILLER;
		slot->is_stretched = 1;
	}
	slot->rate = pcc_clamp(&law->path, slot->rate);
	flow->rate = n_to(slot->rate);
	if (!flow->rate)
		flow->rate = 1;
	length = pcc_interval_length(&law->path, slot);
	if (law->state == PCC_PROBING && slot->trial >= 0 && length < PCC_SHORTEST_PROBE)
		length = PCC_SHORTEST_PROBE;
	pcc_open(&flow->monitor, &flow->sample, slot, length);
	return 0;
}

/* Drops the running intervals and goes on with the law's new plan at once. */
PCC_PART int pcc_replan(struct pcc_flow *flow, struct pcc_law *law)
{
	pcc_realign(&flow->monitor);
	flow->next_look = 0;
	return pcc_plan_next(flow, law);
}

/* Looks for the path's rate by doubling, from this one on. */
PCC_PART void pcc_flow_start(struct pcc_flow *flow, struct pcc_law *law, pcc_num rate)
{
	pcc_num time = n_seconds(pcc_rtt_smoothed(&flow->rtt) / 2);

	pcc_open_start_window(flow,
			      n_to(n_div(n_mul(rate, time), n_from(flow->sample.packet))));
	pcc_law_start(law, rate);
}

/* Whether the path is to be learnt from this RTT sample on. It is the first one, or it is so much
 * shorter than start-up's that the initial window could leave twice as fast. The handshake's
 * contains what both hosts computed.
 */
PCC_PART bool pcc_rtt_begins(const struct pcc_flow *flow, u32 state)
{
	u64 least = pcc_rtt_least(&flow->rtt), sample = (u64)flow->sample.rtt * 1000;

	if (!flow->rtt.smoothed)
		return true;
	return state == PCC_STARTING && least && pcc_half_rtt(least) > 2 * pcc_half_rtt(sample);
}

/* Starts with this RTT sample. */
PCC_CALL int pcc_begin_with_rtt(struct pcc_flow *flow, struct pcc_law *law)
{
	u64 sample, first;
	pcc_num start;

	PCC_NEEDS(flow && law, 0);
	sample = (u64)flow->sample.rtt * 1000;
	first = !flow->rtt.smoothed;
	flow->rtt = (struct pcc_rtt){ .half_started = flow->sample.now };
	pcc_rtt_update(&flow->rtt, flow->sample.now, sample);
	pcc_update_path(flow, law);
	start = n_min(pcc_initial_rate(flow, sample), pcc_flow_ceiling(flow));
	pcc_flow_start(flow, law, first ? start : n_max(start, law->rate));
	return pcc_replan(flow, law);
}

PCC_PART void pcc_delivered(struct pcc_flow *flow, struct pcc_law *law, pcc_num rate)
{
	u64 half = pcc_rtt_smoothed(&flow->rtt);

	if (half < PCC_HOST_PAUSE)
		half = PCC_HOST_PAUSE;
	if (flow->sample.now > flow->delivery_half + 5 * half) {
		flow->delivery_before = flow->delivery;
		flow->delivery = N_ZERO;
		flow->delivery_half = flow->sample.now;
	}
	flow->delivery = n_max(flow->delivery, rate);
	law->path.delivery = n_max(flow->delivery, flow->delivery_before);
}

/* Judges law->report, of the interval law->judged. */
PCC_CALL int pcc_judge(struct pcc_flow *flow, struct pcc_law *law,
		       const struct pcc_program *program)
{
	struct pcc_report *report;
	pcc_num throughput;
	bool started, trial;
	u32 verdict;

	PCC_NEEDS(flow && law && program, 0);
	report = &law->report;
	started = law->state == PCC_STARTING;
	trial = law->judged.trial >= 0;
	pcc_summarise(&flow->previous, report);
	throughput = flow->previous.throughput;
	flow->loss = flow->previous.loss;
	flow->limited_by = report->limited_by;
	flow->intervals++;
	flow->on_end = report->app_limited ? 0 : flow->on_end + report->packets;
	if (flow->on_end >= MONITOR_LEAST_PACKETS) {
		flow->filled = flow->sample.now;
		flow->on_end = 0;
	}
	if (!trial)
		return 0;
	if (!started && report->packets_lost >= PCC_PANIC_PACKETS &&
	    report->loss_bursts >= PCC_PANIC_RUNS &&
	    n_above(flow->loss, program->panic_loss)) {
		/* The path carries as much as still arrived. One interval may be wrong: no more
		 * than three halvings at once.
		 */
		flow->panics++;
		throughput = n_max(n_min(throughput, law->rate),
				   n_mul(law->rate, n_ratio(1, 8)));
		pcc_law_back_off(law, pcc_clamp(&law->path, throughput));
		return pcc_replan(flow, law);
	}
	flow->utility = pcc_utility(program, report, &law->starting.machine);
	if (!n_finite(flow->utility)) {
		pcc_law_restart(law);
		return pcc_replan(flow, law);
	}
	verdict = pcc_law_on_report(law, program);
	if (verdict != PCC_REALIGN)
		return 0;
	if (started && law->state != PCC_STARTING)
		pcc_open_start_window(flow, flow->sample.in_flight);
	return pcc_replan(flow, law);
}

/* Makes law->report of the oldest interval. */
PCC_CALL int pcc_report_oldest(struct pcc_flow *flow, struct pcc_law *law)
{
	struct pcc_interval *oldest;
	struct pcc_report *report;
	u64 least;

	PCC_NEEDS(flow && law, 0);
	report = &law->report;
	oldest = pcc_interval(&flow->monitor, 0);
	law->judged = oldest->slot;
	pcc_interval_report(oldest, report);
	least = pcc_rtt_least(&flow->rtt);
	report->rtt_base = least ? n_seconds(least) : N_UNKNOWN;
	pcc_law_tells(law);
	report->previous = flow->previous;
	return 0;
}

/* The report of the oldest interval, if it is resolved: whether it was. */
PCC_PART bool pcc_take_report(struct pcc_flow *flow, struct pcc_law *law,
			      const struct pcc_program *program)
{
	if (!pcc_is_resolved(&flow->monitor, &flow->sample))
		return false;
	/* If it is of this interval nothing later will be told with it. */
	if (flow->monitor.told.left < pcc_interval(&flow->monitor, 0)->to)
		pcc_attribute_rtt(&flow->monitor);
	pcc_report_oldest(flow, law);
	pcc_drop_oldest(&flow->monitor);
	flow->next_look = 0;
	if (!law->report.packets) {
		if (law->judged.trial >= 0) {
			pcc_law_restart(law);
			pcc_replan(flow, law);
		}
		return true;
	}
	pcc_delivered(flow, law, pcc_throughput(&law->report));
	pcc_judge(flow, law, program);
	return true;
}

/* Starting overshoots by what it sends until a result is known: so one is used as soon
 * as the packets still outstanding cannot change it.
 */
PCC_CALL int pcc_ends_early(struct pcc_flow *flow, struct pcc_law *law,
			    const struct pcc_program *program)
{
	PCC_NEEDS(flow && law && program, 0);
	pcc_report_oldest(flow, law);
	return !law->report.app_limited && pcc_law_ends_early(law, program);
}

PCC_PART void pcc_judge_early(struct pcc_flow *flow, struct pcc_law *law,
			      const struct pcc_program *program)
{
	struct pcc_interval *oldest = pcc_interval(&flow->monitor, 0);
	u32 answered;

	if (law->state != PCC_STARTING || !flow->monitor.count || !oldest->to ||
	    oldest->slot.trial < 0 || !flow->monitor.open)
		return;
	answered = oldest->delivered + oldest->lost;
	if (answered < flow->next_look || !answered)
		return;
	flow->next_look = answered + (oldest->end - oldest->first) / PCC_LOOKS + 1;
	if (!pcc_ends_early(flow, law, program))
		return;
	pcc_drop_oldest(&flow->monitor);
	flow->next_look = 0;
	pcc_judge(flow, law, program);
}

/* The path answers after a silence. Halves the rate for the time that it was silent, and
 * looks for it anew by doubling, from a quarter of the old one after a short silence. If packets
 * arrive that left before the silence was noticed, the path became longer, nothing else: start-up
 * goes on.
 */
PCC_CALL int pcc_end_silence(struct pcc_flow *flow, struct pcc_law *law)
{
	u64 silence, noticed, halvings, pto;
	pcc_num rate, before, knocking;

	PCC_NEEDS(flow && law, 0);
	noticed = pcc_rtt_silence(&flow->rtt, flow->in_flight);
	silence = flow->sample.now - flow->progress;
	flow->progress = flow->sample.now;
	flow->silences++;
	flow->silence_sent = flow->sample.sent;
	pcc_update_path(flow, law);
	before = law->rate;
	if (flow->sample.rtt && (u64)flow->sample.rtt * 1000 > silence - noticed) {
		before = pcc_clamp(&law->path, before);
		if (law->state == PCC_STARTING)
			pcc_flow_start(flow, law, before);
		else
			pcc_law_back_off(law, before);
		return pcc_replan(flow, law);
	}
	pto = pcc_rtt_pto(&flow->rtt);
	halvings = 1 + PCC_DIV(silence - noticed, pto);
	rate = halvings > 60 ? N_ZERO : n_div(before, n_from(1ULL << halvings));
	/* Two packets each time that a transport would ask. */
	knocking = n_div(n_add(law->path.packet, law->path.packet), n_seconds(pto));
	rate = n_max(rate, n_min(knocking, before));
	if (silence < PCC_LONG_IDLE)
		rate = n_max(rate, n_div(before, N_FOUR));
	pcc_flow_start(flow, law, pcc_clamp(&law->path, rate));
	return pcc_replan(flow, law);
}

/* A connection that knows nothing of its path yet. flow and law are zeros, flow->sample tells
 * how it is now.
 */
PCC_CALL int pcc_flow_new(struct pcc_flow *flow, struct pcc_law *law, u64 seed)
{
	pcc_num rate;

	PCC_NEEDS(flow && law, 0);
	if (!flow->sample.packet)
		flow->sample.packet = 1;
	flow->progress = flow->sample.now;
	flow->filled = flow->sample.now;
	flow->told_rtt = flow->sample.now;
	flow->monitor.settled = flow->sample.sent - flow->sample.in_flight;
	flow->monitor.delivered = flow->sample.delivered;
	flow->monitor.lossless_from = flow->sample.delivered;
	flow->monitor.lost = flow->sample.lost;
	flow->monitor.packet = flow->sample.packet;
	flow->monitor.marks.counter = flow->sample.marked;
	flow->start_settled = flow->monitor.settled;
	flow->initial_window = pcc_initial_window(&flow->sample);
	flow->start_volume = flow->initial_window;
	flow->silence_sent = flow->monitor.settled;
	flow->answers = 1;
	flow->utility = N_UNKNOWN;
	flow->previous = (struct pcc_previous){ N_UNKNOWN, N_UNKNOWN, N_UNKNOWN, N_UNKNOWN };
	/* TCP paces by this from the tenth packet on, before any is acknowledged. */
	if (flow->sample.taken_rtt)
		rate = pcc_initial_rate(flow, flow->sample.taken_rtt * 1000ULL);
	else
		rate = n_div(pcc_initial_volume(flow), n_seconds(RTT_ASSUMED));
	rate = n_min(rate, pcc_flow_ceiling(flow));
	pcc_law_new(law, rate, seed);
	pcc_update_path(flow, law);
	pcc_plan_next(flow, law);
	return pcc_update_window(flow, law);
}

/* An acknowledgement tells no RTT if it delivers packets that were sent again. Where few packets
 * are in flight and most are lost, none may tell it. A law that hears of no RTT decides nothing, and
 * would keep the rate that does this. So after the time of a silence TCP's own RTT is taken, which
 * knows such packets by the peer's timestamps.
 */
PCC_PART void pcc_rtt_or_tcp_s(struct pcc_flow *flow)
{
	if (flow->sample.rtt)
		flow->told_rtt = flow->sample.now;
	else if (flow->sample.now - flow->told_rtt > pcc_rtt_silence(&flow->rtt, 0))
		flow->sample.rtt = flow->sample.taken_rtt;
}

/* How far an acknowledgement was taken in when it turned out that the law is needed. */
enum pcc_due {
	PCC_NOTHING,
	PCC_SILENCE, /* not at all: the path answers after a silence */
	PCC_BEGINS,  /* its RTT sample begins something new */
	PCC_RESULTS, /* an interval may be judged */
	PCC_CLOSED,  /* an interval ended, and none was to be judged */
};

PCC_PART u32 pcc_close(struct pcc_flow *flow)
{
	u64 longest = pcc_longest_interval(pcc_rtt_smoothed(&flow->rtt));

	return pcc_close_if_due(&flow->monitor, &flow->sample, longest) ? PCC_CLOSED : PCC_NOTHING;
}

/* Takes in an acknowledgement, flow->sample, as far as that goes without the law, which is in this
 * state. enum pcc_due.
 */
PCC_PART u32 pcc_take_in(struct pcc_flow *flow, u32 state)
{
	struct pcc_monitor *monitor = &flow->monitor;
	struct pcc_sample *sample = &flow->sample;
	u32 answers = sample->delivered - monitor->delivered;

	flow->answers = answers;
	if (answers && flow->in_flight && flow->rtt.smoothed &&
	    sample->now - flow->progress >= pcc_rtt_silence(&flow->rtt, flow->in_flight))
		return PCC_SILENCE;
	if (answers || !flow->in_flight)
		flow->progress = sample->now;
	flow->in_flight = sample->in_flight;
	pcc_settle(monitor, sample);
	if (answers)
		pcc_rtt_or_tcp_s(flow);
	if (sample->rtt) {
		pcc_take_rtt(monitor, sample);
		if (pcc_rtt_begins(flow, state))
			return PCC_BEGINS;
		pcc_rtt_update(&flow->rtt, sample->now, (u64)sample->rtt * 1000);
	}
	if (state == PCC_STARTING || pcc_is_resolved(monitor, sample))
		return PCC_RESULTS;
	return pcc_close(flow);
}

/* The law's part of an acknowledgement. */
PCC_PART void pcc_decide(struct pcc_flow *flow, struct pcc_law *law,
			 const struct pcc_program *program, u32 due)
{
	u32 i;

	if (due == PCC_SILENCE) {
		pcc_end_silence(flow, law);
		due = pcc_take_in(flow, law->state);
	}
	if (due == PCC_BEGINS) {
		pcc_begin_with_rtt(flow, law);
		due = PCC_RESULTS;
	} else {
		pcc_update_path(flow, law);
	}
	if (due == PCC_RESULTS) {
		for (i = 0; i < PCC_MOST_REPORTS; i++)
			if (!pcc_take_report(flow, law, program))
				break;
		pcc_judge_early(flow, law, program);
		due = pcc_close(flow);
	}
	if (due == PCC_CLOSED)
		pcc_plan_next(flow, law);
	if (due == PCC_CLOSED || law->state == PCC_STARTING)
		pcc_update_window(flow, law);
}

/* Whether the law was needed. */
PCC_PART bool pcc_on_ack(struct pcc_flow *flow, struct pcc_law *law,
			 const struct pcc_program *program)
{
	u32 due = pcc_take_in(flow, law->state);

	if (due == PCC_NOTHING)
		return false;
	pcc_decide(flow, law, program, due);
	return true;
}

/* TCP found that packets were not lost, and comes to pcc_on_ack next. `lost` is TCP's count, which
 * never falls: after a path froze for a moment it has all packets that were in flight at the
 * time-out.
 */
PCC_PART void pcc_on_undo(struct pcc_flow *flow, u32 lost)
{
	flow->monitor.lost = lost;
}

/* Something is sent again: whether a pause ends that a busy host does not explain. A packet that
 * TCP sends again after a time-out ends none: the path is silent, and the window is TCP's until the
 * path answers.
 */
PCC_PART bool pcc_ends_pause(struct pcc_flow *flow)
{
	const struct pcc_sample *sample = &flow->sample;
	u64 idle, pause, packets;

	if (sample->outstanding)
		return false;
	idle = sample->now - flow->progress;
	flow->progress = sample->now;
	/* Something is from now on: if the path is silent, it is so from now on. */
	flow->in_flight = 1;
	flow->answers = 1;
	pause = pcc_rtt_smoothed(&flow->rtt);
	/* Two packets at this rate: below 2^47 for packets below 64 KiB. */
	packets = PCC_DIV(2000000000ULL * sample->packet, flow->rate);
	if (pause < packets)
		pause = packets;
	if (pause < PCC_HOST_PAUSE)
		pause = PCC_HOST_PAUSE;
	return idle > pause && flow->rtt.smoothed;
}

/* A pause ended: what was being measured is void; after a long one so is the rate. */
PCC_CALL int pcc_on_resumption(struct pcc_flow *flow, struct pcc_law *law)
{
	pcc_num rate;

	PCC_NEEDS(flow && law, 0);
	flow->on_end = 0;
	pcc_update_path(flow, law);
	if (flow->sample.now - flow->filled > PCC_LONG_IDLE) {
		flow->filled = flow->sample.now;
		rate = n_mul(pcc_initial_rate(flow, pcc_rtt_smoothed(&flow->rtt)), N_FOUR);
		pcc_flow_start(flow, law, n_min(law->rate, rate));
	} else {
		pcc_law_restart(law);
	}
	pcc_replan(flow, law);
	return pcc_update_window(flow, law);
}

#endif
