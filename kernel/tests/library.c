// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/* The kernel's PCC as a library of a program in user space, for tests: crates/kernel-c
 * compares it with the core. The structures of the headers are passed.
 */
#include <string.h>

/* As BPF has it, unless the build says how the module does. */
#ifndef MONITOR_INTERVALS
#define MONITOR_INTERVALS 8
#endif
#include "../pcc.h"

/* As far as PCC reads them. */
struct tcp_sock {
	u64 bytes_sent;
	u64 tcp_mstamp;
	u64 first_tx_mstamp;
	u64 tcp_clock_cache;
	u64 tcp_wstamp_ns;
	u32 data_segs_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 reordering;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_wnd;
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us;
	struct {
		struct {
			u32 v;
		} s[3];
	} rtt_min;
	u8 ecn_flags;
};

struct rate_sample {
	u64 prior_mstamp;
	s64 rtt_us;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
};

#include "../tcp.h"
#include "../text.h"

u64 pcc_lib_apply(u32 code, u64 a, u64 b, u64 c)
{
	return pcc_apply(code, a, b, c);
}

u64 pcc_lib_seconds(u64 nanoseconds)
{
	return n_seconds(nanoseconds);
}

int pcc_lib_read(struct pcc_program *program, const char *text, u32 length)
{
	struct pcc_text bad;

	return pcc_program_read(program, text, length, &bad);
}

/* Where a text that is no program has a word that means nothing, and so many bytes of it; ~0 if
 * that is not the reason.
 */
u32 pcc_lib_bad_word(const char *text, u32 length, u32 *word)
{
	struct pcc_program program;
	struct pcc_text bad;

	if (pcc_program_read(&program, text, length, &bad) == PCC_VALID || !bad.at)
		return ~0U;
	*word = bad.end - bad.at;
	return bad.at - text;
}

u64 pcc_lib_run(const struct pcc_program *program, const u64 measured[PCC_MEASUREMENTS])
{
	struct pcc_machine machine;

	memset(&machine, 0, sizeof(machine));
	memcpy(machine.measured, measured, PCC_MEASUREMENTS * sizeof(*measured));
	return pcc_run(program, &machine);
}

u64 pcc_lib_utility(const struct pcc_program *program, const struct pcc_report *report)
{
	struct pcc_machine machine;

	memset(&machine, 0, sizeof(machine));
	return pcc_utility(program, report, &machine);
}

/* The utility's program in the interpreter, whether or not it has code of its own. */
u64 pcc_lib_interpret(const struct pcc_program *program, const struct pcc_report *report)
{
	struct pcc_machine machine;

	memset(&machine, 0, sizeof(machine));
	pcc_measure(&machine, report, program->loads);
	return pcc_run(program, &machine);
}

u64 pcc_lib_best_response(const struct pcc_program *program, const struct pcc_outlook *outlook)
{
	return program->built_in == PCC_IS_FAIR ? pcc_fair_best_response(program, outlook) : N_UNKNOWN;
}

u32 pcc_lib_law_size(void)
{
	return sizeof(struct pcc_law);
}

void pcc_lib_law_new(struct pcc_law *law, u64 rate, u64 seed)
{
	memset(law, 0, sizeof(*law));
	pcc_law_new(law, rate, seed);
}

void pcc_lib_law_next(struct pcc_law *law, const struct pcc_path *path, struct pcc_slot *slot)
{
	law->path = *path;
	pcc_law_next(law);
	*slot = law->slot;
}

int pcc_lib_law_on_report(struct pcc_law *law, const struct pcc_program *program,
			  const struct pcc_path *path, const struct pcc_slot *slot,
			  const struct pcc_report *report)
{
	law->path = *path;
	law->judged = *slot;
	law->report = *report;
	return pcc_law_on_report(law, program);
}

int pcc_lib_law_ends_early(struct pcc_law *law, const struct pcc_program *program,
			   const struct pcc_path *path, const struct pcc_report *report)
{
	law->path = *path;
	law->report = *report;
	return pcc_law_ends_early(law, program);
}

