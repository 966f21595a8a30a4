// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/* PCC as a TCP congestion control of the running kernel: BPF struct_ops, Linux 6.1 and
 * later, without a module.
 *
 *	bpftool struct_ops register tcp_pcc.bpf.o
 *	sysctl -w net.ipv4.tcp_congestion_control=pcc	# or setsockopt(TCP_CONGESTION)
 *
 * BPF cannot do all that the module does:
 *
 *  - ss -ti shows rate and window only, since BPF has no get_info.
 *  - A socket has room for a quarter of the intervals, which are longer on very long paths.
 *  - Trains of segments last a millisecond, eight segments at 100 Mbit/s, since sk_pacing_shift
 *    may not be written. A lower min_tso_segs does not help: in the lab the module with such
 *    trains fills shallow buffers as badly with 1 as with 2.
 */
/* More do not fit into a socket: pcc_flows. */
#define MONITOR_INTERVALS 8
#include "pcc.h"
#include "programs.h"

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The kernel's structures, as far as they are used; where each field is the loader finds
 * out.
 */
struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
} __attribute__((preserve_access_index));

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport; /* in the order of the network */
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	__u32 sk_pacing_status;
} __attribute__((preserve_access_index));

struct minmax_sample {
	__u32 v;
} __attribute__((preserve_access_index));

struct minmax {
	struct minmax_sample s[3];
} __attribute__((preserve_access_index));

struct tcp_congestion_ops;

struct inet_connection_sock {
	const struct tcp_congestion_ops *icsk_ca_ops;
} __attribute__((preserve_access_index));

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 data_segs_out;
	__u64 bytes_sent;
	__u64 bytes_acked;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 reordering;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_wnd;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 srtt_us;
	struct minmax rtt_min;
	__u8 ecn_flags;
	__u64 tcp_mstamp;
	__u64 first_tx_mstamp;
	__u64 tcp_clock_cache;
	__u64 tcp_wstamp_ns;
} __attribute__((preserve_access_index));

struct rate_sample {
	__u64 prior_mstamp;
	_Bool is_app_limited;
	_Bool is_retrans;
	_Bool is_ack_delayed;
} __attribute__((preserve_access_index));

/* Besides an event a name, so that the object has it: pcc_cwnd_event. */
enum tcp_ca_event { CA_EVENT_TX_START, cwnd_event_tx_start };

/* A loader may write the first two. */
struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_control)(struct sock *sk);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
};

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_INFINITE_SSTHRESH 0x7fffffff
/* Since this version cong_control is told the acknowledgement's number and flags before
 * the sample of the rate.
 */
#define SAMPLE_COMES_LAST ((6 << 16) + (10 << 8))
/* Since this one CA_EVENT_TX_START is told by cwnd_event_tx_start, and no more by cwnd_event. */
#define STARTS_ARE_TOLD_APART ((7 << 16) + (1 << 8))

#include "tcp.h"

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

extern int LINUX_KERNEL_VERSION __kconfig;

/* The utility of connections: the first, or the second if utility_place is 1. The map's owner may
 * change it while they run: first the one that is not in use, then the place. Otherwise a decision
 * could read half of each.
 */
struct pcc_program utility = PCC_UTILITY_FAIR;
struct pcc_program utility_next = PCC_UTILITY_FAIR;
u64 utility_place;

/* Limits for all connections, changed in the same way. */
struct {
	u64 most; /* byte/s; 0 for none */
} limits;

/* The text of the program in use, for `pcc kernel status`. */
char utility_text[1024] = "fair";

/* A digest of the object's bytes, by which its loader knows whether the same is loaded. */
u64 object_digest;

/* A digest of the formula that pcc_written has code of, but for the values that it pushes. */
u64 formula_digest;

/* A trial ends by itself, whatever became of whoever began it: connections that begin
 * later get the congestion control that was the default before.
 */
struct {
	u64 until; /* since the machine started, in ns; 0 for none */
	char before[16];
} trial;

/* Every kernel has it. */
static const char usual[16] = "reno";

#include "choose.h"
#include "totals.h"
#include "watch.h"

/* The kernel takes twice as much from 4 KB on, the storage's own included. A connection that has no
 * room for its state goes on with another congestion control.
 */
_Static_assert(sizeof(struct pcc_connection) <= 4096 - 192, "the state takes 8 KB");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pcc_connection);
} pcc_flows SEC(".maps");

static __always_inline void read_counters(struct pcc_flow *flow, struct sock *sk)
{
	pcc_read_counters(&flow->sample, tcp_sk(sk));
	flow->most = pcc_most_rate(sk->sk_max_pacing_rate, limits.most);
}

