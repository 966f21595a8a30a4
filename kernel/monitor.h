/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Which packets belong to which monitor interval, by the counters that TCP keeps: it
 * tells nobody of single packets. crates/core/src/monitor.rs, interval.rs.
 *
 *  sent        transmissions so far, retransmissions too (data_segs_out)
 *  settled     those whose fate is known: sent less what is in flight. TCP keeps what
 *              is in flight exact, through SACK, spurious losses and time-outs, which
 *              delivered + lost is not: a packet taken for lost that arrives counts in
 *              both.
 *
 *     sent at rate:      r(1+e)       r(1-e)      r(1-e)
 *  interval:        |-----------|------------|----------->
 *  transmission:    first ... end                       sent
 *                               ^ settled: the next delivery is the one at this place
 *                       ^ settled less reordering: the next loss is, since a packet
 *                         counts as lost once so many later ones arrived; it stands
 *                         before this once it is found, being settled then
 *
 * An interval is resolved when both places are beyond its end, so that late losses are
 * its own, and none is left out: over many intervals the loss rate has no bias.
 *
 * All counters are of 32 bits and wrap: only differences of less than 2^31 mean
 * anything. Per acknowledgement there are a few additions here, in integers.
 */
#ifndef PCC_MONITOR_H
#define PCC_MONITOR_H

#include "law.h"
#include "marks.h"
#include "slope.h"

/* The most intervals whose packets are awaited; a power of two. Intervals of half an RTT are four;
 * on a path of 800 ms, where they have 25 ms, they are 32. If there are more, the last one goes on.
 * With more than these a connection would take 32 kB of memory for 16.
 */
#ifndef MONITOR_INTERVALS
#define MONITOR_INTERVALS 32
#endif
_Static_assert((MONITOR_INTERVALS & (MONITOR_INTERVALS - 1)) == 0, "their places are masked");
/* An acknowledgement's deliveries are attributed to so many intervals at the most. */
#define MONITOR_SETTLED 8
/* A packet is lost that so many overtook, at the least. */
#define MONITOR_OVERTAKEN 3

struct pcc_interval {
	struct pcc_slot slot;
	/* From when to when packets of it left; to is 0 while it is open. Unit: ns. */
	u64 from;
	u64 to;
	u64 length;
	u64 bytes_from;
	u64 bytes;
	/* Acknowledgements of it: the first, the last, and what came with the first. */
	u64 first_ack;
	u64 last_ack;
	struct pcc_slope slope;
	u32 first;
	u32 end;
	u32 with_first;
	u32 delivered;
	u32 lost;
	u32 bursts;
	u32 marked;
	/* Delivered of what was sent when there was nothing more to send. */
	u32 app_limited;
	/* Acknowledgements while it was sent, and those with the peer's window full. */
	u32 acks;
	u32 peer_limited;
	/* A window was full because of the path. */
	u32 window_limited;
	/* A packet's time at its rate, up to four seconds. Unit: ns. */
	u32 packet_time;
};

/* The newest RTT sample: when its packet left, and when it was told and how many packets were
 * delivered by then.
 */
struct pcc_told_rtt {
	u64 left; /* ns */
	u64 at;	  /* ns */
	u32 rtt;  /* µs; 0 for none */
	u32 delivered;
};

struct pcc_monitor {
	/* Waits until the next one shows that both were not held back together. */
	struct pcc_told_rtt told;
	/* At the latest acknowledgement. */
	u32 settled;
	u32 delivered;
	u32 lost;
	u32 packet;
	/* Packets delivered when one was lost or marked last. */
	u32 lossless_from;
	struct pcc_marks marks;
	/* The oldest interval that is not reported, and how many there are; the newest
	 * one may be open.
	 */
	u32 oldest;
	u32 count;
	/* Distance of the interval of settled packets from the oldest. */
	u32 settling;
	u32 open;
	struct pcc_interval intervals[MONITOR_INTERVALS];
};

/* How long an interval of this slot is meant to last. Unit: ns. */
PCC_CALL u64 pcc_interval_length(const struct pcc_path *path, const struct pcc_slot *slot)
{
	u64 length, packets;
	pcc_num volume;

	PCC_NEEDS(path && slot, INTERVAL_SHORTEST_TRIAL);
	length = n_to(n_mul(n_mul(path->rtt, slot->rtts_least), N_BILLION));
	volume = n_mul(n_ratio(MONITOR_LEAST_PACKETS, 1), path->packet);
	packets = n_to(n_mul(n_div(volume, slot->rate), N_BILLION));
	if (packets > 4 * path->rtt_ns)
		packets = 4 * path->rtt_ns;
	if (slot->is_stretched && length < packets)
		length = packets;
	if (slot->trial >= 0 && length < INTERVAL_SHORTEST_TRIAL)
		length = INTERVAL_SHORTEST_TRIAL;
	return length;
}

