/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Ascent: climbs a utility that prices the queue, by continuous probing.
 * crates/core/src/control/ascent/mod.rs, term by term.
 *
 * start-up     r doubles each RTT, or follows trains, until it gains too little
 * probe        a pair of intervals at r(1 + e) and r(1 - e), in random order, half an RTT each
 * pair ended   level, growth, random loss and own loss of the pair are read
 *   all carried, no queue    C := C(1 + h), and h doubles from e up to step_max
 *   a queue, or own loss     C := what was carried, averaged by errors; h := 0
 * forecast     what an interval at another rate would report, after all that is on its way
 * move         r := where the utility of that report stops rising
 * price        then 3 % an RTT towards the rate that the mean queue's price asks for
 * rival        then not below a floor that grows as CUBIC's window, while a rival fills the queue
 * doubt        then not below r, while a level may be the path's
 * test         if r fell and the level did not: one pair at r/2
 *
 * C is what the bottleneck carries for us, h the headroom beyond it.
 */
#ifndef PCC_ASCENT_H
#define PCC_ASCENT_H

#include "state.h"

/* Unit: s. */
PCC_PART pcc_num pcc_path_rtt(const struct pcc_law *law)
{
	return n_max(law->path.rtt, PAIR_RESOLUTION);
}

/* Length of a probe. Unit: s. */
PCC_PART pcc_num pcc_probe_length(const struct pcc_law *law)
{
	pcc_num rtt = pcc_path_rtt(law), packets, length, clumps;

	packets = n_mul(law->parameters.interval_packets, law->path.packet);
	packets = n_div(packets, n_max(law->rate, N_ONE));
	length = n_min(n_mul(rtt, law->parameters.interval_rtts), ASCENT_LONG_ENOUGH);
	/* A radio delivers in clumps, which are longer than a wire's probe. */
	clumps = n_mul(N_TWO, law->probing.level.noise);
	clumps = n_min(clumps, rtt);
	rtt = n_max(rtt, n_min(n_mul(N_FOUR, rtt), ASCENT_SHORT));
	length = n_min(n_max(length, packets), n_max(rtt, n_seconds(INTERVAL_SHORTEST_TRIAL)));
	return n_max(length, clumps);
}

PCC_PART void pcc_probing_begin(struct pcc_law *law)
{
	struct pcc_probing *probing = &law->probing;

	pcc_level_above(&probing->level,
			n_seconds(law->path.rtt_ns > law->path.queue_ns
					  ? law->path.rtt_ns - law->path.queue_ns
					  : 0));
	probing->losses = (struct pcc_losses){ .random = N_ZERO };
	pcc_bottleneck_new(&probing->bottleneck, law->rate, law->path.queue);
	probing->share = (struct pcc_response){ .xx = N_ZERO };
	probing->last_rate = N_ZERO;
	probing->reading_at = N_UNKNOWN;
	probing->deviation = (struct pcc_deviation){ .theirs = N_UNKNOWN };
	probing->price = N_ZERO;
	probing->rival = (struct pcc_rival){ .crowded = N_ZERO };
	probing->max_delivery_rate = law->rate;
	probing->trial = 0;
	probing->has_second = 0;
	probing->has_first = 0;
	probing->oldest = 0;
	probing->on_their_way = 0;
}

/* The next probe: its slot is law->slot. */
PCC_CALL int pcc_next_probe(struct pcc_law *law)
{
	struct pcc_probing *probing;
	pcc_num length, step, rtts;
	bool high;

	PCC_NEEDS(law, 0);
	probing = &law->probing;
	length = pcc_probe_length(law);
	if (probing->has_second) {
		probing->has_second = 0;
		high = probing->second_high;
	} else {
		high = pcc_coin(&law->random);
		probing->pair_share = pcc_level_begin_pair(&probing->level, probing->trial);
		probing->has_second = 1;
		probing->second_high = !high;
	}
	law->slot.trial = probing->trial;
	probing->trial = (probing->trial + 1) & 0xff;
	step = high ? law->parameters.epsilon : n_neg(law->parameters.epsilon);
	step = n_mul(probing->pair_share, n_add(N_ONE, step));
	law->slot.rate = pcc_clamp(&law->path, n_mul(law->rate, step));
	pcc_launch(probing, law->slot.trial, law->slot.rate, length);
	rtts = n_div(length, pcc_path_rtt(law));
	law->slot.rtts_least = rtts;
	law->slot.rtts_most = rtts;
	law->slot.is_stretched = 0;
	return 0;
}

