/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A TCP connection's state but for its law's, and its consequences for the law and the window. An
 * acknowledgement that brings the law nothing to do needs no more than this.
 */
#ifndef PCC_FLOW_H
#define PCC_FLOW_H

#include "driver.h"
#include "rtt.h"

/* Counters of packets wrap at four times of this. */
#define PCC_LARGEST_WINDOW (1U << 30)

struct pcc_flow {
	/* The rate, byte/s, and the most packets in flight. */
	u64 rate;
	u32 window;
	/* Packets that had been sent when the path answered after a silence. */
	u32 silence_sent;
	/* Set from outside: the highest rate in byte/s, 0 for none. */
	u64 most;
	struct pcc_rtt rtt;
	/* When an acknowledgement told the RTT last, and the path answered. Unit: ns. */
	u64 told_rtt;
	u64 progress;
	/* In flight at that time. */
	u32 in_flight;
	/* Packets that may be in flight before the first RTT sample; they are spread over half an
	 * RTT.
	 */
	u32 initial_window;
	/* Packets settled when Starting began, and packets that may be in flight beyond 1.5 times
	 * those settled since.
	 */
	u32 start_settled;
	u32 start_volume;
	/* When to look at an unfinished interval again: so much of it delivered. */
	u32 next_look;
	/* The best delivery rate of five to ten RTT, in two halves. Unit: byte/s. */
	pcc_num delivery;
	pcc_num delivery_before;
	u64 delivery_half;
	struct pcc_previous previous;
	/* When it was last seen what the path carried, by as many packets on end as an
	 * interval has: a packet now and then tells nothing of it. Unit: ns.
	 */
	u64 filled;
	/* For `pcc kernel top`: the utility of the latest interval, its limit, its loss rate, the
	 * number of intervals, and the reasons for going back.
	 */
	pcc_num utility;
	pcc_num loss;
	u32 limited_by;
	u32 intervals;
	/* Packets of intervals that followed each other since `filled`. */
	u32 on_end;
	u32 silences;
	u32 panics;
	/* Packets that arrived, as the latest acknowledgement told. */
	u32 answers;
	/* TCP's latest numbers. */
	struct pcc_sample sample;
	struct pcc_monitor monitor;
};

/* All of a connection, where it is in one place. */
struct pcc_steered {
	struct pcc_flow flow;
	struct pcc_law law;
};

PCC_PART pcc_num pcc_flow_ceiling(const struct pcc_flow *flow)
{
	return flow->most ? n_min(n_from(flow->most), PCC_FASTEST) : PCC_FASTEST;
}

PCC_PART u64 pcc_half_rtt(u64 rtt)
{
	return rtt / 2 > 1000000 ? rtt / 2 : 1000000;
}

/* A connection that has sent nothing has the window of its route (initcwnd) or of a BPF program
 * (TCP_BPF_IW), by default ten packets. TCP sets it before it calls for a congestion control. A
 * connection that has sent something has another congestion control's window.
 */
PCC_PART u32 pcc_initial_window(const struct pcc_sample *sample)
{
	u32 most = sample->sent ? PCC_INITIAL_WINDOW : PCC_LARGEST_WINDOW;
	u32 window = sample->window < most ? sample->window : most;

	return window ? window : 1;
}

PCC_PART pcc_num pcc_initial_volume(const struct pcc_flow *flow)
{
	return n_from((u64)flow->initial_window * flow->sample.packet);
}

/* The initial window in half an RTT; in less than a millisecond that would be a burst. */
PCC_PART pcc_num pcc_initial_rate(const struct pcc_flow *flow, u64 rtt)
{
	return n_div(pcc_initial_volume(flow), n_seconds(pcc_half_rtt(rtt)));
}

/* Starting looks for the path's rate from a window of at least this on. Packets. */
PCC_PART u32 pcc_least_start(const struct pcc_flow *flow)
{
	return flow->initial_window < PCC_INITIAL_WINDOW ? flow->initial_window
							 : PCC_INITIAL_WINDOW;
}

