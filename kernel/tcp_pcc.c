// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/* PCC as a TCP congestion control of Linux, as a module, for 6.1 and later.
 *
 *	kernel/module OUTPUT && insmod OUTPUT/tcp_pcc.ko
 *	sysctl -w net.ipv4.tcp_congestion_control=pcc	# or setsockopt(TCP_CONGESTION)
 *
 * Performance-oriented Congestion Control sends for a moment a little faster and for a
 * moment a little slower, measures what each achieved, and moves to what is worth more by
 * its utility: docs/algorithm.md. The law is in pcc.h and what that includes; here is what
 * binds it to TCP. It is the text of tcp_pcc.bpf.c but for what BPF cannot do:
 *
 *  - Trains of segments last 122 us instead of 1 ms, and may be of one segment, so that
 *    queues of a few packets are enough (sk_pacing_shift, min_tso_segs); also where the round
 *    trip is short, for which TCP makes them up to 64 kB (sk_gso_max_segs). As much less
 *    may wait in the queueing discipline and the card (tcp_small_queue_check). With
 *    short_trains=N it has TCP's trains, as the BPF program.
 *  - ss -ti shows around which rate PCC probes (get_info).
 *  - pcc_bulk is a second congestion control with a utility of its own.
 *
 * Papers: PCC (NSDI 2015), PCC Vivace (NSDI 2018), PCC in the Linux kernel (NetDev 0x12).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/tcp.h>

/* A train has 1/2^13 of a second's data, 122 us, as the tool's trains; TCP's own has 1 ms.
 * At 100 Mbit/s that is one segment.
 */
static bool pcc_short_trains = true;
#define PCC_PACING_SHIFT (pcc_short_trains ? 13 : 10)
#define PCC_SHORT_PATH_TRAIN (pcc_short_trains ? 0 : 65536)

#include "pcc.h"
#include "tcp.h"
#include "text.h"

/* The socket's private part. It has the numbers of get_info, which is called without the socket's
 * lock, even while the connection gets another congestion control.
 */
struct pcc_connection {
	/* NULL while there is no memory for it: then TCP is Reno. */
	struct pcc_steered *steered;
	/* Whether init was called: the handshake's acknowledgement comes before it. */
	u32 ready;
	/* Memory is asked for again once this was delivered. */
	u32 ask_again;
	u32 intervals;
	u32 min_rtt;	/* us */
	u64 rate;	/* around which it probes, byte/s; 0 before the first interval */
};

/* The utility of connections. It may be replaced while they run. */
struct pcc_striving {
	struct rcu_head rcu;
	struct pcc_program program;
	char text[];
};

/* One for each congestion control here. */
enum pcc_variant {
	PCC_DEFAULT,
	PCC_BULK,
	PCC_VARIANTS
};

static struct pcc_striving __rcu *pcc_striving[PCC_VARIANTS];
static struct kmem_cache *pcc_flows;
static unsigned long pcc_most;

/* The program of a utility's name, or what is one itself. */
static const char *pcc_program_of(const char *text)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pcc_utilities); i++)
		if (!strcmp(pcc_utilities[i].name, text))
			return pcc_utilities[i].program;
	return text;
}

/* Tells root, who wrote it, the fault of a utility. */
static int pcc_refuse(const char *text, enum pcc_invalid why, const struct pcc_text *bad)
{
	static const char *const reasons[] = {
		[PCC_TOO_LONG] = "has more than 256 operations",
		[PCC_TOO_DEEP] = "needs a stack of more than 16 numbers",
		[PCC_MALFORMED] = "takes more values than there are, or leaves more or less than one",
	};

	if (bad->at)
		pr_err("utility: `%.*s' is neither the name of one nor a word of a program (see docs/utility.md, Programs)\n",
		       (int)min_t(size_t, bad->end - bad->at, 40), bad->at);
	else
		pr_err("utility: `%.40s...' %s\n", text, reasons[why]);
	return -EINVAL;
}

