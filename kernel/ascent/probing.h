/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What is known of the path while it is probed, and the probes on their way.
 * crates/core/src/control/ascent/probing.rs, `Probing`.
 */
#ifndef PCC_PROBING_H
#define PCC_PROBING_H

#include "../monitor.h"
#include "deviation.h"
#include "forecast.h"
#include "loss.h"
#include "price.h"
#include "rival.h"

/* Probes on their way at the most: twice as many as the monitor holds intervals, since those
 * that were short of data are not missed until a later one comes.
 */
#define ASCENT_MOST_LAUNCHED (2 * MONITOR_INTERVALS)

/* A probe on its way. */
struct pcc_launched {
	pcc_num rate;	 /* byte/s */
	pcc_num seconds; /* how long it is meant to last */
	u32 trial;
	/* Whether it left since more was tried for the last time. */
	u32 after_increase;
};

/* What is known of the path, and the probes on their way. */
struct pcc_probing {
	struct pcc_level level;
	struct pcc_losses losses;
	struct pcc_bottleneck bottleneck;
	/* How the queue's growth answers to our rate, and the pair before: its
	 * rate, 0 if there was none, and its growth.
	 */
	struct pcc_response share;
	pcc_num last_rate;
	struct pcc_estimate last_growth;
	/* When the latest pair was sent that told of the queue; NaN after a pause. */
	pcc_num reading_at;
	struct pcc_deviation deviation;
	/* The mean of the queueing delay. Unit: s. */
	pcc_num price;
	struct pcc_rival rival;
	/* The most that was ever carried. */
	pcc_num max_delivery_rate;
	/* The pair's share of the rate. */
	pcc_num pair_share;
	/* Number of the next probe, modulo 256; even ones begin a pair. */
	u32 trial;
	/* The second probe of a pair begun, and whether it is the faster one. */
	u32 has_second;
	u32 second_high;
	/* The first result of a pair. */
	u32 has_first;
	u32 first_trial;
	/* The oldest one on its way, and how many there are. */
	u32 oldest;
	u32 on_their_way;
	u32 reserved;
	struct pcc_launched launched[ASCENT_MOST_LAUNCHED];
	struct pcc_report first;
};

/* What the first probe of a pair told is no half of one any more, and between a pair before
 * and one after more changes than the rate.
 */
PCC_PART void pcc_forget_first(struct pcc_probing *probing)
{
	probing->has_first = 0;
	probing->last_rate = N_ZERO;
	probing->level.doubt = PCC_NO_DOUBT;
}

/* There was nothing to send: of that time nothing is known, and a queue may have become any.
 * Of a path that fell silent that is not so: we sent, and what it did unforeseen is how far
 * readings are off.
 */
PCC_PART void pcc_interrupt(struct pcc_probing *probing)
{
	pcc_forget_first(probing);
	pcc_level_interrupt(&probing->level);
	pcc_scatter_interrupt(&probing->bottleneck.scatter);
	probing->reading_at = N_UNKNOWN;
}

/* Begins a pair anew; what was on its way is not known any more. */
PCC_PART void pcc_forget_pairs(struct pcc_probing *probing)
{
	probing->trial = (probing->trial + 2) & 0xfe;
	probing->has_second = 0;
	probing->on_their_way = 0;
	pcc_forget_first(probing);
}

PCC_PART void pcc_launch(struct pcc_probing *probing, u32 trial, pcc_num rate, pcc_num seconds)
{
	struct pcc_launched *launched;
	u32 place;

	if (probing->on_their_way >= ASCENT_MOST_LAUNCHED) {
		probing->oldest++;
		probing->on_their_way--;
	}
	place = (probing->oldest + probing->on_their_way) & (ASCENT_MOST_LAUNCHED - 1);
	launched = &probing->launched[place];
	launched->rate = rate;
	launched->seconds = seconds;
	launched->trial = trial;
	launched->after_increase = 1;
	probing->on_their_way++;
}

#endif
