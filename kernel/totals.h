/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The sums of all connections, ended ones too, by network namespace. Each adds to them once an
 * interval and at its end, so that a reader need not look at each.
 */
#ifndef PCC_TOTALS_H
#define PCC_TOTALS_H

struct pcc_totals {
	u64 begun;
	u64 ended;
	u64 sent; /* bytes, with those sent again */
	u64 acked;
	u64 packets_sent;
	u64 packets_lost;
	u64 intervals;
	u64 silences;
	u64 panics;
};

/* Connections of namespaces beyond these are counted under 0, which is no namespace. */
#define PCC_MOST_NAMESPACES 1024

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PCC_MOST_NAMESPACES);
	__type(key, u32); /* a namespace's number, as /proc/PID/ns/net shows it */
	__type(value, struct pcc_totals);
} pcc_totals SEC(".maps");

/* The part of a connection that the totals have. */
struct pcc_counted {
	u64 sent;
	u64 acked;
	u32 packets_sent;
	u32 packets_lost;
	u32 intervals;
	u32 silences;
	u32 panics;
	u32 netns;
};

/* All that is stored of a connection. */
struct pcc_connection {
	struct pcc_counted counted;
	struct pcc_flow flow;
	union {
		u64 kept[PCC_LAW_KEPT / sizeof(u64)];
		/* Not all of one, but where it begins: a reader knows the fields by this type. */
		struct pcc_law law[0];
	};
};

/* The entry under this number, made if it is missing. */
static __always_inline struct pcc_totals *totals_of(u32 *netns)
{
	struct pcc_totals none = {}, *totals = bpf_map_lookup_elem(&pcc_totals, netns);

	if (totals)
		return totals;
	bpf_map_update_elem(&pcc_totals, netns, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&pcc_totals, netns);
}

/* The loader tries a connection to this port of its own, which is not counted; 0 for none. */
u64 uncounted_port;

/* There is no namespace of this number, and no entry. */
#define PCC_NO_NAMESPACE 0xffffffff

/* A connection begins, perhaps after others had its steering. */
static __noinline void totals_begin(struct pcc_connection *one, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pcc_counted *counted = &one->counted;
	struct pcc_totals *totals;
	u32 netns = sk->__sk_common.skc_net.net->ns.inum;

	if (uncounted_port && bpf_ntohs(sk->__sk_common.skc_dport) == uncounted_port) {
		counted->netns = PCC_NO_NAMESPACE;
		return;
	}
	totals = totals_of(&netns);
	if (!totals) {
		netns = 0;
		totals = totals_of(&netns);
	}
	counted->netns = netns;
	counted->sent = tp->bytes_sent;
	counted->acked = tp->bytes_acked;
	counted->packets_sent = tp->data_segs_out;
	counted->packets_lost = tp->lost;
	if (totals)
		__sync_fetch_and_add(&totals->begun, 1);
}

#define PCC_COUNT(what, now)                                                                    \
	do {                                                                                    \
		__sync_fetch_and_add(&totals->what, (now) - counted->what);                     \
		counted->what = (now);                                                          \
	} while (0)

static __noinline void totals_add(struct pcc_connection *one, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pcc_counted *counted = &one->counted;
	struct pcc_totals *totals = bpf_map_lookup_elem(&pcc_totals, &counted->netns);

	if (!totals)
		return;
	PCC_COUNT(sent, tp->bytes_sent);
	PCC_COUNT(acked, tp->bytes_acked);
	PCC_COUNT(packets_sent, tp->data_segs_out);
	PCC_COUNT(packets_lost, tp->lost);
	PCC_COUNT(intervals, one->flow.intervals);
	PCC_COUNT(silences, one->flow.silences);
	PCC_COUNT(panics, one->flow.panics);
}

static __noinline void totals_end(struct pcc_connection *one, struct sock *sk)
{
	struct pcc_totals *totals;

	totals_add(one, sk);
	totals = bpf_map_lookup_elem(&pcc_totals, &one->counted.netns);
	if (totals)
		__sync_fetch_and_add(&totals->ended, 1);
}

#endif
