/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What an interval at another rate would report, and the rate at which the utility
 * stops rising. crates/core/src/control/ascent/forecast.rs.
 */
#ifndef PCC_FORECAST_H
#define PCC_FORECAST_H

#include "../fair.h"
#include "../utility.h"
#include "bottleneck.h"

/* Carries everything. */
#define FORECAST_ENDLESS 0x7fdfffffffffffffULL

/* The path as it is foreseen to be when the next rate acts. Times in s, rates in
 * byte/s.
 */
struct pcc_forecast {
	/* What the bottleneck carries for us. */
	pcc_num capacity;
	/* Half of the queueing delay at which packets are lost. */
	pcc_num half_buffer;
	/* RTT without a queue. */
	pcc_num base;
	/* Queueing delay when the next rate begins to act, after all that is on its way. */
	pcc_num queue;
	/* How long the next rate acts before what comes of it is known. */
	pcc_num horizon;
	/* By how much the probes let the queue swing. */
	pcc_num probe_amplitude;
	/* Loss rate, and share of marked packets, that may be somebody's: they have a price. */
	pcc_num random;
	pcc_num marked;
	/* By how much the RTT deviates, whatever we do. */
	pcc_num deviation;
	/* Who sends no more than this is in nobody's way: to him no RTT deviates, or
	 * he would never hear that the others are gone.
	 */
	pcc_num negligible_rate;
	/* The queue stays as long as it is, whatever we do. */
	u32 stands;
	u32 reserved;
	/* Of what is evaluated: pcc_room, and the deviation behind the queue of the report. */
	pcc_num room;
	pcc_num varied;
	/* What to evaluate, and with what. */
	struct pcc_report report;
	struct pcc_machine machine;
};

/* s/s. */
PCC_CALL pcc_num pcc_growth_at(const struct pcc_forecast *forecast, pcc_num rate)
{
	PCC_NEEDS(forecast, N_ZERO);
	if (forecast->stands)
		return N_ZERO;
	return n_sub(n_div(rate, forecast->capacity), N_ONE);
}

/* The queue after so many seconds at this rate. */
PCC_CALL pcc_num pcc_queue_after(const struct pcc_forecast *forecast, pcc_num queue, pcc_num rate,
				 pcc_num seconds)
{
	PCC_NEEDS(forecast, N_ZERO);
	queue = n_add(queue, n_mul(pcc_growth_at(forecast, rate), seconds));
	return n_not_negative(queue);
}

/* control/ascent/forecast.rs, Forecast::room */
PCC_PART pcc_num pcc_room(const struct pcc_forecast *forecast)
{
	return n_div(n_not_negative(n_sub(forecast->half_buffer, forecast->probe_amplitude)),
		     forecast->horizon);
}

/* What the reports at all rates behind any queue have in common. */
PCC_CALL int pcc_foresee_path(struct pcc_forecast *forecast)
{
	struct pcc_report *report;

	PCC_NEEDS(forecast, 0);
	report = &forecast->report;
	report->started = 0;
	report->duration = n_whole_nanoseconds(forecast->horizon);
	report->sent = FORECAST_SENT;
	report->delivery_rate = N_UNKNOWN;
	report->rtt_base = n_whole_nanoseconds(forecast->base);
	report->rtt_gradient_error = N_ZERO;
	report->rtt_span = report->duration;
	report->rtt_pause = N_ZERO;
	report->rtt_residual = N_ZERO;
	report->packets = FORECAST_PACKETS;
	report->packets_marked = n_to(n_mul(forecast->marked, n_from(FORECAST_PACKETS)));
	report->rtt_samples = FORECAST_PACKETS;
	report->previous = (struct pcc_previous){ N_UNKNOWN, N_UNKNOWN, N_UNKNOWN, N_UNKNOWN };
	forecast->room = pcc_room(forecast);
	return 0;
}

/* And what those behind this one have. */
PCC_CALL int pcc_foresee_queue(struct pcc_forecast *forecast, pcc_num queue)
{
	PCC_NEEDS(forecast, 0);
	forecast->report.rtt = n_whole_nanoseconds(n_add(forecast->base, queue));
	forecast->report.rtt_least = forecast->report.rtt;
	forecast->varied = n_whole_nanoseconds(
		n_max(forecast->deviation, n_mul(FORECAST_OF_A_QUEUE, queue)));
	return 0;
}

