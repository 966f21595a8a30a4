/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The results of one monitor interval: crates/core/src/interval/report.rs. */
#ifndef PCC_REPORT_H
#define PCC_REPORT_H

#include "number.h"

#define PCC_NANOSECOND n_ratio(1, 1000000000) /* s */
#define PCC_BYTES_PER_MBIT n_ratio(125000, 1)

/* The limit that kept an interval from achieving more. */
enum pcc_limit {
	PCC_BY_NETWORK,
	PCC_BY_APPLICATION,
	PCC_BY_RECEIVER_WINDOW,
	PCC_BY_HOST,
};

/* interval/report.rs, Previous. NaN: not known. */
struct pcc_previous {
	pcc_num rate;	    /* byte/s */
	pcc_num throughput; /* byte/s */
	pcc_num loss;
	pcc_num rtt; /* s */
};

/* interval/report.rs, Report. Times in s, rates in byte/s, volumes in bytes; NaN: not measured. */
struct pcc_report {
	u64 started; /* ns */
	pcc_num duration;
	pcc_num target;
	pcc_num achieved;
	pcc_num sent;
	pcc_num lost;
	pcc_num excess_loss;
	pcc_num delivery_rate;
	pcc_num rtt;
	pcc_num rtt_least;
	pcc_num rtt_base;
	pcc_num rtt_gradient;
	pcc_num rtt_gradient_error;
	pcc_num rtt_span;
	pcc_num rtt_pause;
	pcc_num rtt_residual;
	pcc_num rtt_deviation;
	u32 packets;
	u32 packets_lost;
	u32 loss_bursts;
	u32 packets_marked;
	u32 rtt_samples;
	u32 app_limited;
	u32 timed_out;
	u32 limited_by; /* enum pcc_limit */
	struct pcc_previous previous;
};

/* The names in docs/utility.md, in the order of the core's `Variable`. */
enum pcc_measurement {
	PCC_X,
	PCC_THROUGHPUT,
	PCC_LOSS,
	PCC_OWN_LOSS,
	PCC_MARKS,
	PCC_RTT,
	PCC_RTT_LEAST,
	PCC_RTT_BASE,
	PCC_QUEUE,
	PCC_GROWTH,
	PCC_SIGMA,
	PCC_RESIDUAL,
	PCC_DURATION,
	PCC_PREV_X,
	PCC_PREV_THROUGHPUT,
	PCC_PREV_LOSS,
	PCC_PREV_RTT,
	PCC_MEASUREMENTS
};

PCC_PART pcc_num n_not_negative(pcc_num a)
{
	return n_max(a, N_ZERO);
}

/* a/b of counts; b is at least 1. */
PCC_PART pcc_num n_share(u32 a, u32 b)
{
	return n_div(n_from(a), n_from(b ? b : 1));
}

/* The share of bytes that did not arrive. */
PCC_PART pcc_num pcc_undelivered(const struct pcc_report *report)
{
	return n_is_zero(report->sent) ? N_ZERO : n_div(report->lost, report->sent);
}

PCC_PART pcc_num pcc_marked(const struct pcc_report *report)
{
	return report->packets_marked ? n_share(report->packets_marked, report->packets) : N_ZERO;
}

/* L: what was lost or marked. */
PCC_CALL pcc_num pcc_loss(const struct pcc_report *report)
{
	PCC_NEEDS(report, N_UNKNOWN);
	return n_min(n_add(pcc_undelivered(report), pcc_marked(report)), N_ONE);
}

/* Packets that were lost or marked; two counts of one interval fit in 32 bits. */
PCC_PART u32 pcc_packets_refused(const struct pcc_report *report)
{
	return report->packets_lost + report->packets_marked;
}

/* s/s: the gradient, where it stands out of the noise. */
PCC_PART pcc_num pcc_queue_growth(const struct pcc_report *report)
{
	pcc_num gradient = report->rtt_gradient;

	if (n_above(n_abs(gradient), n_mul(REPORT_ERRORS, report->rtt_gradient_error)))
		return n_max(gradient, n_neg(N_HALF));
	return N_ZERO;
}

/* T, in byte/s: x (1 - L) / (1 + g). */
PCC_CALL pcc_num pcc_throughput(const struct pcc_report *report)
{
	PCC_NEEDS(report, N_UNKNOWN);
	return n_mul(report->achieved, n_div(n_sub(N_ONE, pcc_undelivered(report)),
					     n_add(N_ONE, pcc_queue_growth(report))));
}

/* interval/report.rs, Report::rtt_rise */
PCC_PART pcc_num pcc_rtt_rise(const struct pcc_report *report)
{
	return n_known(report->rtt_gradient) ? n_mul(report->rtt_gradient, report->rtt_span)
					     : N_ZERO;
}

/* interval/report.rs, Report::surely_grew */
PCC_PART bool pcc_surely_grew(const struct pcc_report *report)
{
	return n_above(report->rtt_gradient,
		       n_mul(REPORT_SURE_ERRORS, report->rtt_gradient_error));
}

/* interval/report.rs, Report::sure_rise */
PCC_PART pcc_num pcc_sure_rise(const struct pcc_report *report)
{
	pcc_num errors = n_mul(REPORT_SURE_ERRORS, report->rtt_gradient_error);

	return n_max(n_sub(pcc_rtt_rise(report), n_mul(errors, report->rtt_span)), N_ZERO);
}