static int pcc_set_striving(struct pcc_striving __rcu **place, const char *text)
{
	struct pcc_striving *striving, *old;
	struct pcc_text bad = { NULL };
	size_t length = strlen(text);
	enum pcc_invalid why;
	const char *program;

	while (length && pcc_is_blank(text[length - 1]))
		length--;
	striving = kmalloc(struct_size(striving, text, length + 1), GFP_KERNEL);
	if (!striving)
		return -ENOMEM;
	memcpy(striving->text, text, length);
	striving->text[length] = 0;
	program = pcc_program_of(striving->text);
	why = pcc_program_read(&striving->program, program, strlen(program), &bad);
	if (why != PCC_VALID) {
		pcc_refuse(striving->text, why, &bad);
		kfree(striving);
		return -EINVAL;
	}
	/* Parameters are changed one at a time, by the caller's lock. */
	old = rcu_replace_pointer(*place, striving, true);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

static int pcc_param_set(const char *text, const struct kernel_param *param)
{
	return pcc_set_striving(param->arg, text);
}

static int pcc_param_get(char *buffer, const struct kernel_param *param)
{
	struct pcc_striving __rcu **place = param->arg;
	struct pcc_striving *striving;
	int length = 0;

	rcu_read_lock();
	striving = rcu_dereference(*place);
	if (striving)
		length = scnprintf(buffer, PAGE_SIZE, "%s\n", striving->text);
	rcu_read_unlock();
	return length;
}

/* When the module goes, or cannot be loaded: nobody reads the parameter any more. */
static void pcc_param_free(void *arg)
{
	struct pcc_striving __rcu **place = arg;

	kfree(rcu_dereference_protected(*place, true));
	RCU_INIT_POINTER(*place, NULL);
}

static const struct kernel_param_ops pcc_param_ops = {
	.set = pcc_param_set,
	.get = pcc_param_get,
	.free = pcc_param_free,
};

module_param_cb(utility, &pcc_param_ops, &pcc_striving[PCC_DEFAULT], 0644);
MODULE_PARM_DESC(utility, "what connections with pcc strive for: a name, or a program (default fair)");
module_param_cb(bulk_utility, &pcc_param_ops, &pcc_striving[PCC_BULK], 0644);
MODULE_PARM_DESC(bulk_utility, "the same of pcc_bulk (default safe: loss counts, queues do not)");
module_param_named(short_trains, pcc_short_trains, bool, 0444);
MODULE_PARM_DESC(short_trains, "trains of 122 us instead of TCP's own (default Y)");
module_param_named(most, pcc_most, ulong, 0644);
MODULE_PARM_DESC(most, "the highest rate of a connection in byte/s (default 0: none)");

static void pcc_read(struct sock *sk, struct pcc_flow *flow)
{
	pcc_read_counters(&flow->sample, tcp_sk(sk));
	flow->most = pcc_most_rate(READ_ONCE(sk->sk_max_pacing_rate), READ_ONCE(pcc_most));
}

/* tcp_tso_autosize() adds 64 kB >> min_rtt / 512 us to the data of 1 / 2^shift s. Below half a
 * millisecond a train therefore has 64 kB at any rate, half of a switch port's buffer. Only the
 * bound of the device makes it less, which is set anew with each route.
 */
static void pcc_limit_trains(struct sock *sk, u64 segments)
{
	const struct dst_entry *route = __sk_dst_get(sk);

	if (!route || !sk_can_gso(sk))
		return;
	segments = min_t(u64, segments, READ_ONCE(route->dev->gso_max_segs));
	WRITE_ONCE(sk->sk_gso_max_segs, max_t(u64, segments, 1));
}

static void pcc_set_rate(struct sock *sk, const struct pcc_flow *flow)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tcp_sk(sk), pcc_window_of(flow, tp));
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, pcc_pacing_rate(flow), ULONG_MAX));
	if (pcc_short_trains)
		pcc_limit_trains(sk, div_u64(flow->rate >> PCC_PACING_SHIFT, max(tp->mss_cache, 1U)));
}

/* For get_info, once an interval. */
static void pcc_show(struct pcc_connection *pcc)
{
	const struct pcc_flow *flow = &pcc->steered->flow;

	pcc->intervals = flow->intervals;
	WRITE_ONCE(pcc->min_rtt, div_u64(pcc_rtt_least(&flow->rtt), NSEC_PER_USEC));
	WRITE_ONCE(pcc->rate, n_to(pcc->steered->law.rate));
}