void pcc_lib_law_start(struct pcc_law *law, u64 rate)
{
	pcc_law_start(law, rate);
}

void pcc_lib_law_back_off(struct pcc_law *law, u64 rate)
{
	pcc_law_back_off(law, rate);
}

void pcc_lib_law_restart(struct pcc_law *law)
{
	pcc_law_restart(law);
}

u64 pcc_lib_law_rate(const struct pcc_law *law)
{
	return law->rate;
}

u64 pcc_lib_law_standing_rtt(const struct pcc_law *law)
{
	return pcc_law_standing_rtt(law);
}

u32 pcc_lib_law_state(const struct pcc_law *law)
{
	return law->state;
}

/* At a moment, of a packet sent at another; how TCP itself takes the RTT, all in us. */
u32 pcc_lib_read_rtt(u64 now, u64 sent, s64 taken, bool is_retrans, bool is_delayed)
{
	struct tcp_sock tp = { .tcp_mstamp = now, .first_tx_mstamp = sent };
	struct rate_sample rs = { .prior_mstamp = sent, .rtt_us = taken,
				  .is_retrans = is_retrans, .is_ack_delayed = is_delayed };
	struct pcc_sample sample;

	pcc_read_ack(&sample, &tp, &rs);
	return sample.rtt;
}

u32 pcc_lib_flow_size(void)
{
	return sizeof(struct pcc_steered);
}

void pcc_lib_flow_new(struct pcc_steered *all, const struct pcc_sample *sample, u64 seed)
{
	memset(all, 0, sizeof(*all));
	all->flow.sample = *sample;
	pcc_flow_new(&all->flow, &all->law, seed);
}

/* All that is not kept has this in each byte. */
void pcc_lib_flow_lose(struct pcc_steered *all, u8 leftover)
{
	memset((u8 *)&all->law + PCC_LAW_KEPT, leftover, sizeof(all->law) - PCC_LAW_KEPT);
}

int pcc_lib_flow_on_ack(struct pcc_steered *all, const struct pcc_program *program,
			const struct pcc_sample *sample)
{
	all->flow.sample = *sample;
	return pcc_on_ack(&all->flow, &all->law, program);
}

int pcc_lib_flow_on_resumption(struct pcc_steered *all, const struct pcc_sample *sample)
{
	all->flow.sample = *sample;
	if (!pcc_ends_pause(&all->flow))
		return 0;
	pcc_on_resumption(&all->flow, &all->law);
	return 1;
}

void pcc_lib_flow_on_undo(struct pcc_steered *all, u32 lost)
{
	pcc_on_undo(&all->flow, lost);
}

/* The highest rate, 0 for none. */
void pcc_lib_flow_limit(struct pcc_steered *all, u64 most)
{
	all->flow.most = most;
}

u64 pcc_lib_flow_rate(const struct pcc_steered *all)
{
	return pcc_pacing_rate(&all->flow);
}

/* TCP's congestion window, which was this one before. */
u32 pcc_lib_flow_window(const struct pcc_steered *all, u32 before)
{
	struct tcp_sock tp = { .snd_cwnd = before, .snd_cwnd_clamp = ~0U };

	return pcc_window_of(&all->flow, &tp);
}

/* crates/kernel-c/src/ffi.rs */
struct pcc_told {
	u64 least_rtt; /* ns */
	u32 state;
	u32 intervals;
	u32 opened;
	u32 limited_by;
	u32 panics;
	u32 silences;
	/* The latest report's. */
	u32 is_judged;
	u32 packets_lost;
	u32 loss_bursts;
};

void pcc_lib_flow_told(const struct pcc_steered *all, struct pcc_told *told)
{
	*told = (struct pcc_told){
		.least_rtt = pcc_rtt_least(&all->flow.rtt),
		.state = all->law.state,
		.intervals = all->flow.intervals,
		.opened = all->flow.intervals + all->flow.monitor.count,
		.limited_by = all->flow.limited_by,
		.panics = all->flow.panics,
		.silences = all->flow.silences,
		.is_judged = all->law.judged.trial >= 0,
		.packets_lost = all->law.report.packets_lost,
		.loss_bursts = all->law.report.loss_bursts,
	};
}