/* The law's knowledge of the path. */
PCC_CALL int pcc_update_path(const struct pcc_flow *flow, struct pcc_law *law)
{
	struct pcc_path *path;
	u64 rtt, least, period;

	PCC_NEEDS(flow && law, 0);
	path = &law->path;
	rtt = pcc_rtt_smoothed(&flow->rtt);
	least = pcc_rtt_least(&flow->rtt);
	path->rtt_ns = rtt;
	path->queue_ns = least && rtt > least ? rtt - least : 0;
	path->rtt = n_seconds(rtt);
	path->queue = n_seconds(path->queue_ns);
	path->packet = n_from(flow->sample.packet);
	path->ceiling = pcc_flow_ceiling(flow);
	period = rtt > MONITOR_LEAST_GAP ? rtt : MONITOR_LEAST_GAP;
	path->floor = n_min(n_div(path->packet, n_seconds(period)), path->ceiling);
	path->initial = n_min(pcc_initial_rate(flow, rtt), path->ceiling);
	path->delivery = n_max(flow->delivery, flow->delivery_before);
	return 0;
}

/* From here on what is in flight grows from this by what the path answers for. */
PCC_PART void pcc_open_start_window(struct pcc_flow *flow, u64 packets)
{
	u32 least = pcc_least_start(flow);

	flow->start_settled = flow->monitor.settled;
	flow->start_volume = packets < least		    ? least
			     : packets < PCC_LARGEST_WINDOW ? packets
							    : PCC_LARGEST_WINDOW;
}

/* TCP sends the data of 1/2^10 s at once. On short paths it sends this more, half of it for each
 * 2^9 us of the RTT (tcp_tso_autosize). TCP's least RTT is of minutes, ours of seconds. The module
 * has shorter trains. Unit: byte.
 */
#ifndef PCC_PACING_SHIFT
#define PCC_PACING_SHIFT 10
#define PCC_SHORT_PATH_TRAIN 65536
#endif
/* TCP's shortest train. Packets. */
#define PCC_SHORTEST_TRAIN 2
/* TCP's longest train. Unit: byte. */
#define PCC_LONGEST_TRAIN 65536
/* A window that is full opens by a third of it at once (tcp_tso_should_defer). */
#define PCC_TRAINS 3
/* Packets delivered without a loss for each that a train may be longer. */
#define PCC_TRAIN_PROOF 16

/* By so much trains are longer than the pacing rate asks for. Unit: byte. */
PCC_PART u64 pcc_short_path_train(const struct pcc_flow *flow)
{
	u32 least = flow->sample.least_rtt >> 9;

	return least < 32 ? PCC_SHORT_PATH_TRAIN >> least : 0;
}

/* The packets at once that are shown to fit into the bottleneck's queue. One shorter than a train
 * drops the end of each, and a queue that takes trains whole drops them whole. That loss answers
 * to no rate. Trains grow only while nothing is lost: they cost one packet in some hundreds.
 */
PCC_PART u32 pcc_train_shown(const struct pcc_flow *flow)
{
	return (flow->monitor.delivered - flow->monitor.lossless_from) / PCC_TRAIN_PROOF;
}

/* Packets that may be in flight beyond what the path holds, so that TCP's trains stay whole. */
PCC_PART u32 pcc_room_for_trains(const struct pcc_flow *flow)
{
	u64 bytes = (flow->rate >> PCC_PACING_SHIFT) + pcc_short_path_train(flow);
	u32 most, shown;

	if (bytes > PCC_LONGEST_TRAIN)
		bytes = PCC_LONGEST_TRAIN;
	most = PCC_TRAINS * (u32)bytes / (flow->sample.packet ? flow->sample.packet : 1);
	shown = pcc_train_shown(flow);
	most = shown < most ? shown : most;
	return most > PCC_INITIAL_WINDOW ? most : PCC_INITIAL_WINDOW;
}