/* May be in a softirq. An attempt that fails is no news: Reno goes on. */
static bool pcc_begin(struct sock *sk)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);
	struct pcc_steered *steered;

	steered = kmem_cache_zalloc(pcc_flows, GFP_ATOMIC | __GFP_NOWARN);
	if (!steered)
		return false;
	pcc_read(sk, &steered->flow);
	pcc_flow_new(&steered->flow, &steered->law, get_random_u64());
	pcc->steered = steered;
	pcc_set_rate(sk, &steered->flow);
	return true;
}

static void pcc_init(struct sock *sk)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);

	memset(pcc, 0, sizeof(*pcc));
	pcc->ready = true;
	/* fq paces, if it is the queueing discipline; otherwise TCP does. */
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	if (pcc_short_trains)
		sk_pacing_shift_update(sk, PCC_PACING_SHIFT);
	if (!pcc_begin(sk))
		pcc->ask_again = tcp_sk(sk)->delivered + 1;
}

static void pcc_release(struct sock *sk)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);

	/* A socket of MPTCP's that only hands the choice on is no TCP connection, and was never
	 * begun (mptcp_ca_reset).
	 */
	if (!pcc->ready)
		return;
	if (pcc->steered)
		kmem_cache_free(pcc_flows, pcc->steered);
	pcc->steered = NULL;
	if (!pcc_short_trains)
		return;
	sk_pacing_shift_update(sk, 10);
	pcc_limit_trains(sk, U16_MAX);
}

/* Without memory for more, once a round trip asks for it again. */
static void pcc_be_reno(struct sock *sk, const struct rate_sample *rs)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate, most;

	if (!before(rs->prior_delivered, pcc->ask_again)) {
		if (pcc_begin(sk))
			return;
		pcc->ask_again = tp->delivered;
	}
	if (inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR && inet_csk(sk)->icsk_ca_state < TCP_CA_Loss)
		tcp_snd_cwnd_set(tp, max(min(tcp_snd_cwnd(tp), tp->snd_ssthresh), 1U));
	else
		tcp_reno_cong_avoid(sk, tp->snd_una, max(rs->acked_sacked, 0));
	/* Twice a window a round trip: no train is longer than half of one. */
	rate = (u64)tcp_snd_cwnd(tp) * tp->mss_cache * 2 * USEC_PER_SEC;
	rate = div64_u64(rate, max(tp->srtt_us >> 3, 1U));
	most = pcc_most_rate(READ_ONCE(sk->sk_max_pacing_rate), READ_ONCE(pcc_most));
	rate = most ? min(rate, most) : rate;
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, ULONG_MAX));
}

static void pcc_on_sample(struct sock *sk, const struct rate_sample *rs, enum pcc_variant variant)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);
	struct pcc_steered *steered = pcc->steered;
	struct pcc_flow *flow;

	if (unlikely(!steered)) {
		if (pcc->ready)
			pcc_be_reno(sk, rs);
		return;
	}
	flow = &steered->flow;
	pcc_read(sk, flow);
	pcc_read_ack(&flow->sample, tcp_sk(sk), rs);
	rcu_read_lock();
	pcc_on_ack(flow, &steered->law, &rcu_dereference(pcc_striving[variant])->program);
	rcu_read_unlock();
	if (flow->intervals != pcc->intervals)
		pcc_show(pcc);
	pcc_set_rate(sk, flow);
}

/* Since 6.10 it is told the acknowledgement's number and flags besides. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define PCC_ACK u32 ack, int flag,
#else
#define PCC_ACK
#endif

static void pcc_cong_control(struct sock *sk, PCC_ACK const struct rate_sample *rs)
{
	pcc_on_sample(sk, rs, PCC_DEFAULT);
}

static void pcc_bulk_cong_control(struct sock *sk, PCC_ACK const struct rate_sample *rs)
{
	pcc_on_sample(sk, rs, PCC_BULK);
}

static void pcc_cwnd_event_tx_start(struct sock *sk)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);
	struct pcc_steered *steered = pcc->steered;

	if (!steered)
		return;
	pcc_read(sk, &steered->flow);
	if (!pcc_ends_pause(&steered->flow))
		return;
	pcc_on_resumption(&steered->flow, &steered->law);
	pcc_set_rate(sk, &steered->flow);
}

/* Since 7.1 TCP tells this event apart. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define PCC_TX_START .cwnd_event_tx_start = pcc_cwnd_event_tx_start
#else
#define PCC_TX_START .cwnd_event = pcc_cwnd_event

static void pcc_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		pcc_cwnd_event_tx_start(sk);
}
#endif

/* Loss is the utility's business. */
static u32 pcc_ssthresh(struct sock *sk)
{
	const struct pcc_connection *pcc = inet_csk_ca(sk);

	return pcc->steered ? TCP_INFINITE_SSTHRESH : tcp_reno_ssthresh(sk);
}