u64 pcc_lib_flow_loss(const struct pcc_steered *all)
{
	return all->flow.loss;
}

u64 pcc_lib_flow_utility(const struct pcc_steered *all)
{
	return all->flow.utility;
}

/* Where the members lie of the structures that are passed, and these structures' sizes: Rust has
 * them again (crates/kernel-c/src/layout.rs), in this order.
 */
#define AT(name, member) offsetof(struct name, member)
static const u32 pcc_lib_layout[] = {
	sizeof(struct pcc_slot), AT(pcc_slot, rate), AT(pcc_slot, rtts_least),
	AT(pcc_slot, rtts_most), AT(pcc_slot, trial), AT(pcc_slot, is_stretched),
	sizeof(struct pcc_path), AT(pcc_path, rtt_ns), AT(pcc_path, queue_ns), AT(pcc_path, rtt),
	AT(pcc_path, queue), AT(pcc_path, packet), AT(pcc_path, floor), AT(pcc_path, initial),
	AT(pcc_path, ceiling), AT(pcc_path, delivery),
	sizeof(struct pcc_sample), AT(pcc_sample, now), AT(pcc_sample, next_sent),
	AT(pcc_sample, bytes_sent), AT(pcc_sample, sent), AT(pcc_sample, in_flight),
	AT(pcc_sample, outstanding), AT(pcc_sample, delivered), AT(pcc_sample, lost),
	AT(pcc_sample, marked), AT(pcc_sample, rtt), AT(pcc_sample, packet),
	AT(pcc_sample, reordering), AT(pcc_sample, window), AT(pcc_sample, app_limited),
	AT(pcc_sample, peer_limited), AT(pcc_sample, blocked), AT(pcc_sample, taken_rtt),
	AT(pcc_sample, accurate), AT(pcc_sample, least_rtt),
	sizeof(struct pcc_told), AT(pcc_told, least_rtt), AT(pcc_told, state),
	AT(pcc_told, intervals), AT(pcc_told, opened), AT(pcc_told, limited_by),
	AT(pcc_told, panics), AT(pcc_told, silences), AT(pcc_told, is_judged),
	AT(pcc_told, packets_lost), AT(pcc_told, loss_bursts),
	sizeof(struct pcc_report), AT(pcc_report, started), AT(pcc_report, duration),
	AT(pcc_report, target), AT(pcc_report, achieved), AT(pcc_report, sent),
	AT(pcc_report, lost), AT(pcc_report, excess_loss), AT(pcc_report, delivery_rate),
	AT(pcc_report, rtt), AT(pcc_report, rtt_least), AT(pcc_report, rtt_base),
	AT(pcc_report, rtt_gradient), AT(pcc_report, rtt_gradient_error),
	AT(pcc_report, rtt_span), AT(pcc_report, rtt_pause), AT(pcc_report, rtt_residual),
	AT(pcc_report, rtt_deviation), AT(pcc_report, packets), AT(pcc_report, packets_lost),
	AT(pcc_report, loss_bursts), AT(pcc_report, packets_marked), AT(pcc_report, rtt_samples),
	AT(pcc_report, app_limited), AT(pcc_report, timed_out), AT(pcc_report, limited_by),
	AT(pcc_report, previous),
	sizeof(struct pcc_op), AT(pcc_op, code), AT(pcc_op, index), AT(pcc_op, value),
	sizeof(struct pcc_program), AT(pcc_program, length), AT(pcc_program, loads),
	AT(pcc_program, panic_loss), AT(pcc_program, built_in), AT(pcc_program, reserved),
	AT(pcc_program, ops),
};

/* All ones behind the last. */
u32 pcc_lib_place(u32 index)
{
	return index < sizeof(pcc_lib_layout) / sizeof(*pcc_lib_layout) ? pcc_lib_layout[index] : ~0U;
}
