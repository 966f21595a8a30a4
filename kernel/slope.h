/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How fast the RTT grew within an interval, and how sure that is: least squares of RTT on
 * send time, in one pass and in integers. crates/core/src/slope.rs.
 */
#ifndef PCC_SLOPE_H
#define PCC_SLOPE_H

#include "report.h"

/* RTT samples and the times at which their packets left count from the first sample on, up to
 * 2^22 µs. So a product is less than 2^44, and the sum of 2^18 of them less than 2^62.
 */
#define SLOPE_MOST_TIME ((1LL << 22) - 1)
#define SLOPE_MOST_SAMPLES (1U << 18)

/* slope.rs, Slope, in µs from the first sample on. */
struct pcc_slope {
	s64 first_t;
	s64 sum_t;
	s64 sum_r;
	s64 sum_tt;
	s64 sum_tr;
	s64 sum_rr;
	s64 step_tt;
	s64 step_tr;
	s64 step_rr;
	/* Less than 2^22 from the first one; there are 32 of these in a connection. */
	s32 last_t;
	s32 last_r;
	s32 pause;
	u32 first_r;
	u32 least;
	u32 samples;
};

PCC_PART s64 pcc_bounded(s64 time)
{
	return time > SLOPE_MOST_TIME ? SLOPE_MOST_TIME
	       : time < -SLOPE_MOST_TIME ? -SLOPE_MOST_TIME
					   : time;
}

/* A packet sent at t took r. Unit: µs. */
PCC_PART void pcc_slope_add(struct pcc_slope *slope, s64 t, u32 rtt)
{
	s64 r = rtt, dt, dr;

	if (slope->samples >= SLOPE_MOST_SAMPLES)
		return;
	if (!slope->samples) {
		slope->first_t = t;
		slope->first_r = rtt;
		slope->least = rtt;
	}
	if (rtt < slope->least)
		slope->least = rtt;
	t = pcc_bounded(t - slope->first_t);
	r = pcc_bounded(r - (s64)slope->first_r);
	dt = pcc_bounded(t - slope->last_t);
	dr = pcc_bounded(r - slope->last_r);
	if (dt > slope->pause)
		slope->pause = dt;
	slope->samples++;
	slope->last_t = t;
	slope->last_r = r;
	slope->sum_t += t;
	slope->sum_r += r;
	slope->sum_tt += t * t;
	slope->sum_tr += t * r;
	slope->sum_rr += r * r;
	slope->step_tt += dt * dt;
	slope->step_tr += dt * dr;
	slope->step_rr += dr * dr;
}

/* A signed integer of less than 2^63 as a number. */
PCC_PART pcc_num n_signed(s64 integer)
{
	return integer < 0 ? n_neg(n_from(-integer)) : n_from(integer);
}

#define SLOPE_MICROSECOND n_ratio(1, 1000000)

/* The results of the RTT's samples. The sums are exact, and the results not less so than in the
 * core, whose sums are rounded.
 */
PCC_CALL int pcc_slope_report(const struct pcc_slope *slope, struct pcc_report *report)
{
	pcc_num n, tt, tr, rr, gradient, unexplained, alike, freedom;

	PCC_NEEDS(slope && report, 0);
	report->rtt_samples = slope->samples;
	report->rtt = N_UNKNOWN;
	report->rtt_least = N_UNKNOWN;
	report->rtt_gradient = N_UNKNOWN;
	report->rtt_gradient_error = N_INFINITY;
	report->rtt_residual = N_ZERO;
	report->rtt_deviation = N_ZERO;
	/* Where packets overtake each other the last sample may be of one that left before the
	 * first one's.
	 */
	report->rtt_span = n_mul(n_signed(slope->last_t > 0 ? slope->last_t : 0),
				 SLOPE_MICROSECOND);
	report->rtt_pause = n_mul(n_signed(slope->pause), SLOPE_MICROSECOND);
	if (!slope->samples)
		return 0;
	n = n_from(slope->samples);
	/* Sums of squares around the means, in µs²: of t, of t with r, of r. */
	tr = n_signed(slope->sum_r);
	tt = n_signed(slope->sum_t);
	report->rtt = n_mul(n_add(n_signed(slope->first_r), n_div(tr, n)), SLOPE_MICROSECOND);
	report->rtt_least = n_mul(n_from(slope->least), SLOPE_MICROSECOND);
	rr = n_sub(n_signed(slope->sum_rr), n_div(n_square(tr), n));
	tr = n_sub(n_signed(slope->sum_tr), n_div(n_mul(tt, tr), n));
	tt = n_not_negative(n_sub(n_signed(slope->sum_tt), n_div(n_square(tt), n)));
	rr = n_not_negative(rr);
	gradient = n_above(tt, N_ZERO) && slope->samples > 1 ? n_div(tr, tt) : N_UNKNOWN;
	report->rtt_gradient = gradient;
	if (!n_known(gradient))
		gradient = N_ZERO;
	unexplained = n_not_negative(n_sub(rr, n_mul(gradient, tr)));
	report->rtt_deviation = n_mul(n_sqrt(n_div(rr, n)), SLOPE_MICROSECOND);
	report->rtt_residual = n_mul(n_sqrt(n_div(unexplained, n)), SLOPE_MICROSECOND);
	if (slope->samples < 3 || !n_above(tt, N_ZERO))
		return 0;
	/* slope.rs, Slope::effective_samples */
	alike = n_mul(n_mul(N_TWO, gradient), n_signed(slope->step_tr));
	alike = n_sub(n_signed(slope->step_rr), alike);
	alike = n_add(alike, n_mul(n_square(gradient), n_signed(slope->step_tt)));
	alike = n_div(n_div(alike, unexplained), N_TWO);
	alike = n_above(unexplained, N_ZERO) ? n_clamp(alike, N_ZERO, N_ONE) : N_ONE;
	freedom = n_div(n_mul(n, alike), n_sub(N_TWO, alike));
	freedom = n_max(n_sub(freedom, N_TWO), N_ONE);
	report->rtt_gradient_error = n_sqrt(n_div(n_div(unexplained, freedom), tt));
	return 0;
}

#endif