static __always_inline void set_rate(struct pcc_flow *flow, struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd = pcc_window_of(flow, tcp_sk(sk));
	sk->sk_pacing_rate = pcc_pacing_rate(flow);
}

/* fq paces, if it is the queueing discipline; otherwise TCP does. */
static __always_inline void ask_for_pacing(struct sock *sk)
{
	__sync_val_compare_and_swap(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static __always_inline bool is_in_handshake(const struct sock *sk)
{
	unsigned char state = sk->__sk_common.skc_state;

	return state == TCP_SYN_SENT || state == TCP_SYN_RECV;
}

/* A law is at work here, with all that it needs for no longer. */
struct pcc_work {
	u32 busy;
	u32 reserved;
	struct pcc_law law;
};

/* A softirq may interrupt a task that takes in what arrived meanwhile (release_sock), and where the
 * kernel is preemptible another task may, too.
 */
#define PCC_WORKS 4

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PCC_WORKS);
	__type(key, u32);
	__type(value, struct pcc_work);
} pcc_works SEC(".maps");

/* Which of them is this program's from now on; PCC_WORKS if none is free. A program stays on its
 * processor.
 */
PCC_CALL u32 claim(void)
{
	struct pcc_work *work;
	u32 i, place;

#pragma unroll
	for (i = 0; i < PCC_WORKS; i++) {
		place = i;
		work = bpf_map_lookup_elem(&pcc_works, &place);
		if (work && !__sync_val_compare_and_swap(&work->busy, 0, 1))
			return i;
	}
	return PCC_WORKS;
}

/* Nothing is moved across it. */
static __always_inline void compiler_barrier(void)
{
	asm volatile("" : : : "memory");
}

/* Word by word: without the barrier the compiler makes a call of memcpy, which BPF has not. */
static __always_inline void copy_kept(u64 *to, const u64 *from)
{
	u32 i;

#pragma unroll
	for (i = 0; i < PCC_LAW_KEPT / sizeof(u64); i++) {
		to[i] = from[i];
		compiler_barrier();
	}
}

PCC_CALL int load_kept(struct pcc_work *work, const struct pcc_connection *one)
{
	PCC_NEEDS(work, 0);
	PCC_NEEDS(one, 0);
	copy_kept((u64 *)&work->law, one->kept);
	return 0;
}

PCC_CALL int store_kept(struct pcc_connection *one, const struct pcc_work *work)
{
	PCC_NEEDS(one, 0);
	PCC_NEEDS(work, 0);
	copy_kept(one->kept, (const u64 *)&work->law);
	return 0;
}

static __always_inline struct pcc_work *take_up(struct pcc_connection *one)
{
	u32 place = claim();
	struct pcc_work *work = bpf_map_lookup_elem(&pcc_works, &place);

	if (work)
		load_kept(work, one);
	return work;
}

static __always_inline void put_down(struct pcc_connection *one, struct pcc_work *work)
{
	store_kept(one, work);
	compiler_barrier();
	work->busy = 0;
}

/* Where no work is free an acknowledgement later begins it. */
static __always_inline void begin(struct pcc_connection *one, struct sock *sk)
{
	struct pcc_work *work = take_up(one);

	if (!work) {
		bpf_sk_storage_delete(&pcc_flows, sk);
		return;
	}
	totals_begin(one, sk);
	read_counters(&one->flow, sk);
	pcc_flow_new(&one->flow, &work->law,
		     ((u64)bpf_get_prandom_u32() << 32) | bpf_get_prandom_u32());
	ask_for_pacing(sk);
	set_rate(&one->flow, sk);
	put_down(one, work);
}

/* To what was the default before, or what every kernel has. Fails within a rule's choice
 * (choose.h): TCP lets no congestion control that was just chosen choose another.
 */
static __always_inline int hand_over(struct sock *sk)
{
	if (trial.before[0] && !bpf_setsockopt(sk, PCC_SOL_TCP, PCC_TCP_CONGESTION, trial.before,
					       sizeof(trial.before)))
		return 0;
	return bpf_setsockopt(sk, PCC_SOL_TCP, PCC_TCP_CONGESTION, (void *)usual, sizeof(usual));
}