/* The result of a probe: whether it completes a pair, law->pair. */
PCC_CALL int pcc_resolve(struct pcc_law *law)
{
	struct pcc_probing *probing;
	u32 trial, place, after_increase = 1, i;

	PCC_NEEDS(law, 0);
	probing = &law->probing;
	trial = law->judged.trial;
	for (i = 0; i < ASCENT_MOST_LAUNCHED; i++) {
		if (!probing->on_their_way)
			break;
		place = probing->oldest & (ASCENT_MOST_LAUNCHED - 1);
		probing->oldest++;
		probing->on_their_way--;
		after_increase = probing->launched[place].after_increase;
		if (probing->launched[place].trial == trial)
			break;
	}
	if (!(trial & 1)) {
		probing->has_first = 1;
		probing->first_trial = trial;
		probing->first = law->report;
		return 0;
	}
	if (!probing->has_first)
		return 0;
	probing->has_first = 0;
	if (probing->first_trial + 1 != trial)
		return 0;
	pcc_pair_read(&law->pair, &probing->first, &law->report);
	law->pair.after_increase = after_increase;
	return 1;
}

/* A change of growth, no better known than from where on a queue grows at all: an empty
 * one stands as exactly as clocks go, and the first that did not would weigh nothing
 * against it.
 */
PCC_PART pcc_num pcc_at_best(pcc_num variance)
{
	return n_max(variance, n_square(PAIR_TELLING_GROWTH));
}

/* Growth that differs by dy, at rates dx apart in ln x. */
PCC_CALL int pcc_learn_share(struct pcc_probing *probing, pcc_num dx, pcc_num dy,
			     pcc_num variance)
{
	PCC_NEEDS(probing, 0);
	pcc_learn(&probing->share, dx, dy, pcc_at_best(variance));
	return 0;
}

/* Learns how the queue's growth answers to our rate. */
PCC_CALL int pcc_learn_growth(struct pcc_law *law)
{
	struct pcc_probing *probing;
	struct pcc_pair *pair;

	PCC_NEEDS(law, 0);
	probing = &law->probing;
	pair = &law->pair;
	if (!n_known(pair->growth.mean)) {
		probing->last_rate = N_ZERO;
		/* Whatever it is, nothing is known of it. */
		pair->growth.mean = N_ZERO;
		pair->growth.variance = N_ONE;
		return 0;
	}
	if (n_known(pair->growth_step.mean) && n_above(pair->step, N_ZERO))
		pcc_learn_share(probing, pair->step, pair->growth_step.mean,
				pair->growth_step.variance);
	if (!n_is_zero(probing->last_rate))
		pcc_learn_share(probing, n_log(n_div(pair->rate, probing->last_rate)),
				n_sub(pair->growth.mean, probing->last_growth.mean),
				n_add(pair->growth.variance,
				      probing->last_growth.variance));
	probing->last_rate = pair->rate;
	probing->last_growth = pair->growth;
	return 0;
}

/* The queue that the next rate will find, after all that is on its way. */
PCC_CALL int pcc_foresee(struct pcc_law *law)
{
	struct pcc_forecast *forecast;
	struct pcc_probing *probing;
	struct pcc_launched *sent;
	pcc_num horizon;
	u32 i;

	PCC_NEEDS(law, 0);
	forecast = &law->forecast;
	probing = &law->probing;
	horizon = n_mul(law->parameters.horizon_rtts, pcc_path_rtt(law));
	forecast->capacity = probing->bottleneck.capacity;
	forecast->half_buffer = probing->bottleneck.half_buffer;
	forecast->base = pcc_level_base(&probing->level);
	forecast->queue = probing->level.queue;
	forecast->horizon = n_max(horizon, law->pair.seconds);
	forecast->random =
		pcc_priced_loss(&probing->losses, pcc_level_fullness(&probing->level));
	forecast->marked = pcc_priced_marks(&probing->losses, law->pair.marked);
	forecast->stands = 0;
	forecast->deviation = probing->deviation.mean;
	forecast->negligible_rate = n_div(n_mul(ASCENT_QUIET, law->path.packet), pcc_path_rtt(law));
	for (i = 0; i < ASCENT_MOST_LAUNCHED; i++) {
		if (i >= probing->on_their_way)
			break;
		sent = &probing->launched[(probing->oldest + i) & (ASCENT_MOST_LAUNCHED - 1)];
		forecast->queue =
			pcc_queue_after(forecast, forecast->queue, sent->rate, sent->seconds);
	}
	return 0;
}

