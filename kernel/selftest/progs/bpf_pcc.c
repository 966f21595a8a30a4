// SPDX-License-Identifier: GPL-2.0 OR MIT

/* PCC Vivace (NSDI 2018) in integers: its state in sk_storage, its rate by sk_pacing_rate.
 *
 * A sender tries rates and sees what each one gets. An interval has one rate: r + r/20 or
 * r - r/20. Its utility counts the rate x in Mbit/s, the slope of the RTT, and the share L of losses:
 *
 *	u(x) = x^(7/8) - 900 * x * max(0, dRTT/dt) - 11.35 * x * L
 *
 * A round has two pairs of intervals: high, low, low, high or the other way round. Then it sends at r
 * until their results are there. If both pairs prefer the same, r moves along the gradient
 * (u(high) - u(low)) / (high - low), further each time while the sign stays. At first the rate
 * doubles, until the utility falls.
 *
 * An interval has two halves. The slope of the RTT is between their means. A packet belongs to the
 * half in which it was sent, which rs->prior_delivered tells. The paper's exponent is 0.9; with 7/8
 * it takes three square roots and no logarithm.
 */

#include "bpf_tracing_net.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define USEC_PER_SEC 1000000ULL
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define before(a, b) ((__s32)((a) - (b)) < 0)

/* Utilities, slopes and Mbit/s have 16 binary places. */
#define PCC_SCALE 16
#define PCC_BYTES_PER_MBIT 125000
#define PCC_MBIT(rate) (((rate) << PCC_SCALE) / PCC_BYTES_PER_MBIT)
/* In byte/s; below 2^36 as PCC_MBIT(). */
#define PCC_MAX_RATE (1ULL << 36)
/* A slope of less than 0.03 is noise. */
#define PCC_MIN_SLOPE (3 * (1 << PCC_SCALE) / 100)
#define PCC_HALVES 8
#define PCC_HALF_PACKETS 16
/* An RTT: of 10 ms at least, since a short path carries fewer packets in a shorter one. */
#define PCC_FIRST_PACKETS 10
#define PCC_LEAST_PACKETS 2
#define PCC_LEAST_RTT_US 10000

char _license[] SEC("license") = "GPL";
__u64 rounds_judged, packets_delivered, packets_lost;

struct pcc_half {
	__u64 began_us;
	__u64 rtt_us;	/* the sum of all samples */
	__u32 samples;
	__u32 mark;	/* packets delivered when it began */
	__u32 acked;
	__u32 lost;
};

struct pcc {
	__u64 rate;	/* r, in byte/s */
	__s64 utility;	/* the last rate's, while rates double */
	__u32 phase;	/* which half is sent; after the last one the round waits */
	__u32 repeats;	/* moves in the same direction */
	__u8 is_probing;
	__u8 is_app_limited;
	__u8 high_first;
	__u8 was_up;
	struct pcc_half half[PCC_HALVES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pcc);
} pcc_states SEC(".maps");

/* Newton's steps from a power of two that is at most twice the root. */
__noinline __u64 pcc_sqrt(__u64 x)
{
	__u64 root = 1;
	int i;

	for (i = 0; i < 32 && root < x / root; i++)
		root *= 2;
	for (i = 0; i < 5; i++)
		root = (root + x / root) / 2;
	return root;
}

static __u64 pcc_packets_per_rtt(const struct tcp_sock *tp, __u64 packets)
{
	return packets * tp->mss_cache * USEC_PER_SEC / max(tp->srtt_us >> 3, PCC_LEAST_RTT_US);
}

static void pcc_set_base(struct pcc *pcc, struct sock *sk, __u64 rate)
{
	rate = max(rate, pcc_packets_per_rtt(tcp_sk(sk), PCC_LEAST_PACKETS));
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	pcc->rate = min(rate, PCC_MAX_RATE);
}

/* While the rate doubles a round has one interval, at r. */
static __u32 pcc_phases(const struct pcc *pcc)
{
	return pcc->is_probing ? PCC_HALVES : 2;
}

static bool pcc_is_high(const struct pcc *pcc, __u32 interval)
{
	return pcc->high_first ^ ((interval ^ interval >> 1) & 1);
}

