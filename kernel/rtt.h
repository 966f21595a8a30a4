/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Round-trip time of the path: smoothed, variation, minimum. crates/core/src/rtt.rs. */
#ifndef PCC_RTT_H
#define PCC_RTT_H

#include "constants.h"
#include "platform.h"

/* The delay of a lone packet's acknowledgement in TCP: Linux takes as much (TCP_DELACK_MAX), others
 * may take more (RFC 9293 3.8.6.3) and seldom do.
 */
#define RTT_LONE_ACK_DELAY 200000000ULL

/* All in ns; 0 is not known. */
struct pcc_rtt {
	u64 smoothed;
	u64 variation;
	/* Those of rtt.rs, RttEstimator. */
	u64 least;
	u64 least_before;
	u64 half_started;
	/* Those of rtt.rs, Spread. */
	u64 spread;
	u64 spread_deviation;
	u64 spread_updated;
	u64 floor;
	u64 floor_before;
	u64 window_began;
};

/* `from` on the way to `to` by the share part/whole, which is no more than a half. */
PCC_PART u64 pcc_rtt_moved(u64 from, u64 to, u64 part)
{
	u64 apart = from < to ? to - from : from - to;

	/* Both are below 2^27, and so is the time: 100 ms, and half of three seconds by 16. */
	apart = PCC_DIV(apart * (part >> 4), RTT_SPREAD_MEMORY >> 4);
	return from < to ? from + apart : from - apart;
}

PCC_PART void pcc_rtt_spread_update(struct pcc_rtt *rtt, u64 now, u64 sample)
{
	u64 window = rtt->smoothed ? rtt->smoothed : sample, least, above, passed;

	if (window < RTT_SPREAD_WINDOW)
		window = RTT_SPREAD_WINDOW;
	if (now > rtt->window_began + window) {
		rtt->floor_before = rtt->floor;
		rtt->floor = 0;
		rtt->window_began = now;
	}
	if (!rtt->floor || sample < rtt->floor)
		rtt->floor = sample;
	least = rtt->floor_before && rtt->floor_before < rtt->floor ? rtt->floor_before
								    : rtt->floor;
	above = sample - least < RTT_MOST_SPREAD ? sample - least : RTT_MOST_SPREAD;
	passed = now - rtt->spread_updated;
	if (passed > RTT_SPREAD_MEMORY / 2)
		passed = RTT_SPREAD_MEMORY / 2;
	rtt->spread_updated = now;
	rtt->spread = pcc_rtt_moved(rtt->spread, above, passed);
	above = above > rtt->spread ? above - rtt->spread : rtt->spread - above;
	rtt->spread_deviation = pcc_rtt_moved(rtt->spread_deviation, above, passed);
}

/* rtt.rs, RttEstimator::spread */
PCC_PART u64 pcc_rtt_spread(const struct pcc_rtt *rtt)
{
	u64 spread = rtt->spread + 2 * rtt->spread_deviation;

	return spread < RTT_MOST_SPREAD ? spread : RTT_MOST_SPREAD;
}

PCC_PART void pcc_rtt_update(struct pcc_rtt *rtt, u64 now, u64 sample)
{
	u64 apart;

	pcc_rtt_spread_update(rtt, now, sample);
	if (!rtt->smoothed) {
		rtt->smoothed = sample;
		rtt->variation = sample / 2;
	} else {
		apart = rtt->smoothed > sample ? rtt->smoothed - sample : sample - rtt->smoothed;
		rtt->variation = (3 * rtt->variation + apart) / 4;
		rtt->smoothed = (7 * rtt->smoothed + sample) / 8;
	}
	if (now > rtt->half_started + RTT_HALF_WINDOW) {
		/* After a pause both halves are over. */
		rtt->least_before = now > rtt->half_started + 2 * RTT_HALF_WINDOW ? 0 : rtt->least;
		rtt->least = 0;
		rtt->half_started = now;
	}
	if (!rtt->least || sample < rtt->least)
		rtt->least = sample;
}

PCC_PART u64 pcc_rtt_smoothed(const struct pcc_rtt *rtt)
{
	return rtt->smoothed ? rtt->smoothed : RTT_ASSUMED;
}

/* Smallest RTT of the last 5 to 10 seconds; 0 before the first sample. */
PCC_PART u64 pcc_rtt_least(const struct pcc_rtt *rtt)
{
	return rtt->least_before && rtt->least_before < rtt->least ? rtt->least_before
								    : rtt->least;
}

/* Probe time-out (RFC 9002 6.2.1). */
PCC_PART u64 pcc_rtt_pto(const struct pcc_rtt *rtt)
{
	u64 variation = 4 * (rtt->smoothed ? rtt->variation : RTT_ASSUMED / 2);

	if (variation < 1000000)
		variation = 1000000;
	return pcc_rtt_smoothed(rtt) + variation + RTT_MOST_ACK_DELAY;
}

/* How long to wait for an acknowledgement of so many packets before the path counts as silent:
 * four RTT (NSDI 2018), and until a transport has asked twice. With a lone one the peer may
 * wait too, for another or for something of its own to send.
 */
PCC_PART u64 pcc_rtt_silence(const struct pcc_rtt *rtt, u32 packets)
{
	u64 rtts = 4 * pcc_rtt_smoothed(rtt), asked = 2 * pcc_rtt_pto(rtt);

	return (rtts > asked ? rtts : asked) + (packets == 1 ? RTT_LONE_ACK_DELAY : 0);
}

#endif