static u32 pcc_undo_cwnd(struct sock *sk)
{
	struct pcc_connection *pcc = inet_csk_ca(sk);

	if (!pcc->steered)
		return tcp_reno_undo_cwnd(sk);
	pcc_on_undo(&pcc->steered->flow, tcp_sk(sk)->lost);
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* A short train may be of a single segment. */
static u32 pcc_min_tso_segs(struct sock *sk)
{
	return pcc_short_trains ? 1 : PCC_SHORTEST_TRAIN;
}

/* ss has no form for PCC. In BBR's each of these numbers is what its name says; one for the
 * utility, which has a sign and a fraction, none has.
 */
static size_t pcc_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct pcc_connection *pcc = inet_csk_ca(sk);
	u64 rate = READ_ONCE(pcc->rate), now = READ_ONCE(sk->sk_pacing_rate);

	if (!rate || !(ext & (1 << (INET_DIAG_BBRINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = lower_32_bits(rate);
	info->bbr.bbr_bw_hi = upper_32_bits(rate);
	info->bbr.bbr_min_rtt = READ_ONCE(pcc->min_rtt);
	/* Below 2^37, the product fits. */
	info->bbr.bbr_pacing_gain = min_t(u64, div64_u64(now << 8, rate), U32_MAX);
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

#define PCC_OPS(own_name, on_sample)			\
{							\
	.name		= own_name,			\
	.owner		= THIS_MODULE,			\
	.flags		= TCP_CONG_NON_RESTRICTED,	\
	.init		= pcc_init,			\
	.release	= pcc_release,			\
	.cong_control	= on_sample,			\
	PCC_TX_START,					\
	.ssthresh	= pcc_ssthresh,			\
	.undo_cwnd	= pcc_undo_cwnd,		\
	.min_tso_segs	= pcc_min_tso_segs,		\
	.get_info	= pcc_get_info,			\
}

static struct tcp_congestion_ops pcc_ops[PCC_VARIANTS] __read_mostly = {
	[PCC_DEFAULT] = PCC_OPS("pcc", pcc_cong_control),
	[PCC_BULK] = PCC_OPS("pcc_bulk", pcc_bulk_cong_control),
};

/* The number of them that are registered, from the first on. */
static int pcc_registered;

static int __init pcc_register(void)
{
	static const char *const usual[PCC_VARIANTS] = { "fair", "safe" };
	int i, error = 0;

	BUILD_BUG_ON(sizeof(struct pcc_connection) > ICSK_CA_PRIV_SIZE);
	/* Anyone may choose it: what that takes counts as theirs, where the kernel knows whose. */
	pcc_flows = KMEM_CACHE(pcc_steered, SLAB_ACCOUNT);
	if (!pcc_flows)
		error = -ENOMEM;
	for (i = 0; i < PCC_VARIANTS && !error; i++)
		if (!rcu_access_pointer(pcc_striving[i]))
			error = pcc_set_striving(&pcc_striving[i], usual[i]);
	while (pcc_registered < PCC_VARIANTS && !error) {
		error = tcp_register_congestion_control(&pcc_ops[pcc_registered]);
		pcc_registered += !error;
	}
	/* Connections may have what is registered: it stays, and goes with the module. */
	if (error && pcc_registered) {
		pr_warn("there is no %s, whose name may be taken: error %d\n",
			pcc_ops[pcc_registered].name, error);
		error = 0;
	}
	if (error)
		kmem_cache_destroy(pcc_flows);
	return error;
}

static void __exit pcc_unregister(void)
{
	int i;

	for (i = 0; i < pcc_registered; i++)
		tcp_unregister_congestion_control(&pcc_ops[i]);
	/* It complains of connections that were not released. */
	kmem_cache_destroy(pcc_flows);
}

module_init(pcc_register);
module_exit(pcc_unregister);

MODULE_AUTHOR("the authors of pcc");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Performance-oriented Congestion Control for TCP");
MODULE_ALIAS("tcp_pcc_bulk");