static __u64 pcc_rate_of(const struct pcc *pcc, __u32 interval)
{
	__u64 probe = pcc->is_probing ? pcc->rate / 20 : 0;

	return pcc_is_high(pcc, interval) ? pcc->rate + probe : pcc->rate - probe;
}

static void pcc_begin_half(struct pcc_half *half, const struct tcp_sock *tp)
{
	*half = (struct pcc_half){ .began_us = tp->tcp_mstamp, .mark = tp->delivered };
}

static void pcc_begin_round(struct pcc *pcc, const struct tcp_sock *tp)
{
	pcc->phase = 0;
	pcc->is_app_limited = 0;
	pcc->high_first = bpf_get_prandom_u32() & 1;
	pcc_begin_half(&pcc->half[0], tp);
}

/* The middles of the halves are half an interval apart. The product with x needs slope <= 1. */
static __u64 pcc_slope(const struct pcc_half *half)
{
	__u64 from, to, slope;

	from = half[0].rtt_us / max(half[0].samples, 1);
	to = half[1].rtt_us / max(half[1].samples, 1);
	if (!from || to <= from)
		return 0;
	slope = ((to - from) << (PCC_SCALE + 1)) / max(half[2].began_us - half[0].began_us, 1);
	return slope < PCC_MIN_SLOPE ? 0 : min(slope, 1ULL << PCC_SCALE);
}

static __s64 pcc_utility(const struct pcc *pcc, __u32 interval)
{
	const struct pcc_half *half = &pcc->half[2 * interval];
	__u64 lost = half[0].lost + half[1].lost, all = lost + half[0].acked + half[1].acked;
	__u64 x = PCC_MBIT(pcc_rate_of(pcc, interval)), root, cost;

	root = pcc_sqrt(pcc_sqrt(pcc_sqrt(x << 16) << 16) << 16);
	cost = (x * pcc_slope(half) >> PCC_SCALE) * 900;
	cost += x * lost / max(all, 1) * 1135 / 100;
	return (x << PCC_SCALE) / max(root, 1) - cost;
}

/* The paper's amplifier is 1, 2, 3, its boundary 5 %, 15 %, 25 % of the rate. Here both end so. */
static void pcc_ascend(struct pcc *pcc, struct sock *sk)
{
	__s64 gain = pcc_utility(pcc, 0) - pcc_utility(pcc, 1);
	__s64 other = pcc_utility(pcc, 3) - pcc_utility(pcc, 2);
	__u64 step, apart = PCC_MBIT(pcc->rate / 5);
	bool up = pcc->high_first == (gain > 0);

	if ((gain > 0) != (other > 0))
		return;
	pcc->repeats = up == pcc->was_up ? min(pcc->repeats + 1, 2) : 0;
	pcc->was_up = up;
	/* In Mbit/s. Gains are below 2^47, and steps of 2^40 beyond any rate. */
	step = gain > 0 ? gain + other : -gain - other;
	step = min((step << PCC_SCALE) / max(apart, 1), 1ULL << 40);
	step = step * (pcc->repeats + 1) * PCC_BYTES_PER_MBIT >> PCC_SCALE;
	step = min(step, pcc->rate * (1 + 2 * pcc->repeats) / 20);
	pcc_set_base(pcc, sk, up ? pcc->rate + step : pcc->rate - step);
}

static void pcc_double(struct pcc *pcc, struct sock *sk)
{
	__s64 utility = pcc_utility(pcc, 0);

	pcc->is_probing = utility <= pcc->utility;
	pcc->utility = utility;
	pcc_set_base(pcc, sk, pcc->is_probing ? pcc->rate / 2 : pcc->rate * 2);
}

/* A sender without data has not tried the rate. */
static void pcc_judge(struct pcc *pcc, struct sock *sk)
{
	if (!pcc->is_app_limited) {
		rounds_judged++;
		if (pcc->is_probing)
			pcc_ascend(pcc, sk);
		else
			pcc_double(pcc, sk);
	}
	pcc_begin_round(pcc, tcp_sk(sk));
}

