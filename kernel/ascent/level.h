/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The level of the queue: the RTT above that of the empty path. The base RTT is the least RTT
 * seen, and what a test added. If the rate fell and the level did not, one pair is sent at half
 * of the rate: a queue falls, or rises where somebody else fills it. A level that stays is the
 * path's from then on, until a reading is certainly below it. It is not taken for the path's
 * while it moves.
 * crates/core/src/control/ascent/level.rs.
 */
#ifndef PCC_LEVEL_H
#define PCC_LEVEL_H

#include "pair.h"

enum pcc_doubt_of_level {
	PCC_NO_DOUBT,
	PCC_TEST_WANTED,  /* the next pair shall be a test */
	PCC_TEST_RUNNING, /* the pair that begins with the probe `testing` is one */
};

/* All in seconds. */
struct pcc_level {
	/* The least RTT, and what a test found to be the path's own beyond it. */
	pcc_num least;
	pcc_num base_offset;
	/* Mean absolute difference of a reading from what was to be expected. */
	pcc_num noise;
	/* So many of those are known, as far as it matters. */
	pcc_num differences;
	/* The last reading, and its time, NaN where the next one does not follow it: after a
	 * pause a queue may be any, and that tells nothing of how far readings are off.
	 */
	pcc_num last;
	pcc_num last_at;
	/* The longest of late. */
	pcc_num longest;
	/* The rate and the level that the present ones are compared with. */
	pcc_num reference_rate;
	pcc_num reference_level;
	/* The level that is or will be tested, and when the latest test was sent. */
	pcc_num doubted;
	pcc_num tested_at;
	/* The latest reading: as far as it stands out of the noise, and by how
	 * much readings are off, two errors.
	 */
	pcc_num queue;
	pcc_num queue_noise;
	u32 doubt; /* enum pcc_doubt_of_level */
	u32 testing;
};

/* The queue above a path of this RTT. */
PCC_PART void pcc_level_above(struct pcc_level *level, pcc_num least)
{
	*level = (struct pcc_level){
		.least = least,
		.last_at = N_UNKNOWN,
	};
}

/* The next reading does not follow the latest one. */
PCC_PART void pcc_level_interrupt(struct pcc_level *level)
{
	level->last_at = N_UNKNOWN;
}

/* RTT of the path without a queue. */
PCC_PART pcc_num pcc_level_base(const struct pcc_level *level)
{
	return n_add(level->least, level->base_offset);
}

/* The level as it was read, noise and all. Unit: s. */
PCC_PART pcc_num pcc_level_raw(const struct pcc_level *level)
{
	return n_not_negative(n_sub(level->last, level->base_offset));
}

/* How full the longest queue of late is, above 0 and below 1; half where neither is told from an
 * empty one. Counted from the least RTT, since a queue that others keep full stands in a test,
 * and would be the path's.
 */
PCC_PART pcc_num pcc_level_fullness(const struct pcc_level *level)
{
	pcc_num empty = n_min(LEVEL_EMPTY, pcc_level_base(level));

	return n_div(n_add(level->last, empty),
		     n_add(level->longest, n_mul(N_TWO, empty)));
}

/* A pair begins with this probe: the share of the rate to send it at. */
PCC_PART pcc_num pcc_level_begin_pair(struct pcc_level *level, u32 probe)
{
	if (level->doubt != PCC_TEST_WANTED)
		return N_ONE;
	level->doubt = PCC_TEST_RUNNING;
	level->testing = probe;
	return N_HALF;
}

/* Levels below this hold us back as little as no queue does. What holds us back must be
 * tested, or a path that becomes longer by less would be a queue for ever.
 */
PCC_PART pcc_num pcc_level_negligible(const struct pcc_pair *pair)
{
	pcc_num packets = n_mul(LEVEL_TELLING_PACKETS, n_div(pair->packet, pair->rate));

	return n_min(packets, LEVEL_TELLING);
}

/* How far it may be noise that a queue stands, 0 to 1: on a path whose readings are off by more
 * than hosts and wires make them, and nothing on others.
 */
PCC_PART pcc_num pcc_level_noisy(const struct pcc_level *level)
{
	pcc_num noise = n_square(level->queue_noise);

	if (!n_above(level->queue_noise, LEVEL_NOISY))
		return N_ZERO;
	return n_div(noise, n_add(noise, n_square(level->queue)));
}

