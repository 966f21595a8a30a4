/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Two neighbouring probes, one above the rate and one below, and what they say
 * together. crates/core/src/control/ascent/pair.rs.
 */
#ifndef PCC_PAIR_H
#define PCC_PAIR_H

#include "../report.h"
#include "../response.h"

/* A line through the means of two intervals knows their common slope by the root
 * of 3 better than a line through one of them knows its own.
 */
#define PAIR_MEANS_WEIGHT n_ratio(6, 1)

/* Rates in byte/s, times in s; NaN: not known. */
struct pcc_pair {
	/* Geometric means of the rates achieved and asked for. */
	pcc_num rate;
	pcc_num target;
	/* By how much the faster one was faster, in ln x. */
	pcc_num step;
	/* How long both lasted. */
	pcc_num seconds;
	/* How fast the RTT grew over both, in s/s; what the two rates did to it
	 * cancels out. By how much faster it grew in the faster one.
	 */
	struct pcc_estimate growth;
	struct pcc_estimate growth_step;
	/* Loss rate of both, by how much more the faster one lost, and what the
	 * slower one lost.
	 */
	struct pcc_estimate loss;
	struct pcc_estimate loss_step;
	pcc_num low_loss;
	/* Mean share of marks. */
	pcc_num marked;
	/* The least RTT at the end of the pair, and of its first probe. */
	pcc_num least_rtt;
	pcc_num first_least_rtt;
	/* Of the second probe: start, length, residual, bytes of a packet. */
	pcc_num started;
	pcc_num duration;
	pcc_num residual;
	pcc_num packet;
	/* It left since more was tried for the last time. */
	u32 fresh;
	/* Whether the queue's growth answers to our rate (enum pcc_answer). */
	u32 answer;
};

PCC_PART pcc_num pair_achieved(const struct pcc_report *report)
{
	return n_max(report->achieved, N_ONE);
}

/* Of the loss rate of an interval. One packet in two more than there were stands
 * for what was not seen (Laplace's rule of succession), and packets lost in a row
 * say no more than one.
 */
PCC_CALL pcc_num pcc_loss_variance(const struct pcc_report *report)
{
	pcc_num n, lost, loss, in_a_row, answers;
	u32 answered;

	PCC_NEEDS(report, N_UNKNOWN);
	n = n_from(report->packets ? report->packets : 1);
	lost = n_from(pcc_packets_refused(report));
	loss = n_min(n_div(n_add(lost, N_ONE), n_add(n, N_TWO)), N_ONE);
	answered = report->loss_bursts + report->packets_marked;
	answers = n_from(answered ? answered : 1);
	in_a_row = n_max(n_div(lost, answers), N_ONE);
	return n_mul(n_div(n_mul(loss, n_sub(N_ONE, loss)), n), in_a_row);
}

/* Seconds from an earlier to a later moment, 0 if it is not later. */
PCC_PART pcc_num pcc_since(u64 later, u64 earlier)
{
	return later > earlier ? n_seconds(later - earlier) : N_ZERO;
}

PCC_CALL int pcc_pair_growth(struct pcc_pair *pair, const struct pcc_report *a,
			     const struct pcc_report *b)
{
	pcc_num apart, between, variance, weights = n_add(N_TWO, PAIR_MEANS_WEIGHT);
	pcc_num step;

	PCC_NEEDS(pair, 0);
	PCC_NEEDS(a, 0);
	PCC_NEEDS(b, 0);
	pair->growth.mean = N_UNKNOWN;
	pair->growth_step.mean = N_UNKNOWN;
	/* Infinite where there are too few samples. */
	variance = n_div(n_add(n_square(a->rtt_gradient_error), n_square(b->rtt_gradient_error)),
			 N_TWO);
	if (!n_finite(variance))
		return 0;
	step = n_sub(a->rtt_gradient, b->rtt_gradient);
	pair->growth_step.mean = n_above(a->target, b->target) ? step : n_neg(step);
	pair->growth_step.variance = n_mul(N_TWO, variance);
	apart = pcc_since(b->started, a->started);
	if (n_is_zero(apart))
		return 0;
	/* NaN if one of these is not known. */
	between = n_div(n_sub(b->rtt, a->rtt), apart);
	between = n_mul(PAIR_MEANS_WEIGHT, between);
	between = n_add(n_add(a->rtt_gradient, b->rtt_gradient), between);
	pair->growth.mean = n_div(between, weights);
	pair->growth.variance = n_div(variance, weights);
	return 0;
}

PCC_CALL int pcc_pair_loss(struct pcc_pair *pair, const struct pcc_report *a,
			   const struct pcc_report *b)
{
	pcc_num lost_a, lost_b, of_a, of_b, step;
	bool a_is_high;

	PCC_NEEDS(pair, 0);
	PCC_NEEDS(a, 0);
	PCC_NEEDS(b, 0);
	a_is_high = n_above(a->target, b->target);
	lost_a = pcc_loss(a);
	lost_b = pcc_loss(b);
	of_a = pcc_loss_variance(a);
	of_b = pcc_loss_variance(b);
	step = n_sub(lost_a, lost_b);
	pair->loss_step.mean = a_is_high ? step : n_neg(step);
	pair->loss_step.variance = n_add(of_a, of_b);
	pair->loss.variance = n_div(pair->loss_step.variance, N_FOUR);
	pair->low_loss = a_is_high ? lost_b : lost_a;
	lost_a = n_mul(lost_a, a->duration);
	lost_b = n_mul(lost_b, b->duration);
	pair->loss.mean = n_div(n_add(lost_a, lost_b), n_max(pair->seconds, PCC_NANOSECOND));
	pair->marked = n_div(n_add(pcc_marked(a), pcc_marked(b)), N_TWO);
	return 0;
}

/* What two probes, in the order in which they were sent, say together. */
PCC_CALL int pcc_pair_read(struct pcc_pair *pair, const struct pcc_report *a,
			   const struct pcc_report *b)
{
	pcc_num step;

	PCC_NEEDS(pair, 0);
	PCC_NEEDS(a, 0);
	PCC_NEEDS(b, 0);
	pair->rate = n_sqrt(n_mul(pair_achieved(a), pair_achieved(b)));
	pair->target = n_sqrt(n_mul(a->target, b->target));
	if (n_above(a->target, b->target))
		step = n_div(pair_achieved(a), pair_achieved(b));
	else
		step = n_div(pair_achieved(b), pair_achieved(a));
	pair->step = n_log(step);
	pair->seconds = n_add(a->duration, b->duration);
	pair->least_rtt = n_known(b->rtt_least) ? b->rtt_least : a->rtt_least;
	pair->first_least_rtt = a->rtt_least;
	pair->started = n_mul(n_from(b->started), PCC_NANOSECOND);
	pair->duration = b->duration;
	pair->residual = b->rtt_residual;
	pair->packet = n_div(b->sent, n_from(b->packets ? b->packets : 1));
	pcc_pair_growth(pair, a, b);
	return pcc_pair_loss(pair, a, b);
}

#endif
