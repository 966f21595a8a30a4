/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Shows the connections that have PCC, for `pcc kernel top`: an iterator over the map
 * pcc_flows, which writes of each what is shown.
 */
#ifndef PCC_WATCH_H
#define PCC_WATCH_H

struct pcc_watched {
	char name[16]; /* the congestion control that the connection has now */
	u32 local[4];
	u32 remote[4];
	u16 family;
	u16 local_port;
	u16 remote_port;
	u16 state; /* of TCP: 1 is established */
	u64 now;   /* ns */
	u64 sent;  /* bytes, with those sent again */
	u64 acked;
	u64 pacing; /* byte/s */
	u32 packets_sent;
	u32 packets_lost;
	u32 rtt_us;
	u32 window; /* packets */
	/* PCC's part. */
	pcc_num utility;
	pcc_num loss;
	u32 limited_by;
	u32 law_state;
	u32 intervals;
	u32 silences;
	u32 panics;
	u32 netns;
};
/* crates/bpf/src/watch.rs reads it so. */
_Static_assert(sizeof(struct pcc_watched) == 144, "the size of a record");
PCC_LIES(pcc_watched, name, 0);
PCC_LIES(pcc_watched, local, 16);
PCC_LIES(pcc_watched, remote, 32);
PCC_LIES(pcc_watched, family, 48);
PCC_LIES(pcc_watched, local_port, 50);
PCC_LIES(pcc_watched, remote_port, 52);
PCC_LIES(pcc_watched, state, 54);
PCC_LIES(pcc_watched, now, 56);
PCC_LIES(pcc_watched, sent, 64);
PCC_LIES(pcc_watched, acked, 72);
PCC_LIES(pcc_watched, pacing, 80);
PCC_LIES(pcc_watched, packets_sent, 88);
PCC_LIES(pcc_watched, packets_lost, 92);
PCC_LIES(pcc_watched, rtt_us, 96);
PCC_LIES(pcc_watched, window, 100);
PCC_LIES(pcc_watched, utility, 104);
PCC_LIES(pcc_watched, loss, 112);
PCC_LIES(pcc_watched, limited_by, 120);
PCC_LIES(pcc_watched, law_state, 124);
PCC_LIES(pcc_watched, intervals, 128);
PCC_LIES(pcc_watched, silences, 132);
PCC_LIES(pcc_watched, panics, 136);
PCC_LIES(pcc_watched, netns, 140);

/* Its place is looked up; that of tcp_congestion_ops, which BPF registers, is given. */
struct tcp_congestion_ops___watch {
	char name[16];
} __attribute__((preserve_access_index));

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
} __attribute__((preserve_access_index));

/* Both ends of a connection. */
static __always_inline void watch_ends(struct pcc_watched *watched, const struct sock *sk)
{
	int i;

	watched->family = sk->__sk_common.skc_family;
	watched->local_port = sk->__sk_common.skc_num;
	watched->remote_port = bpf_ntohs(sk->__sk_common.skc_dport);
	if (watched->family != PCC_AF_INET6) {
		watched->local[0] = sk->__sk_common.skc_rcv_saddr;
		watched->remote[0] = sk->__sk_common.skc_daddr;
		return;
	}
#pragma unroll
	for (i = 0; i < 4; i++) {
		watched->local[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
		watched->remote[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
	}
}

/* Loaded only if asked for: some kernels refuse iterators, and bpftool, which loads what is
 * not marked so, could not register the rest there.
 */
SEC("?iter/bpf_sk_storage_map")
int pcc_watch(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct tcp_congestion_ops___watch *ops;
	struct sock *sk = ctx->sk;
	struct seq_file *seq = ctx->meta->seq;
	struct pcc_watched watched = {};
	struct tcp_sock *tp;
	struct pcc_connection *one = ctx->value;
	struct pcc_flow *flow;
	int i;

	if (!sk || !one)
		return 0;
	flow = &one->flow;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	ops = (void *)tp->inet_conn.icsk_ca_ops;
	if (!ops)
		return 0;
#pragma unroll
	for (i = 0; i < 16; i++)
		watched.name[i] = ops->name[i];
	watch_ends(&watched, sk);
	watched.state = sk->__sk_common.skc_state;
	watched.now = bpf_ktime_get_ns();
	watched.sent = tp->bytes_sent;
	watched.acked = tp->bytes_acked;
	watched.pacing = sk->sk_pacing_rate;
	watched.packets_sent = tp->data_segs_out;
	watched.packets_lost = tp->lost;
	watched.rtt_us = tp->srtt_us >> 3;
	watched.window = tp->snd_cwnd;
	watched.utility = flow->utility;
	watched.loss = flow->loss;
	watched.limited_by = flow->limited_by;
	watched.law_state = one->law->state;
	watched.intervals = flow->intervals;
	watched.silences = flow->silences;
	watched.panics = flow->panics;
	watched.netns = sk->__sk_common.skc_net.net->ns.inum;
	bpf_seq_write(seq, &watched, sizeof(watched));
	return 0;
}

#endif