/* It lasts no longer on a path of this RTT, whatever it was meant to. Unit: ns. */
PCC_PART u64 pcc_longest_interval(u64 rtt)
{
	return 4 * rtt > MONITOR_LONGEST_INTERVAL ? 4 * rtt : MONITOR_LONGEST_INTERVAL;
}

/* Whether a comes after b, or is b. */
PCC_PART bool pcc_reached(u32 a, u32 b)
{
	return (s32)(a - b) >= 0;
}

PCC_PART struct pcc_interval *pcc_interval(struct pcc_monitor *monitor, u32 number)
{
	return &monitor->intervals[(monitor->oldest + number) & (MONITOR_INTERVALS - 1)];
}

/* The interval in which something left at this time, if any. */
PCC_PART struct pcc_interval *pcc_interval_at(struct pcc_monitor *monitor, u64 left)
{
	struct pcc_interval *interval;
	u32 i;

	for (i = 0; i < MONITOR_INTERVALS; i++) {
		if (i >= monitor->count)
			break;
		interval = pcc_interval(monitor, i);
		if (left < interval->from)
			break;
		if (!interval->to || left < interval->to)
			return interval;
	}
	return NULL;
}

/* Attributes the sample that waits to the interval in which its packet left. */
PCC_CALL int pcc_attribute_rtt(struct pcc_monitor *monitor)
{
	struct pcc_interval *interval;
	struct pcc_told_rtt *told;

	PCC_NEEDS(monitor, 0);
	told = &monitor->told;
	if (!told->rtt)
		return 0;
	interval = pcc_interval_at(monitor, told->left);
	if (interval)
		pcc_slope_add(&interval->slope, (s64)PCC_DIV(told->left, 1000), told->rtt);
	told->rtt = 0;
	return 0;
}

/* Takes in the RTT of the newest packet. A radio or a host holds packets back and lets them go
 * at once. They are acknowledged at once, and each RTT but the last has a wait that is no queue's.
 * Linux answers such a burst packet by packet only where it begins: a line through these RTT
 * and the next burst's rises as a queue would, with little doubt. So the sample before does not
 * count if packets were acknowledged in less than half of the time that they take at their rate.
 * No queue is believed to drain faster (pcc_queue_growth). Their times of departure would not do:
 * a train has one time for all of its packets.
 */
PCC_CALL int pcc_take_rtt(struct pcc_monitor *monitor, const struct pcc_sample *sample)
{
	struct pcc_interval *interval;
	struct pcc_told_rtt *told;
	u64 left, paced = 0;

	PCC_NEEDS(monitor && sample, 0);
	if (!sample->rtt || sample->now < (u64)sample->rtt * 1000)
		return 0;
	told = &monitor->told;
	left = sample->now - (u64)sample->rtt * 1000;
	interval = pcc_interval_at(monitor, left);
	if (interval)
		paced = (u64)(sample->delivered - told->delivered) * interval->packet_time;
	if (left < told->left || 2 * (sample->now - told->at) >= paced)
		pcc_attribute_rtt(monitor);
	told->left = left;
	told->at = sample->now;
	told->rtt = sample->rtt;
	told->delivered = sample->delivered;
	return 0;
}

PCC_CALL int pcc_take_deliveries(struct pcc_interval *interval, const struct pcc_sample *sample,
				 u32 packets)
{
	PCC_NEEDS(interval && sample, 0);
	if (!packets)
		return 0;
	if (!interval->delivered)
		interval->first_ack = sample->now;
	interval->delivered += packets;
	if (sample->now <= interval->first_ack)
		interval->with_first += packets;
	interval->last_ack = sample->now;
	if (sample->app_limited)
		interval->app_limited += packets;
	return 0;
}

/* Later packets that must be settled until a lost one is found. TCP tells the most by which one was
 * ever late, which after a change of route may be hundreds. But TCP finds losses by time (RACK, RFC
 * 8985 6.2): once a packet that left a quarter of the RTT later arrived.
 */
