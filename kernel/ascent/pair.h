/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Two neighbouring probes, one above the rate and one below, and what they say
 * together. crates/core/src/control/ascent/pair.rs.
 */
#ifndef PCC_PAIR_H
#define PCC_PAIR_H

#include "../report.h"
#include "../response.h"

/* A line through RTTs on the time of sending. */
struct pcc_growth_fit {
	struct pcc_estimate growth;
	/* What was sent meanwhile. */
	pcc_num rate;
	/* The part of its time that it was looked at. */
	pcc_num coverage;
	/* Variance of ln of how long it is. */
	pcc_num midpoint_variance;
};

/* Estimates of one thing, each by its variance. */
struct pcc_combined {
	pcc_num weights;
	pcc_num sum;
};

/* What a probe lost. */
struct pcc_lost {
	pcc_num ln_rate; /* ln of the rate achieved */
	pcc_num packets;
	pcc_num lost;
	pcc_num bursts; /* losses in a row are one */
	pcc_num marked;
	pcc_num rtt;
};

/* Rates in byte/s, times in s; NaN: not known. */
struct pcc_pair {
	/* Geometric means of the rates achieved and asked for. */
	pcc_num rate;
	pcc_num target;
	/* By how much the faster one was faster, in ln x. */
	pcc_num step;
	/* How long both lasted. */
	pcc_num seconds;
	/* The same had no host paused. */
	pcc_num seconds_asked;
	/* How fast the queue grew over both, in s/s; what the two rates did to it
	 * cancels out. By how much faster it grew in the faster one.
	 */
	struct pcc_estimate growth;
	struct pcc_estimate growth_step;
	/* How fast it grew while it was looked at, and ln of what was carried then,
	 * in byte/s, if the bottleneck was busy.
	 */
	struct pcc_estimate seen_growth;
	struct pcc_estimate ln_carried;
	/* Loss rate of both, what the slower one lost, and each by itself. */
	struct pcc_estimate loss;
	pcc_num low_loss;
	struct pcc_lost lost[2];
	/* Packets of both. */
	pcc_num packets;
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
	u32 after_increase;
	/* Whether the queue certainly is not all ours. */
	u32 shared;
	/* So many pairs of one RTT would have gone as far, and the largest step up from here. */
	pcc_num pairs;
	pcc_num largest_step;
	/* How long after the pair before it; 0 after a pause. */
	pcc_num since;
	/* To work with: BPF has no stack for these. */
	struct pcc_growth_fit fit;
	struct pcc_combined sums[3];
};

PCC_PART pcc_num pair_achieved(const struct pcc_report *report)
{
	return n_max(report->achieved, N_ONE);
}

/* How long a probe would have lasted had no host paused. */
PCC_PART pcc_num pair_asked(const struct pcc_report *report)
{
	return n_div(report->sent, n_max(report->target, N_ONE));
}

/* Of one packet's loss, where so many were lost in so many runs. One packet in two more
 * than there were stands for what was not seen (Laplace's rule of succession), and packets
 * lost in a row say no more than one.
 */
PCC_PART pcc_num pcc_packet_variance(pcc_num packets, pcc_num lost, pcc_num bursts)
{
	pcc_num loss = n_div(n_add(lost, N_ONE), n_add(packets, N_TWO));

	loss = n_min(loss, N_ONE);
	lost = n_max(n_div(lost, n_max(bursts, N_ONE)), N_ONE);
	return n_mul(n_mul(loss, n_sub(N_ONE, loss)), lost);
}

/* Of the loss rate of an interval. */
PCC_PART pcc_num pcc_loss_variance(const struct pcc_report *report)
{
	pcc_num packets = n_from(report->packets ? report->packets : 1);

	return n_div(pcc_packet_variance(packets, n_from(report->packets_lost),
					 n_from(report->loss_bursts)),
		     packets);
}

/* Seconds from an earlier to a later moment, 0 if it is not later. */
PCC_PART pcc_num pcc_since(u64 later, u64 earlier)
{
	return later > earlier ? n_seconds(later - earlier) : N_ZERO;
}

PCC_PART void pcc_combine(struct pcc_combined *combined, struct pcc_estimate estimate)
{
	pcc_num weight = n_div(N_ONE, estimate.variance);

	combined->weights = n_add(combined->weights, weight);
	combined->sum = n_add(combined->sum, n_mul(weight, estimate.mean));
}