static __always_inline void adopt(struct sock *sk)
{
	struct pcc_connection *one =
		bpf_sk_storage_get(&pcc_flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (one)
		begin(one, sk);
	else
		hand_over(sk);
}

SEC("struct_ops/pcc_init")
void BPF_PROG(pcc_init, struct sock *sk)
{
	if (trial.until && bpf_ktime_get_boot_ns() > trial.until && !hand_over(sk))
		return;
	/* A receiver needs nothing: the first data that is sent begins a connection. */
	if (!tcp_sk(sk)->bytes_sent) {
		ask_for_pacing(sk);
		return;
	}
	adopt(sk);
}

/* Also where the connection goes on: with another congestion control, or to another peer. */
SEC("struct_ops/pcc_release")
void BPF_PROG(pcc_release, struct sock *sk)
{
	struct pcc_connection *one = bpf_sk_storage_get(&pcc_flows, sk, 0, 0);

	if (one)
		totals_end(one, sk);
	bpf_sk_storage_delete(&pcc_flows, sk);
}

/* The verifier knows the version, and looks at one of both only. It wants the place of an
 * argument to be a constant, which a compiler that joined both would not leave so.
 */
static __always_inline const struct rate_sample *rate_sample_of(u64 *ctx)
{
	const struct rate_sample *rs;

	if (LINUX_KERNEL_VERSION >= SAMPLE_COMES_LAST)
		asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(rs) : "r"(ctx));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(rs) : "r"(ctx));
	return rs;
}

static __always_inline void take_in(struct pcc_connection *one)
{
	u32 due = pcc_take_in(&one->flow, one->law->state);
	struct pcc_work *work;

	if (due == PCC_NOTHING)
		return;
	work = take_up(one);
	/* An acknowledgement later finds it due, too. */
	if (!work)
		return;
	pcc_decide(&one->flow, &work->law, utility_place ? &utility_next : &utility, due);
	put_down(one, work);
}

SEC("struct_ops/pcc_cong_control")
int pcc_cong_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct rate_sample *rs;
	struct pcc_connection *one;

	rs = rate_sample_of(ctx);
	one = bpf_sk_storage_get(&pcc_flows, sk, 0, 0);
	if (!one) {
		/* The handshake's acknowledgement comes before init; later there was no
		 * room when data was sent, or nobody told of that. Whose window nobody
		 * moves would keep the single packet of its first time-out.
		 */
		if (!is_in_handshake(sk))
			adopt(sk);
		return 0;
	}
	read_counters(&one->flow, sk);
	pcc_read_ack(&one->flow.sample, tcp_sk(sk), rs);
	take_in(one);
	set_rate(&one->flow, sk);
	if (one->flow.intervals != one->counted.intervals)
		totals_add(one, sk);
	return 0;
}

/* Where the kernel has cwnd_event_tx_start, which has no second argument, `pcc kernel` gives the
 * member that refers to this program that name. Without it, as bpftool registers it there,
 * what tells of the end of a pause is whatever else happens with nothing in flight: mostly that
 * TCP forgets its window.
 */
static __always_inline bool is_start(u64 *ctx)
{
	u64 event;

	if (LINUX_KERNEL_VERSION >= STARTS_ARE_TOLD_APART)
		return true;
	asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(event) : "r"(ctx));
	return (u32)event == CA_EVENT_TX_START;
}

SEC("struct_ops/pcc_cwnd_event")
int pcc_cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct pcc_connection *one;
	struct pcc_work *work;

	if (!is_start(ctx))
		return 0;
	one = bpf_sk_storage_get(&pcc_flows, sk, 0, 0);
	if (!one) {
		if (!tcp_sk(sk)->bytes_sent && !is_in_handshake(sk))
			adopt(sk);
		return 0;
	}
	read_counters(&one->flow, sk);
	if (!pcc_ends_pause(&one->flow))
		return 0;
	work = take_up(one);
	if (!work)
		return 0;
	pcc_on_resumption(&one->flow, &work->law);
	set_rate(&one->flow, sk);
	put_down(one, work);
	return 0;
}

/* Loss is the utility's business. */
SEC("struct_ops/pcc_ssthresh")
__u32 BPF_PROG(pcc_ssthresh, struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

SEC("struct_ops/pcc_undo_cwnd")
__u32 BPF_PROG(pcc_undo_cwnd, struct sock *sk)
{
	struct pcc_connection *one = bpf_sk_storage_get(&pcc_flows, sk, 0, 0);

	if (one)
		pcc_on_undo(&one->flow, tcp_sk(sk)->lost);
	return tcp_sk(sk)->snd_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops pcc = {
	.name = "pcc",
	.init = (void *)pcc_init,
	.release = (void *)pcc_release,
	.ssthresh = (void *)pcc_ssthresh,
	.cong_control = (void *)pcc_cong_control,
	.undo_cwnd = (void *)pcc_undo_cwnd,
	.cwnd_event = (void *)pcc_cwnd_event,
};

char _license[] SEC("license") = "Dual MIT/GPL";