PCC_PART u32 pcc_reordering(const struct pcc_sample *sample)
{
	u32 most = sample->in_flight / 4;

	if (most < MONITOR_OVERTAKEN)
		most = MONITOR_OVERTAKEN;
	return sample->reordering < most ? sample->reordering : most;
}

/* Deliveries come in the order of sending, from the packet at this place on. Marks are most likely
 * those of the newest packets.
 */
PCC_PART void pcc_settle_deliveries(struct pcc_monitor *monitor, const struct pcc_sample *sample,
				    u32 at, u32 delivered, u32 marks)
{
	struct pcc_interval *interval;
	u32 room, take, i;

	for (i = 0; i < MONITOR_SETTLED; i++) {
		if (monitor->settling >= monitor->count)
			break;
		interval = pcc_interval(monitor, monitor->settling);
		if (!pcc_reached(at, interval->first)) {
			/* Sent before the plan was made: nobody asks for these. */
			room = interval->first - at;
			take = delivered < room ? delivered : room;
			delivered -= take;
			at += take;
			if (!delivered)
				break;
		}
		room = ~0U;
		if (interval->to)
			room = pcc_reached(at, interval->end) ? 0 : interval->end - at;
		take = delivered < room ? delivered : room;
		pcc_take_deliveries(interval, sample, take);
		if (take && take == delivered) {
			interval->marked += marks;
			marks = 0;
		}
		delivered -= take;
		at += take;
		if (!interval->to || !pcc_reached(monitor->settled, interval->end))
			break;
		monitor->settling++;
	}
}

/* Losses are those of packets that so many others overtook, and are settled themselves. Packets
 * that are found lost together stood one behind the other: a time-out or a burst loses those of
 * several intervals. In each of these they count as one run. Packets from before the oldest
 * interval are nobody's.
 */
PCC_PART void pcc_settle_losses(struct pcc_monitor *monitor, const struct pcc_sample *sample,
				u32 lost)
{
	u32 end = monitor->settled - pcc_reordering(sample), first = end - lost, i, from, to;
	struct pcc_interval *interval;

	for (i = 0; i < MONITOR_INTERVALS; i++) {
		if (i >= monitor->count)
			break;
		interval = pcc_interval(monitor, i);
		from = pcc_reached(first, interval->first) ? first : interval->first;
		to = interval->to && pcc_reached(end, interval->end) ? interval->end : end;
		if (pcc_reached(from, to))
			continue;
		interval->lost += to - from;
		interval->bursts++;
	}
}

/* Takes in the packets that an acknowledgement settled. */
PCC_CALL int pcc_settle(struct pcc_monitor *monitor, const struct pcc_sample *sample)
{
	u32 settled, delivered, lost, marks, at;

	PCC_NEEDS(monitor && sample, 0);
	settled = sample->sent - sample->in_flight;
	/* TCP may cut a packet in two after it was counted: what is settled stays so. */
	if (!pcc_reached(settled, monitor->settled))
		settled = monitor->settled;
	delivered = sample->delivered - monitor->delivered;
	/* When TCP learns that packets are too large for the path it takes all of them for lost
	 * (tcp_simple_retransmit): that says nothing of the rate.
	 */
	lost = sample->packet < monitor->packet ? 0 : sample->lost - monitor->lost;
	marks = pcc_take_marks(&monitor->marks, sample, delivered, settled);
	if (lost || marks)
		monitor->lossless_from = sample->delivered;
	at = monitor->settled;
	monitor->settled = settled;
	monitor->delivered = sample->delivered;
	monitor->lost = sample->lost;
	monitor->packet = sample->packet;
	pcc_settle_deliveries(monitor, sample, at, delivered, marks);
	if (lost)
		pcc_settle_losses(monitor, sample, lost);
	return 0;
}

/* Opens an interval for the packets that leave from now on. */
PCC_CALL int pcc_open(struct pcc_monitor *monitor, const struct pcc_sample *sample,
		      const struct pcc_slot *slot, u64 length)
{
	struct pcc_interval *interval;
	u64 time;

	PCC_NEEDS(monitor && sample && slot, 0);
	interval = pcc_interval(monitor, monitor->count);
	*interval = (struct pcc_interval){ .length = length };
	interval->slot = *slot;
	time = n_to(n_mul(n_div(n_from(sample->packet), slot->rate), N_BILLION));
	interval->packet_time = time < ~0U ? time : ~0U;
	interval->from = sample->next_sent > sample->now ? sample->next_sent : sample->now;
	interval->bytes_from = sample->bytes_sent;
	interval->first = sample->sent;
	monitor->count++;
	monitor->open = 1;
	return 0;
}