/* Packets that may be in flight until the next acknowledgement. A train on a short path has
 * what the pacing rate asks for, or twice as many as this acknowledgement answered for. At a slow
 * bottleneck packets arrive and are acknowledged one by one: trains stay short, and no probe is
 * shorter than they are. Where a train arrives as a whole it is acknowledged as a whole: the next
 * one may be twice as long. After a loss it is no longer than was shown to fit since. Otherwise
 * eight senders whose trains are dropped whole starve each other. An interval of the slower ones
 * has one or two trains. TCP lets half of a window leave at once (tcp_cwnd_test).
 */
PCC_PART u32 pcc_window_for_train(const struct pcc_flow *flow)
{
	u32 packet = flow->sample.packet, in_flight = flow->sample.in_flight;
	u32 whole = 2 * flow->answers, shown = pcc_train_shown(flow);
	u64 train;

	if (!flow->rtt.smoothed || pcc_short_path_train(flow) < packet)
		return PCC_LARGEST_WINDOW;
	train = PCC_DIV(flow->rate >> PCC_PACING_SHIFT, packet);
	if (flow->monitor.lossless_from && whole > shown)
		whole = shown;
	if (train < whole)
		train = whole;
	if (train < PCC_SHORTEST_TRAIN)
		train = PCC_SHORTEST_TRAIN;
	train += in_flight < train ? train : in_flight;
	return train < PCC_LARGEST_WINDOW ? train : PCC_LARGEST_WINDOW;
}

/* No RTT is taken for shorter. Unit: s. */
#define PCC_SHORTEST_RTT n_ratio(1, 1000)

/* The initial window before the first RTT sample. Then two bandwidth-delay products of the path
 * without a queue of ours, and three trains: a bound for what a path that falls silent is sent.
 * In Starting also what the path has answered for allows.
 */
PCC_CALL int pcc_update_window(struct pcc_flow *flow, const struct pcc_law *law)
{
	u64 least, window, paced;
	pcc_num time, rate;
	u32 stale;

	PCC_NEEDS(flow && law, 0);
	if (!flow->rtt.smoothed) {
		flow->window = flow->initial_window;
		return 0;
	}
	least = pcc_rtt_least(&flow->rtt);
	time = pcc_law_standing_rtt(law);
	if (!n_known(time))
		time = n_seconds(least);
	/* Packets that a radio holds back are in flight too. */
	time = n_mul(n_max(time, PCC_SHORTEST_RTT), N_TWO);
	time = n_add(time, n_seconds(pcc_rtt_spread(&flow->rtt)));
	rate = n_max(law->rate, law->slot.rate);
	window = n_to(n_div(n_mul(rate, time), n_from(flow->sample.packet)));
	window += pcc_room_for_trains(flow);
	if (law->state == PCC_STARTING) {
		/* TCP may count packets that were sent into a silence as in flight. If the answer
		 * tells that some had arrived, it undoes its time-out (F-RTO), and only packets
		 * that leave now can show that the rest is lost.
		 */
		stale = flow->silence_sent - flow->monitor.settled;
		if (stale > flow->in_flight)
			stale = 0;
		/* Whom its application limits may start for days: the counters wrap. */
		if (flow->monitor.settled - flow->start_settled >= PCC_LARGEST_WINDOW)
			pcc_open_start_window(flow, PCC_LARGEST_WINDOW);
		paced = flow->start_volume + (flow->monitor.settled - flow->start_settled);
		paced += paced / 2;
		if (paced < pcc_least_start(flow))
			paced = pcc_least_start(flow);
		if (window > paced)
			window = paced;
		window += stale;
	}
	flow->window = window < PCC_LARGEST_WINDOW ? window : PCC_LARGEST_WINDOW;
	return 0;
}

#endif
