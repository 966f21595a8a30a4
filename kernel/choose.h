/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Gives connections of unmodified applications a congestion control, as `pcc kernel use`
 * asks: attached to a control group, it looks at each connection that begins in there.
 */
#ifndef PCC_CHOOSE_H
#define PCC_CHOOSE_H

#include <bpf/bpf_endian.h>

/* The connections of a rule, and their congestion control. The tool that attached the rule reads it
 * back from here.
 */
struct pcc_rule {
	char name[16]; /* the congestion control's */
	u64 cgroup;    /* the control group's number, for lists of rules */
	u16 port;      /* at either end; 0 for any */
	u8 family;     /* of the other end: 4 or 6; 0 for any */
	u8 prefix;     /* so many bits of its address are compared */
	u32 address[4]; /* in the order of the network; the first for family 4 */
	u32 chosen;    /* connections that were given it so far */
	u32 failed;    /* and that were not, since there is none of that name (any more) */
	u32 reserved;
	u64 until;     /* that is on trial so long, since the machine started, in ns; 0 for none */
};

/* crates/bpf/src/rule.rs writes it so. */
_Static_assert(sizeof(struct pcc_rule) == 64, "the size of a rule");
PCC_LIES(pcc_rule, name, 0);
PCC_LIES(pcc_rule, cgroup, 16);
PCC_LIES(pcc_rule, port, 24);
PCC_LIES(pcc_rule, family, 26);
PCC_LIES(pcc_rule, prefix, 27);
PCC_LIES(pcc_rule, address, 28);
PCC_LIES(pcc_rule, chosen, 44);
PCC_LIES(pcc_rule, failed, 48);
PCC_LIES(pcc_rule, until, 56);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pcc_rule);
} pcc_rule SEC(".maps");

#define PCC_AF_INET 2
#define PCC_AF_INET6 10
#define PCC_SOL_TCP 6
#define PCC_TCP_CONGESTION 13

/* Whether the first bits of two words are the same; there are no more than 32. */
static __always_inline bool same_bits(u32 a, u32 b, u32 bits)
{
	return !bits || !(bpf_ntohl(a ^ b) >> (32 - bits));
}

static __always_inline bool is_destination(const struct pcc_rule *rule, struct bpf_sock_ops *ctx)
{
	u32 prefix = rule->prefix, mapped;

	if (rule->family == 4) {
		if (prefix > 32)
			return false;
		if (ctx->family == PCC_AF_INET)
			return same_bits(ctx->remote_ip4, rule->address[0], prefix);
		/* An application that knows IPv6 only. */
		mapped = ctx->remote_ip6[3];
		return !ctx->remote_ip6[0] && !ctx->remote_ip6[1] &&
		       ctx->remote_ip6[2] == bpf_htonl(0xffff) &&
		       same_bits(mapped, rule->address[0], prefix);
	}
	if (ctx->family != PCC_AF_INET6 || prefix > 128)
		return false;
#define PCC_WORD(i)                                                                             \
	same_bits(ctx->remote_ip6[i], rule->address[i],                                         \
		  prefix >= 32 * (i) + 32 ? 32 : prefix > 32 * (i) ? prefix - 32 * (i) : 0)
	return PCC_WORD(0) && PCC_WORD(1) && PCC_WORD(2) && PCC_WORD(3);
#undef PCC_WORD
}

SEC("sockops")
int pcc_choose(struct bpf_sock_ops *ctx)
{
	struct pcc_rule *rule;
	u32 zero = 0, remote;
	char name[16];
	int op = ctx->op;

	/* Before the SYN of one that calls, and once one that was called is there. */
	if (op != BPF_SOCK_OPS_TCP_CONNECT_CB && op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	rule = bpf_map_lookup_elem(&pcc_rule, &zero);
	if (!rule)
		return 1;
	/* A variant on trial may not hand this connection on: TCP lets no congestion control that
	 * was just chosen choose another.
	 */
	if (rule->until && bpf_ktime_get_boot_ns() > rule->until)
		return 1;
	remote = bpf_ntohl(ctx->remote_port);
	if (rule->port && ctx->local_port != rule->port && remote != rule->port)
		return 1;
	if (rule->family && !is_destination(rule, ctx))
		return 1;
	__builtin_memcpy(name, rule->name, sizeof(name));
	if (bpf_setsockopt(ctx, PCC_SOL_TCP, PCC_TCP_CONGESTION, name, sizeof(name)))
		__sync_fetch_and_add(&rule->failed, 1);
	else
		__sync_fetch_and_add(&rule->chosen, 1);
	return 1;
}

#endif