/* Counts an acknowledgement for the open interval, and closes it if it has lasted long
 * enough; true if none is open. While there is no room for another one it lasts longer.
 */
PCC_CALL int pcc_close_if_due(struct pcc_monitor *monitor, const struct pcc_sample *sample,
			      u64 longest)
{
	struct pcc_interval *interval;
	u64 now;

	PCC_NEEDS(monitor && sample, 0);
	if (!monitor->open)
		return 1;
	interval = pcc_interval(monitor, monitor->count - 1);
	interval->acks++;
	interval->peer_limited += sample->peer_limited != 0;
	interval->window_limited |= sample->in_flight + 2 > sample->window || sample->blocked;
	now = sample->next_sent > sample->now ? sample->next_sent : sample->now;
	if (longest > interval->length)
		longest = interval->length;
	if (monitor->count >= MONITOR_INTERVALS || now < interval->from + longest)
		return 0;
	interval->to = now;
	interval->end = sample->sent;
	interval->bytes = sample->bytes_sent - interval->bytes_from;
	monitor->open = 0;
	return 1;
}

/* Whether the oldest interval is resolved: the fate of all its packets is known, and
 * such as were lost were found. Where nothing is in flight nothing more is to come.
 */
PCC_PART bool pcc_is_resolved(struct pcc_monitor *monitor, const struct pcc_sample *sample)
{
	struct pcc_interval *interval = pcc_interval(monitor, 0);

	if (!monitor->count || !interval->to || !pcc_reached(monitor->settled, interval->end))
		return false;
	return pcc_reached(monitor->settled - pcc_reordering(sample), interval->end) ||
	       !sample->in_flight;
}

PCC_PART void pcc_drop_oldest(struct pcc_monitor *monitor)
{
	monitor->oldest = (monitor->oldest + 1) & (MONITOR_INTERVALS - 1);
	monitor->count--;
	if (monitor->settling)
		monitor->settling--;
}

/* Starts afresh: packets already sent are judged in no interval. */
PCC_PART void pcc_realign(struct pcc_monitor *monitor)
{
	monitor->oldest = 0;
	monitor->count = 0;
	monitor->settling = 0;
	monitor->open = 0;
}

/* The results of an interval, without those that only the sender knows: rtt_base, previous. */
PCC_CALL int pcc_interval_report(const struct pcc_interval *interval, struct pcc_report *report)
{
	u32 packets, lost, limited;
	pcc_num packet, span;

	PCC_NEEDS(interval && report, 0);
	packets = interval->end - interval->first;
	lost = interval->lost < packets ? interval->lost : packets;
	report->started = interval->from;
	report->duration = n_seconds(interval->to - interval->from);
	report->target = interval->slot.rate;
	report->sent = n_from(interval->bytes);
	report->achieved = n_div(report->sent, n_max(report->duration, PCC_NANOSECOND));
	packet = n_div(report->sent, n_from(packets ? packets : 1));
	report->lost = n_mul(packet, n_from(lost));
	report->packets = packets;
	report->packets_lost = lost;
	report->loss_bursts = interval->bursts < lost ? interval->bursts : lost;
	report->packets_marked = interval->marked < packets ? interval->marked : packets;
	report->excess_loss = N_UNKNOWN;
	report->delivery_rate = N_UNKNOWN;
	if (interval->last_ack > interval->first_ack) {
		span = n_seconds(interval->last_ack - interval->first_ack);
		packet = n_mul(packet, n_from(interval->delivered - interval->with_first));
		report->delivery_rate = n_min(n_div(packet, span), report->achieved);
	}
	report->timed_out = 0;
	report->app_limited = 0;
	report->limited_by = PCC_BY_NETWORK;
	pcc_slope_report(&interval->slope, report);
	if (!n_less(report->achieved, n_mul(report->target, INTERVAL_ACHIEVED_SHARE)))
		return 0;
	/* Short of its target: who held it back? */
	limited = interval->delivered / INTERVAL_LIMITED_PART;
	if (interval->app_limited > limited) {
		report->app_limited = 1;
		report->limited_by = PCC_BY_APPLICATION;
	} else if (interval->peer_limited > interval->acks / INTERVAL_LIMITED_PART) {
		report->app_limited = 1;
		report->limited_by = PCC_BY_RECEIVER_WINDOW;
	} else if (!interval->window_limited) {
		report->limited_by = PCC_BY_HOST;
	}
	return 0;
}

#endif