/* interval/report.rs, Report::least_growth */
PCC_PART pcc_num pcc_least_growth(const struct pcc_report *report, pcc_num errors)
{
	pcc_num rise, time;

	if (!n_known(report->rtt_gradient))
		return N_UNKNOWN;
	rise = n_sub(report->rtt_gradient, n_mul(errors, report->rtt_gradient_error));
	rise = n_sub(n_mul(rise, report->rtt_span), REPORT_HOST_JITTER);
	time = n_max(n_max(report->duration, report->rtt_span), PCC_NANOSECOND);
	return n_div(n_not_negative(rise), time);
}

/* interval/report.rs, Report::loss_error */
PCC_PART pcc_num pcc_loss_error(const struct pcc_report *report)
{
	u32 packets = report->packets ? report->packets : 1;
	u32 refused = pcc_packets_refused(report), bursts = report->loss_bursts;
	pcc_num n = n_from(packets), lost, arrived, apart, loss;

	if (refused > report->packets)
		refused = report->packets;
	bursts += report->packets_marked;
	lost = n_from(refused);
	arrived = n_max(n_sub(n, lost), N_ONE);
	bursts = bursts ? bursts : 1;
	apart = n_add(n_div(n_from(bursts), n_max(lost, N_ONE)), n_div(n_from(bursts), arrived));
	apart = n_min(apart, N_ONE);
	loss = n_div(lost, n);
	/* l (1 - l) (2 - a) / (n a) */
	lost = n_mul(n_mul(loss, n_sub(N_ONE, loss)), n_sub(N_TWO, apart));
	return n_mul(REPORT_ERRORS, n_sqrt(n_div(lost, n_mul(n, apart))));
}

PCC_PART u32 pcc_scaled(u32 packets, pcc_num factor, u32 most)
{
	u64 scaled = n_to(n_mul(n_from(packets), factor));

	return scaled < most ? scaled : most;
}

/* interval/report.rs, Report::with */
PCC_PART void pcc_with(struct pcc_report *report, pcc_num more_loss, pcc_num growth)
{
	pcc_num loss = pcc_loss(report), factor = N_ONE;

	if (n_above(loss, N_ZERO))
		factor = n_not_negative(n_div(n_add(loss, more_loss), loss));
	report->lost = n_min(n_floor(n_mul(report->lost, factor)), report->sent);
	report->packets_lost = pcc_scaled(report->packets_lost, factor, report->packets);
	report->packets_marked = pcc_scaled(report->packets_marked, factor, report->packets);
	report->rtt_gradient = growth;
	report->rtt_gradient_error = N_ZERO;
}

/* The report as good, or as bad, as its noise allows. */
enum pcc_doubt {
	PCC_IN_FAVOUR,	      /* interval/report.rs, Report::in_its_favour */
	PCC_IN_FAVOUR_SO_FAR, /* interval/report.rs, Report::in_its_favour_so_far */
	PCC_IN_DISFAVOUR,     /* interval/report.rs, Report::in_its_disfavour */
};

PCC_CALL int pcc_doubted(struct pcc_report *to, const struct pcc_report *from, u32 doubt)
{
	pcc_num error, growth;

	PCC_NEEDS(to && from, 0);
	*to = *from;
	error = pcc_loss_error(from);
	if (doubt == PCC_IN_DISFAVOUR) {
		growth = n_not_negative(pcc_queue_growth(from));
	} else {
		if (n_known(from->rtt_base))
			to->rtt_least = from->rtt_base;
		growth = pcc_least_growth(from, doubt == PCC_IN_FAVOUR ? REPORT_ERRORS
								       : REPORT_SURE_ERRORS);
		error = n_neg(error);
	}
	pcc_with(to, error, growth);
	return 0;
}

PCC_PART pcc_num pcc_mbit(pcc_num rate)
{
	return n_div(rate, PCC_BYTES_PER_MBIT);
}

/* The value of a measurement in the utility language's unit. */
PCC_PART pcc_num pcc_measurement(const struct pcc_report *report, u32 measurement)
{
	switch (measurement) {
	case PCC_X:
		return pcc_mbit(report->achieved);
	case PCC_THROUGHPUT:
		return pcc_mbit(pcc_throughput(report));
	case PCC_LOSS:
		return pcc_loss(report);
	case PCC_OWN_LOSS:
		return report->excess_loss;
	case PCC_MARKS:
		return pcc_marked(report);
	case PCC_RTT:
		return report->rtt;
	case PCC_RTT_LEAST:
		return report->rtt_least;
	case PCC_RTT_BASE:
		return report->rtt_base;
	case PCC_QUEUE:
		if (!n_known(report->rtt) || !n_known(report->rtt_base))
			return N_UNKNOWN;
		return n_not_negative(n_sub(report->rtt, report->rtt_base));
	case PCC_GROWTH:
		return pcc_queue_growth(report);
	case PCC_SIGMA:
		return report->rtt_deviation;
	case PCC_RESIDUAL:
		return report->rtt_residual;
	case PCC_DURATION:
		return report->duration;
	case PCC_PREV_X:
		return pcc_mbit(report->previous.rate);
	case PCC_PREV_THROUGHPUT:
		return pcc_mbit(report->previous.throughput);
	case PCC_PREV_LOSS:
		return report->previous.loss;
	case PCC_PREV_RTT:
		return report->previous.rtt;
	default:
		return N_UNKNOWN;
	}
}

PCC_PART void pcc_summarise(struct pcc_previous *previous, const struct pcc_report *report)
{
	previous->rate = report->achieved;
	previous->throughput = pcc_throughput(report);
	previous->loss = pcc_loss(report);
	previous->rtt = report->rtt;
}

#endif