PCC_PART struct pcc_estimate pcc_of_all(const struct pcc_combined *combined)
{
	struct pcc_estimate all;

	all.mean = n_div(combined->sum, combined->weights);
	all.variance = n_div(N_ONE, combined->weights);
	return all;
}

/* How fast the queue grew over all of the line's time. Of what was not looked at, since
 * nothing was sent then, no more is known than that a queue falls by a second a second
 * at the most: 1/3 is the mean square of what lies between that and nothing.
 */
PCC_PART struct pcc_estimate pcc_overall(const struct pcc_growth_fit *fit)
{
	struct pcc_estimate all;

	all.mean = n_mul(fit->coverage, fit->growth.mean);
	all.variance = n_div(n_square(n_sub(N_ONE, fit->coverage)), n_ratio(3, 1));
	all.variance = n_add(n_mul(n_square(fit->coverage), fit->growth.variance), all.variance);
	return all;
}

PCC_PART struct pcc_estimate pcc_fit_carried(const struct pcc_growth_fit *fit)
{
	pcc_num grown = n_add(N_ONE, n_max(fit->growth.mean, n_neg(N_HALF)));
	struct pcc_estimate carried;

	carried.mean = n_log(n_div(fit->rate, grown));
	carried.variance = n_add(fit->growth.variance, fit->midpoint_variance);
	carried.variance = n_div(carried.variance, n_square(grown));
	return carried;
}

/* What pair->line says, of the three sums. */
PCC_CALL int pcc_take_fit(struct pcc_pair *pair)
{
	PCC_NEEDS(pair, 0);
	pcc_combine(&pair->sums[0], pcc_overall(&pair->fit));
	pcc_combine(&pair->sums[1], pair->fit.growth);
	pcc_combine(&pair->sums[2], pcc_fit_carried(&pair->fit));
	return 0;
}

/* For how much of the interval the samples speak: from the first to the last, and as
 * long again as they are apart. Less than all of it where a host stopped and sent what
 * had piled up at once.
 */
PCC_PART pcc_num pcc_rtt_seen(const struct pcc_report *report)
{
	return n_min(n_add(report->rtt_span, report->rtt_pause), report->duration);
}

/* How long it was not looked at. */
PCC_PART pcc_num pcc_unseen(const struct pcc_report *report, pcc_num seen)
{
	return n_not_negative(n_sub(report->duration, seen));
}

PCC_PART void pcc_fit_within(struct pcc_growth_fit *fit, const struct pcc_report *report,
			     pcc_num seen, pcc_num variance)
{
	fit->growth.mean = report->rtt_gradient;
	fit->growth.variance = n_div(variance, n_square(seen));
	fit->coverage = n_min(n_div(seen, report->duration), N_ONE);
	fit->rate = n_div(pair_achieved(report), fit->coverage);
	fit->midpoint_variance = N_ZERO;
}

/* The line through the two means. Where in an interval that was looked at in part only
 * its mean belongs is not known.
 */
PCC_PART void pcc_fit_between(struct pcc_growth_fit *fit, const struct pcc_report *a,
			      const struct pcc_report *b, pcc_num apart, pcc_num variance)
{
	pcc_num squared = n_square(apart), mean = n_div(n_sub(b->rtt, a->rtt), apart);

	fit->midpoint_variance = n_add(n_square(pcc_unseen(a, pcc_rtt_seen(a))),
			    n_square(pcc_unseen(b, pcc_rtt_seen(b))));
	fit->midpoint_variance = n_div(fit->midpoint_variance, n_mul(n_ratio(12, 1), squared));
	fit->growth.mean = mean;
	fit->growth.variance = n_add(n_div(variance, n_mul(n_ratio(6, 1), squared)),
				      n_mul(n_square(mean), fit->midpoint_variance));
	fit->coverage = N_ONE;
}