static void pcc_book(struct pcc *pcc, struct sock *sk, const struct rate_sample *rs)
{
	struct pcc_half *half;
	__u32 i;

	if (!rs->prior_mstamp || before(rs->prior_delivered, pcc->half[0].mark))
		return;
	for (i = PCC_HALVES; i > 0; i--)
		if (i <= pcc->phase && !before(rs->prior_delivered, pcc->half[i].mark))
			break;
	if (i == pcc_phases(pcc)) {
		pcc_judge(pcc, sk);
		return;
	}
	half = &pcc->half[i];
	half->acked += rs->acked_sacked;
	half->lost += rs->losses;
	if (rs->rtt_us > 0 && !rs->is_retrans && !rs->is_ack_delayed) {
		half->rtt_us += rs->rtt_us;
		half->samples++;
	}
	pcc->is_app_limited |= rs->is_app_limited;
}

/* A half lasts half an RTT, and until enough packets arrived to be judged. */
static void pcc_advance(struct pcc *pcc, const struct tcp_sock *tp)
{
	__u32 phase = pcc->phase;
	struct pcc_half *half;

	if (phase >= PCC_HALVES || phase >= pcc_phases(pcc))
		return;
	half = &pcc->half[phase];
	if (tp->delivered - half->mark >= PCC_HALF_PACKETS &&
	    tp->tcp_mstamp - half->began_us >= tp->srtt_us >> 4) {
		pcc->phase = phase + 1;
		pcc_begin_half(half + 1, tp);
	}
}

/* The window has room for two RTTs, so that the rate is the limit. */
static void pcc_send(const struct pcc *pcc, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u64 rate = pcc->rate, window;

	if (pcc->phase < pcc_phases(pcc))
		rate = pcc_rate_of(pcc, pcc->phase / 2);
	window = rate * (tp->srtt_us >> 2) / USEC_PER_SEC / max(tp->mss_cache, 1);
	sk->sk_pacing_rate = rate;
	tp->snd_cwnd = min(max(window, PCC_FIRST_PACKETS), tp->snd_cwnd_clamp);
}

SEC("struct_ops")
void BPF_PROG(bpf_pcc_init, struct sock *sk)
{
	bpf_sk_storage_delete(&pcc_states, sk);
	__sync_val_compare_and_swap(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

SEC("struct_ops")
void BPF_PROG(bpf_pcc_cong_control, struct sock *sk, __u32 ack, int flag,
	      const struct rate_sample *rs)
{
	struct pcc *pcc = bpf_sk_storage_get(&pcc_states, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!pcc || !tp->srtt_us)
		return;
	if (!pcc->rate) {
		pcc_set_base(pcc, sk, pcc_packets_per_rtt(tp, PCC_FIRST_PACKETS));
		pcc_begin_round(pcc, tp);
	}
	packets_delivered += rs->acked_sacked;
	packets_lost += rs->losses;
	pcc_book(pcc, sk, rs);
	pcc_advance(pcc, tp);
	pcc_send(pcc, sk);
}

/* After a time-out this round tells nothing, and the rate was far too high. */
SEC("struct_ops")
void BPF_PROG(bpf_pcc_set_state, struct sock *sk, __u8 state)
{
	struct pcc *pcc = bpf_sk_storage_get(&pcc_states, sk, 0, 0);

	if (!pcc || !pcc->rate || state != TCP_CA_Loss)
		return;
	pcc_set_base(pcc, sk, pcc->rate / 2);
	pcc->is_probing = 1;
	pcc_begin_round(pcc, tcp_sk(sk));
}

SEC("struct_ops")
__u32 BPF_PROG(bpf_pcc_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops")
__u32 BPF_PROG(bpf_pcc_undo_cwnd, struct sock *sk)
{
	return tcp_sk(sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops pcc = {
	.init		= (void *)bpf_pcc_init,
	.cong_control	= (void *)bpf_pcc_cong_control,
	.set_state	= (void *)bpf_pcc_set_state,
	.ssthresh	= (void *)bpf_pcc_ssthresh,
	.undo_cwnd	= (void *)bpf_pcc_undo_cwnd,
	.name		= "bpf_pcc",
};