/* What an interval at this rate would be worth behind this queue. */
PCC_PART pcc_num pcc_foreseen(struct pcc_forecast *forecast, const struct pcc_program *program,
			      pcc_num rate, bool queues)
{
	struct pcc_report *report = &forecast->report;
	pcc_num growth, excess;

	growth = pcc_growth_at(forecast, rate);
	excess = n_not_negative(n_sub(growth, forecast->room));
	report->target = rate;
	report->achieved = rate;
	report->excess_loss = excess;
	excess = n_min(n_add(forecast->random, excess), N_ONE);
	report->lost = n_floor(n_mul(excess, FORECAST_SENT));
	report->rtt_deviation = n_above(rate, forecast->negligible_rate) ?
				       forecast->varied : N_ZERO;
	report->rtt_gradient = queues ? n_max(growth, n_neg(N_HALF)) : N_ZERO;
	return pcc_worth(program, report, &forecast->machine);
}

/* Whether one worth is more than another, by more than what rounding makes of equal ones. */
PCC_PART bool pcc_is_more(pcc_num one, pcc_num other)
{
	pcc_num equal = n_mul(FORECAST_EQUAL, n_add(n_abs(one), n_abs(other)));

	return n_above(n_sub(one, other), equal);
}

/* Whether the utility rises with the rate at this one (1), falls (-1) or neither, behind
 * this queue.
 */
PCC_PART int pcc_rising(struct pcc_forecast *forecast, const struct pcc_program *program,
			pcc_num rate, pcc_num queue)
{
	bool queues = n_above(queue, N_ZERO);
	pcc_num above, below;

	pcc_foresee_queue(forecast, queue);
	above = pcc_foreseen(forecast, program, n_mul(rate, FORECAST_ABOVE), queues);
	below = pcc_foreseen(forecast, program, n_mul(rate, FORECAST_BELOW), queues);
	return pcc_is_more(above, below) - pcc_is_more(below, above);
}

/* control/ascent/forecast.rs, Forecast::outlook */
PCC_PART void pcc_look_out(const struct pcc_forecast *forecast, struct pcc_outlook *outlook,
			   pcc_num low, pcc_num high)
{
	outlook->capacity = forecast->capacity;
	outlook->lowest = low;
	outlook->highest = high;
	outlook->queue = forecast->queue;
	outlook->horizon = forecast->stands ? N_ZERO : forecast->horizon;
	outlook->lost = forecast->random;
	outlook->marked = forecast->marked;
	outlook->full = forecast->stands ? N_INFINITY : n_add(N_ONE, pcc_room(forecast));
}

/* What fair says itself; NaN of any other utility. */
PCC_CALL pcc_num pcc_told_best(const struct pcc_forecast *forecast,
			       const struct pcc_program *program, pcc_num low, pcc_num high)
{
	struct pcc_outlook outlook;

	PCC_NEEDS(forecast, N_UNKNOWN);
	PCC_NEEDS(program, N_UNKNOWN);
	if (program->built_in != PCC_IS_FAIR)
		return N_UNKNOWN;
	pcc_look_out(forecast, &outlook, low, high);
	return pcc_fair_best_response(program, &outlook);
}

/* Where the utility stops rising between these rates. The queue is everybody's: it
 * is taken as a price that our own next step does not change. But the price is
 * that of the end of the horizon, at the very rate in question: so the queue meets
 * the level at which the utility wants it, instead of being chased round it.
 */
PCC_CALL pcc_num pcc_climb(struct pcc_forecast *forecast, const struct pcc_program *program,
			   pcc_num low, pcc_num high)
{
	pcc_num rate, queue;
	int i;

	PCC_NEEDS(forecast, N_ZERO);
	PCC_NEEDS(program, N_ZERO);
	rate = pcc_told_best(forecast, program, low, high);
	if (n_known(rate))
		return rate;
	pcc_foresee_path(forecast);
	for (i = 0; i < FORECAST_HALVINGS; i++) {
		rate = n_sqrt(n_mul(low, high));
		queue = pcc_queue_after(forecast, forecast->queue, rate, forecast->horizon);
		if (pcc_rising(forecast, program, rate, queue) > 0)
			low = rate;
		else
			high = rate;
	}
	return n_sqrt(n_mul(low, high));
}

/* Whether the utility falls with the rate at this one, behind the queue as it is. */
PCC_PART bool pcc_wants_less(struct pcc_forecast *forecast,
			     const struct pcc_program *program, pcc_num rate)
{
	pcc_foresee_path(forecast);
	return pcc_rising(forecast, program, rate, forecast->queue) < 0;
}

#endif