/* Asks for a test if the rate fell and the level, if it is not nothing, did not. */
PCC_CALL int pcc_level_request_test(struct pcc_level *level, const struct pcc_pair *pair)
{
	pcc_num now;

	PCC_NEEDS(level, 0);
	PCC_NEEDS(pair, 0);
	now = pcc_level_raw(level);
	if (n_less(now, n_mul(LEVEL_STILL_THERE, level->reference_level)) ||
	    n_less(now, pcc_level_negligible(pair)) ||
	    n_above(pair->rate, level->reference_rate)) {
		level->reference_rate = pair->rate;
		level->reference_level = now;
	} else if (n_less(pair->rate, n_mul(LEVEL_SUSPICIOUS_FALL, level->reference_rate)) &&
		   level->doubt == PCC_NO_DOUBT &&
		   n_above(pair->started, n_add(level->tested_at, LEVEL_REST))) {
		level->doubt = PCC_TEST_WANTED;
		level->doubted = now;
	}
	return 0;
}

PCC_PART pcc_num pcc_moved(pcc_num from, pcc_num to, pcc_num weight)
{
	return n_add(from, n_mul(weight, n_sub(to, from)));
}

/* Reads the level at the end of a pair through which the queue grew so fast. False if
 * the pair saw no RTT.
 */
PCC_CALL int pcc_level_read(struct pcc_level *level, const struct pcc_pair *pair, pcc_num growth)
{
	pcc_num above, unexpected;

	PCC_NEEDS(level, 0);
	PCC_NEEDS(pair, 0);
	if (!n_known(pair->least_rtt))
		return 0;
	level->least = n_min(level->least, n_min(pair->first_least_rtt, pair->least_rtt));
	/* The least of an interval through which the queue grew was at its beginning. */
	above = n_mul(n_not_negative(growth), pair->duration);
	above = n_not_negative(n_add(n_sub(pair->least_rtt, level->least), above));
	if (n_known(level->last_at)) {
		unexpected = n_mul(growth, n_sub(pair->started, level->last_at));
		unexpected = n_abs(n_sub(n_sub(above, level->last), unexpected));
		unexpected = n_max(unexpected, pair->residual);
		/* As long as there are few, each counts alike: who began with none for their
		 * mean would be too sure of the first.
		 */
		level->differences = n_min(n_add(level->differences, N_ONE), n_div(N_ONE, PAIR_WEIGHT));
		level->noise = pcc_moved(level->noise, unexpected,
					 n_div(N_ONE, level->differences));
	}
	level->last = above;
	level->longest = n_max(n_mul(LEVEL_FORGETTING, level->longest), above);
	level->last_at = pair->started;
	level->queue_noise = n_mul(N_TWO, level->noise);
	/* What the level is certainly below was not the path's. */
	level->base_offset = n_min(level->base_offset, n_add(above, level->queue_noise));
	level->queue = pcc_wiener(n_not_negative(n_sub(above, level->base_offset)),
				  n_square(level->queue_noise));
	return 1;
}

/* control/ascent/level.rs, Level::on_tested */
PCC_CALL int pcc_level_tested(struct pcc_level *level, const struct pcc_pair *pair, u32 probe,
			      pcc_num random_loss)
{
	pcc_num before, after;
	int overflows;

	PCC_NEEDS(level, 0);
	PCC_NEEDS(pair, 0);
	if (level->doubt != PCC_TEST_RUNNING)
		return 0;
	if (level->testing != probe) {
		/* One that left later: of the test's own nothing was heard. */
		if ((u8)(probe - level->testing) < 127)
			level->doubt = PCC_NO_DOUBT;
		return 0;
	}
	level->doubt = PCC_NO_DOUBT;
	level->tested_at = pair->started;
	before = level->doubted;
	after = n_known(pair->least_rtt) ? n_sub(pair->least_rtt, pcc_level_base(level)) : before;
	overflows = n_above(random_loss, LEVEL_OVERFLOWS) &&
		    n_less(before, n_mul(LEVEL_TELLABLE, level->noise));
	if (overflows || n_above(n_abs(n_sub(before, after)),
				 n_max(n_mul(LEVEL_CERTAIN, level->noise), PAIR_RESOLUTION))) {
		level->reference_rate = n_mul(N_TWO, pair->rate);
		level->reference_level = n_not_negative(after);
	} else if (!n_less(pair->rate, n_mul(INTERVAL_ACHIEVED_SHARE, pair->target))) {
		/* Where less was sent, a window held the sender back, and a window keeps its
		 * queue at any rate.
		 */
		level->base_offset = n_add(level->base_offset, before);
		level->reference_rate = pair->rate;
		level->reference_level = N_ZERO;
	}
	return 1;
}

#endif