/* Among how many equal senders the queue is at the most. */
PCC_CALL pcc_num pcc_senders(const struct pcc_response *share)
{
	PCC_NEEDS(share, ASCENT_CROWD);
	return n_clamp(n_div(ASCENT_DOUBTFUL, pcc_at_least(share)), ASCENT_DOUBTFUL, ASCENT_CROWD);
}

/* Whether the queue is longer than so many of our kind would keep it. */
PCC_PART int pcc_is_long(struct pcc_law *law, const struct pcc_program *program)
{
	struct pcc_forecast *forecast = &law->forecast;
	pcc_num senders = pcc_senders(&law->probing.share);

	forecast->queue = law->probing.level.queue;
	forecast->random = N_ZERO;
	forecast->marked = N_ZERO;
	return pcc_wants_less(forecast, program, n_div(law->probing.max_delivery_rate, senders));
}

/* The best rate, with a floor under it where somebody fills the queue. The floor holds as far as the
 * utility bears the loss: were the queue free, would it want that much?
 */
PCC_CALL pcc_num pcc_above_floor(struct pcc_law *law, const struct pcc_program *program,
				 pcc_num best)
{
	struct pcc_forecast *forecast;
	struct pcc_rival_sample *sample;
	pcc_num floor, random, marked;

	PCC_NEEDS(law, best);
	PCC_NEEDS(program, best);
	forecast = &law->forecast;
	random = forecast->random;
	marked = forecast->marked;
	sample = &law->rival_sample;
	sample->is_long = pcc_is_long(law, program);
	sample->shared = law->pair.shared;
	sample->since = law->pair.since;
	sample->rtt = pcc_path_rtt(law);
	sample->queue = law->probing.level.queue;
	sample->lost = n_above(law->pair.loss.mean, N_ZERO) &&
		     n_above(random, n_div(law->probing.losses.random, N_TWO));
	sample->window = n_div(n_mul(law->rate, pcc_path_rtt(law)), law->path.packet);
	floor = pcc_rival_update(&law->probing.rival, sample);
	if (!n_known(floor))
		return best;
	floor = n_div(n_mul(floor, law->path.packet), pcc_path_rtt(law));
	if (!n_above(floor, best))
		return best;
	forecast->capacity = FORECAST_ENDLESS;
	forecast->half_buffer = FORECAST_ENDLESS;
	forecast->queue = N_ZERO;
	forecast->random = random;
	forecast->marked = marked;
	return pcc_wants_less(forecast, program, floor) ? best : floor;
}

/* How far a pair may go beyond what was carried. It takes several RTT where few have no
 * packets enough, and who sends so little must not climb the slower for it: as far as
 * pairs of one RTT, each sent and answered for in turn, would have gone in that time, up to
 * a doubling.
 */
PCC_CALL int pcc_set_steps(struct pcc_law *law)
{
	pcc_num pairs, one;

	PCC_NEEDS(law, 0);
	pairs = n_div(law->pair.seconds_asked, pcc_path_rtt(law));
	pairs = n_div(n_add(n_max(pairs, N_ONE), N_ONE), N_TWO);
	one = n_add(N_ONE, law->parameters.step_max);
	law->pair.pairs = pairs;
	law->pair.largest_step = n_min(n_pow(one, pairs), n_max(one, ASCENT_DOUBLING));
	law->pair.largest_step = n_sub(law->pair.largest_step, N_ONE);
	return 0;
}

