/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A TCP connection's numbers for PCC, in Linux. Include it where struct tcp_sock and struct
 * rate_sample are defined.
 */
#ifndef PCC_TCP_H
#define PCC_TCP_H

#include "pcc.h"

/* TCP_ECN_MODE_ACCECN, which kernels before 6.18 do not have and never set. */
#define PCC_ACCURATE_ECN 16

/* TCP's counters at this moment. */
PCC_PART void pcc_read_counters(struct pcc_sample *sample, const struct tcp_sock *tp)
{
	bool full, holes;

	sample->now = tp->tcp_clock_cache;
	sample->next_sent = tp->tcp_wstamp_ns;
	sample->bytes_sent = tp->bytes_sent;
	sample->sent = tp->data_segs_out;
	sample->in_flight =
		tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	sample->outstanding = tp->packets_out;
	sample->delivered = tp->delivered;
	sample->lost = tp->lost;
	sample->marked = tp->delivered_ce;
	sample->accurate = !!(tp->ecn_flags & PCC_ACCURATE_ECN);
	sample->packet = tp->mss_cache;
	sample->reordering = tp->reordering;
	sample->window = tp->snd_cwnd;
	sample->taken_rtt = tp->srtt_us >> 3;
	sample->least_rtt = tp->rtt_min.s[0].v;
	/* Below zero if the peer took back what it had offered. */
	full = (s32)(tp->snd_una + tp->snd_wnd - tp->snd_nxt) < (s32)tp->mss_cache;
	holes = tp->sacked_out || tp->lost_out;
	sample->peer_limited = full && !holes;
	sample->blocked = full && holes;
}

/* The other numbers of an acknowledgement. Its RTT counts from the departure of the newest packet
 * that it delivers, if that was sent once. TCP's own RTT (rtt_us) is by the peer's timestamps if a
 * retransmitted packet arrived, in whole milliseconds: 47.0 ms on a path of 47.4. Taken for the
 * base RTT, that would show a queue of 0.4 ms ever after. It is used when nothing else is known:
 * pcc_rtt_or_tcp_s.
 */
PCC_PART void pcc_read_ack(struct pcc_sample *sample, const struct tcp_sock *tp,
			   const struct rate_sample *rs)
{
	s64 rtt = tp->tcp_mstamp - tp->first_tx_mstamp;

	sample->rtt = 0;
	if (rs->prior_mstamp && !rs->is_retrans && !rs->is_ack_delayed && rtt > 0)
		sample->rtt = rtt;
	sample->app_limited = rs->is_app_limited;
}

/* The window, as far as a route or an application lets it grow. TCP's time-out leaves one
 * packet in flight: until one arrives no other acknowledgement, as for the peer's own data,
 * opens it again.
 */
PCC_PART u32 pcc_window_of(const struct pcc_flow *flow, const struct tcp_sock *tp)
{
	u32 most = tp->snd_cwnd_clamp, train = pcc_window_for_train(flow);

	if (!flow->answers && tp->snd_cwnd < most)
		most = tp->snd_cwnd;
	if (train < most)
		most = train;
	return flow->window < most ? flow->window : most;
}

/* The socket's pacing rate. The rate is within a new limit from the next interval on. */
PCC_PART u64 pcc_pacing_rate(const struct pcc_flow *flow)
{
	return flow->most && flow->rate > flow->most ? flow->most : flow->rate;
}

/* The highest rate, of the connection's own limit and one for all, in byte/s. ~0 is no
 * limit of TCP's, 0 none of ours.
 */
PCC_PART u64 pcc_most_rate(u64 own, u64 all)
{
	if (all && own > all)
		return all;
	return own + 1 ? own : 0;
}

#endif
