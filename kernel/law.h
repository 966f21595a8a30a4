/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The interface of a control law: crates/core/src/control/mod.rs. */
#ifndef PCC_LAW_H
#define PCC_LAW_H

#include "report.h"

/* An interval that is not judged. */
#define PCC_FILLER (-1)

/* The plan of one monitor interval. */
struct pcc_slot {
	/* The rate to send at. Unit: byte/s. */
	pcc_num rate;
	/* Its length in RTT, shortest and longest; drawn between. */
	pcc_num rtts_least;
	pcc_num rtts_most;
	/* Which of the law's questions it answers, 0 to 255, or PCC_FILLER. */
	s32 trial;
	/* Whether it lasts as long as MONITOR_LEAST_PACKETS take, if that is longer. */
	u32 is_stretched;
};

/* control/path.rs, Path. Rates in byte/s. */
struct pcc_path {
	/* Smoothed RTT, and by how much it is above the least. Unit: ns. */
	u64 rtt_ns;
	u64 queue_ns;
	/* The same in s. */
	pcc_num rtt;
	pcc_num queue;
	/* Size of a full packet. Unit: byte. */
	pcc_num packet;
	pcc_num floor;
	pcc_num initial;
	pcc_num ceiling;
	pcc_num delivery;
};

/* The outcome of a report. */
enum pcc_verdict {
	PCC_WAIT,    /* nothing changes, the plan goes on */
	PCC_REALIGN, /* drop the running intervals, begin a new one at once */
};

/* Parameters of Ascent, as the core's `control::ascent::Config` has them. */
struct pcc_parameters {
	/* Probes are sent at r(1 ± epsilon). */
	pcc_num epsilon;
	/* The largest steps up and down, as a share of the rate. */
	pcc_num step_max;
	pcc_num back_off_max;
	/* Length of a probe in RTT; it has at least the time of so many packets,
	 * within an RTT, or within the lesser of four RTT and ASCENT_SHORT.
	 */
	pcc_num interval_rtts;
	pcc_num interval_packets;
	/* How far ahead the queue is foreseen. Unit: RTT. */
	pcc_num horizon_rtts;
};

PCC_PART void pcc_default_parameters(struct pcc_parameters *parameters)
{
	parameters->epsilon = ASCENT_EPSILON;
	parameters->step_max = ASCENT_STEP_MAX;
	parameters->back_off_max = ASCENT_BACK_OFF_MAX;
	parameters->interval_rtts = ASCENT_INTERVAL_RTTS;
	parameters->interval_packets = ASCENT_INTERVAL_PACKETS;
	parameters->horizon_rtts = ASCENT_HORIZON_RTTS;
}

PCC_PART pcc_num pcc_rate_within(pcc_num rate, pcc_num least, pcc_num most)
{
	return n_min(n_max(n_max(rate, N_ZERO), least), most);
}

PCC_PART pcc_num pcc_clamp(const struct pcc_path *path, pcc_num rate)
{
	return pcc_rate_within(rate, path->floor, path->ceiling);
}

/* control/path.rs, within_reach() */
PCC_PART pcc_num pcc_within_reach(const struct pcc_path *path, pcc_num rate)
{
	pcc_num reach = n_max(n_mul(path->delivery, PATH_LIMITED_HEADROOM), path->initial);

	return pcc_clamp(path, n_min(rate, reach));
}

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as in the core. */
PCC_PART u64 pcc_random(u64 *state)
{
	u64 z;

	*state += 0x9e3779b97f4a7c15ULL;
	z = *state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

PCC_PART bool pcc_coin(u64 *state)
{
	return pcc_random(state) >> 63;
}

#endif