PCC_PART int pcc_pair_growth(struct pcc_pair *pair, const struct pcc_report *a,
			     const struct pcc_report *b)
{
	struct pcc_estimate of_a, of_b;
	pcc_num apart, seen_a, seen_b, variance, step;
	struct pcc_growth_fit *fit;

	PCC_NEEDS(pair, 0);
	PCC_NEEDS(a, 0);
	PCC_NEEDS(b, 0);
	fit = &pair->fit;
	pair->sums[0] = (struct pcc_combined){ N_ZERO, N_ZERO };
	pair->sums[1] = pair->sums[0];
	pair->sums[2] = pair->sums[0];
	pair->growth.mean = N_UNKNOWN;
	pair->growth_step.mean = N_UNKNOWN;
	pair->seen_growth = (struct pcc_estimate){ N_ZERO, N_ONE };
	pair->ln_carried = (struct pcc_estimate){ n_log(pair->rate), N_ONE };
	apart = pcc_since(b->started, a->started);
	seen_a = pcc_rtt_seen(a);
	seen_b = pcc_rtt_seen(b);
	if (n_is_zero(apart) || n_is_zero(seen_a) || n_is_zero(seen_b))
		return 0;
	/* Twelve times the variance of a mean. That of a slope is this by the square of
	 * the time that it was seen over; so the line through the means of two whole
	 * probes is known by the root of 3 better than each of their own. Infinite where
	 * there are too few samples.
	 */
	variance = n_add(n_square(n_mul(a->rtt_gradient_error, seen_a)),
			 n_square(n_mul(b->rtt_gradient_error, seen_b)));
	variance = n_max(n_div(variance, N_TWO), n_square(PAIR_RESOLUTION));
	if (!n_finite(variance) || !n_known(a->rtt_gradient) || !n_known(b->rtt_gradient))
		return 0;
	pcc_fit_within(fit, a, seen_a, variance);
	pcc_take_fit(pair);
	of_a = pcc_overall(fit);
	pcc_fit_within(fit, b, seen_b, variance);
	pcc_take_fit(pair);
	of_b = pcc_overall(fit);
	step = n_sub(of_a.mean, of_b.mean);
	pair->growth_step.mean = n_above(a->target, b->target) ? step : n_neg(step);
	pair->growth_step.variance = n_add(of_a.variance, of_b.variance);
	pcc_fit_between(fit, a, b, apart, variance);
	fit->rate = pair->rate;
	pcc_take_fit(pair);
	pair->growth = pcc_of_all(&pair->sums[0]);
	pair->seen_growth = pcc_of_all(&pair->sums[1]);
	pair->ln_carried = pcc_of_all(&pair->sums[2]);
	return 0;
}

/* Marks have a price of their own: what was marked has arrived. */
PCC_PART pcc_num pcc_probe_lost(struct pcc_lost *lost, const struct pcc_report *report)
{
	pcc_num share = pcc_undelivered(report);

	lost->ln_rate = n_log(pair_achieved(report));
	lost->packets = n_from(report->packets);
	lost->lost = n_mul(lost->packets, share);
	lost->bursts = n_from(report->loss_bursts);
	lost->marked = n_from(report->packets_marked);
	lost->rtt = report->rtt;
	return share;
}

PCC_CALL int pcc_pair_loss(struct pcc_pair *pair, const struct pcc_report *a,
			   const struct pcc_report *b)
{
	pcc_num lost_a, lost_b, of_both;

	PCC_NEEDS(pair, 0);
	PCC_NEEDS(a, 0);
	PCC_NEEDS(b, 0);
	lost_a = pcc_probe_lost(&pair->lost[0], a);
	lost_b = pcc_probe_lost(&pair->lost[1], b);
	of_both = n_add(pcc_loss_variance(a), pcc_loss_variance(b));
	pair->loss.variance = n_div(of_both, N_FOUR);
	pair->low_loss = n_above(a->target, b->target) ? lost_b : lost_a;
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
	pair->seconds_asked = n_add(pair_asked(a), pair_asked(b));
	pair->least_rtt = n_known(b->rtt_least) ? b->rtt_least : a->rtt_least;
	pair->first_least_rtt = a->rtt_least;
	pair->started = n_mul(n_from(b->started), PCC_NANOSECOND);
	pair->duration = b->duration;
	pair->residual = b->rtt_residual;
	pair->packet = n_div(b->sent, n_from(b->packets ? b->packets : 1));
	pair->packets = n_add(n_from(a->packets), n_from(b->packets ? b->packets : 1));
	pcc_pair_growth(pair, a, b);
	return pcc_pair_loss(pair, a, b);
}

#endif