/* Takes in a pair: whether it says how long the queue is. */
PCC_CALL int pcc_take_pair(struct pcc_law *law)
{
	struct pcc_probing *probing;
	struct pcc_pair *pair;
	pcc_num growth;
	u32 i;

	PCC_NEEDS(law, 0);
	probing = &law->probing;
	pair = &law->pair;
	pcc_set_steps(law);
	pcc_learn_growth(law);
	law->report.excess_loss = pcc_losses_update(&probing->losses, pair,
						    pcc_level_fullness(&probing->level));
	pair->shared = n_less(pcc_at_most(&probing->share), ASCENT_ALONE);
	growth = pcc_wiener(pair->growth.mean, pair->growth.variance);
	if (!pcc_level_read(&probing->level, pair, growth))
		return 0;
	if (pcc_level_tested(&probing->level, pair, probing->first_trial,
			     probing->losses.random))
		return 0;
	pair->since = N_ZERO;
	if (n_known(probing->reading_at))
		pair->since = n_sub(pair->started, probing->reading_at);
	probing->reading_at = pair->started;
	if (!pcc_bottleneck_update(&probing->bottleneck, pair, &probing->level,
				   law->report.excess_loss,
				   n_sub(pair->loss.mean, probing->losses.random))) {
		if (pcc_bottleneck_idle(&probing->bottleneck, pair, law->parameters.epsilon))
			for (i = 0; i < ASCENT_MOST_LAUNCHED; i++)
				probing->launched[i].after_increase = 0;
	}
	pcc_bottleneck_forget(&probing->bottleneck, pair->rate);
	return 1;
}

/* What the pair says of others. */
PCC_CALL int pcc_note_others(struct pcc_law *law)
{
	struct pcc_probing *probing;
	pcc_num carried, ours;
	bool shared;

	PCC_NEEDS(law, 0);
	probing = &law->probing;
	carried = n_min(law->pair.rate, probing->bottleneck.capacity);
	ours = pcc_at_most(&probing->share);
	shared = law->pair.shared && n_above(pcc_at_least(&probing->share), N_ZERO) &&
		 n_above(probing->level.queue, N_ZERO);
	pcc_deviation_throughput(&probing->deviation, carried, ours, shared);
	pcc_deviation_learn(&probing->deviation,
			    n_sub(law->pair.least_rtt, pcc_level_base(&probing->level)),
			    law->pair.since, carried, ours);
	return 0;
}

/* enum pcc_verdict. */
PCC_PART int pcc_on_probe(struct pcc_law *law, const struct pcc_program *program)
{
	const struct pcc_parameters *parameters = &law->parameters;
	struct pcc_probing *probing = &law->probing;
	pcc_num carried, best, dear;

	if (law->report.app_limited) {
		pcc_interrupt(probing);
		return PCC_WAIT;
	}
	law->forecast.probe_amplitude = n_mul(parameters->epsilon, pcc_probe_length(law));
	if (!pcc_resolve(law) || !pcc_take_pair(law))
		return PCC_WAIT;
	/* Another utility, later, begins to learn then. */
	if (program->loads & (1U << PCC_SIGMA))
		pcc_note_others(law);
	pcc_foresee(law);
	carried = probing->bottleneck.capacity;
	best = pcc_climb(&law->forecast, program,
			 n_mul(carried, n_sub(N_ONE, parameters->back_off_max)),
			 n_mul(carried, n_add(N_ONE, law->pair.largest_step)));
	probing->price = pcc_price_follow(probing->price, &probing->level);
	dear = pcc_price_factor(probing->price, &probing->level, &law->forecast, program);
	best = n_mul(best, dear);
	if (!n_above(pcc_at_least(&probing->share), ASCENT_ALONE) && !probing->rival.has_floor)
		pcc_level_request_test(&probing->level, &law->pair);
	probing->max_delivery_rate = n_max(probing->max_delivery_rate, n_min(carried, law->pair.rate));
	law->rate = pcc_clamp(&law->path, pcc_above_floor(law, program, best));
	return PCC_WAIT;
}

/* The path stalled, or lost more than the utility bears: go on from this rate. */
PCC_PART void pcc_probing_back_off(struct pcc_law *law, pcc_num rate)
{
	law->rate = rate;
	pcc_forget_pairs(&law->probing);
	law->probing.bottleneck.capacity = law->rate;
	law->probing.bottleneck.headroom = N_ZERO;
}

#endif
