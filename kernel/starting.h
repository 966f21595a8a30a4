/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Starting: the order of magnitude of the path's rate, by doubling (NSDI 2015 3.2).
 * It ends when the queue that it builds grows beyond doubt. It also ends when an interval,
 * read as favourably as can be, is worth less than a lower rate was, or less than nothing.
 * crates/core/src/control/starting.rs.
 */
#ifndef PCC_STARTING_H
#define PCC_STARTING_H

#include "law.h"
#include "program.h"

/* control/starting.rs, Best. Rates in byte/s. */
struct pcc_best {
	pcc_num target;
	pcc_num achieved;
	pcc_num utility;
	pcc_num loss;
	pcc_num least_utility;
};

/* control/starting.rs, Starting. Times in s. */
struct pcc_starting {
	pcc_num rate;
	struct pcc_best best;
	pcc_num delivered;
	pcc_num usual_rtt;
	pcc_num first_rtt;
	u32 has_best;
	u32 unknown;
	u32 hold;
	/* A report read in its favour, or not. It and what follows are not kept: PCC_LAW_KEPT. */
	struct pcc_report doubted;
	struct pcc_machine machine;
};

/* The meaning of a result. */
enum pcc_judgement {
	PCC_RATE_UNKNOWN, /* the application or a host was the limit */
	PCC_RATE_GOOD,	  /* the path may carry more */
	PCC_RATE_OVER,	  /* it does not: starting->rate is what it carried */
	PCC_RATE_REACHED, /* nothing higher is allowed: starting->rate is what was achieved */
};

PCC_PART void pcc_starting_at(struct pcc_starting *starting, pcc_num rate)
{
	starting->rate = rate;
	starting->delivered = N_ZERO;
	starting->usual_rtt = N_ZERO;
	starting->first_rtt = N_UNKNOWN;
	starting->has_best = 0;
	starting->unknown = 0;
	starting->hold = 0;
}

PCC_PART void pcc_starting_next(struct pcc_starting *starting, const struct pcc_path *path,
				struct pcc_slot *slot)
{
	bool first = !starting->has_best && !starting->unknown;

	slot->is_stretched = 1;
	if (starting->unknown > 1) {
		/* The results are late, so perhaps the path is full: on with the
		 * last rate known to be good, and not for long.
		 */
		slot->rate = starting->rate;
		if (starting->has_best)
			slot->rate = n_min(starting->rate, starting->best.target);
		slot->rtts_least = STARTING_WAIT;
		slot->rtts_most = STARTING_WAIT;
		slot->trial = PCC_FILLER;
		return;
	}
	if (!first && !starting->hold)
		starting->rate = pcc_clamp(path, n_mul(starting->rate, N_TWO));
	starting->unknown++;
	slot->rate = starting->rate;
	slot->rtts_least = N_ONE;
	slot->rtts_most = N_ONE;
	slot->trial = 0;
}

/* control/starting.rs, Starting::is_worse */
PCC_PART bool pcc_is_worse(const struct pcc_starting *starting, const struct pcc_report *report,
			   pcc_num worth)
{
	if (n_less(worth, N_ZERO))
		return true;
	return starting->has_best && n_at_most(worth, starting->best.least_utility) &&
	       n_above(report->achieved, n_mul(starting->best.achieved, STARTING_DOUBLED));
}

/* control/starting.rs, grows_beyond_doubt() */
PCC_PART bool pcc_grows_beyond_doubt(const struct pcc_report *report)
{
	return report->rtt_samples >= STARTING_TELLING_SAMPLES && pcc_surely_grew(report);
}

/* control/starting.rs, Starting::own_queue. Unit: s. */
PCC_CALL pcc_num pcc_own_queue(const struct pcc_starting *starting,
			       const struct pcc_report *report)
{
	pcc_num stands, rise;

	PCC_NEEDS(starting && report, N_ZERO);
	if (!n_known(report->rtt_least) || !n_known(starting->first_rtt))
		return N_ZERO;
	stands = n_sub(report->rtt_least, starting->first_rtt);
	rise = n_sub(n_div(report->achieved, n_max(starting->delivered, N_ONE)), N_ONE);
	rise = n_min(pcc_sure_rise(report), n_mul(rise, report->rtt_span));
	return n_max(n_min(n_div(rise, N_TWO), stands), N_ZERO);
}

/* Whether the interval is one too many, given how it looks in its favour. */
PCC_PART bool pcc_overloads(struct pcc_starting *starting, const struct pcc_report *report,
			    const struct pcc_path *path, const struct pcc_program *program)
{
	pcc_num visible, reached;
	u64 least;

	least = path->rtt_ns > path->queue_ns ? path->rtt_ns - path->queue_ns : 0;
	least /= STARTING_RISE_DIVISOR;
	visible = n_seconds(least > INTERVAL_TRAIN ? least : INTERVAL_TRAIN);
	reached = n_known(report->rtt) ? report->rtt : N_ZERO;
	reached = n_add(reached, n_div(pcc_rtt_rise(report), N_TWO));
	if (n_above(pcc_rtt_rise(report), visible) &&
	    n_above(reached, n_add(starting->usual_rtt, visible)) &&
	    pcc_grows_beyond_doubt(report))
		return true;
	if (n_known(starting->doubted.rtt_least))
		starting->doubted.rtt_least = n_add(starting->doubted.rtt_least,
						    pcc_own_queue(starting, report));
	return pcc_is_worse(starting, report,
			    pcc_worth(program, &starting->doubted, &starting->machine));
}

/* control/starting.rs, Starting::carried */
PCC_PART pcc_num pcc_carried(const struct pcc_starting *starting, const struct pcc_report *report,
			     pcc_num delivery)
{
	pcc_num passed = pcc_throughput(report), loss = N_ZERO, most;

	if (n_above(pcc_own_queue(starting, report), N_ZERO))
		delivery = n_min(delivery, passed);
	most = n_max(delivery, starting->delivered);
	if (pcc_grows_beyond_doubt(report))
		most = n_max(most, passed);
	if (starting->has_best)
		loss = n_min(starting->best.loss, N_HALF);
	most = n_mul(most, n_div(STARTING_EXIT_SHARE, n_sub(N_ONE, loss)));
	return n_min(most, report->target);
}

/* Remembers a good result, if it is the best. starting->doubted is the report in its
 * disfavour.
 */
PCC_PART void pcc_starting_learn(struct pcc_starting *starting, const struct pcc_report *report,
				const struct pcc_program *program, pcc_num target,
				pcc_num delivery)
{
	pcc_num utility;

	starting->delivered = n_max(starting->delivered, delivery);
	utility = pcc_worth(program, report, &starting->machine);
	if (!starting->has_best || n_above(utility, starting->best.utility)) {
		starting->has_best = 1;
		starting->best.target = target;
		starting->best.achieved = report->achieved;
		starting->best.utility = utility;
		starting->best.loss = pcc_loss(report);
		starting->best.least_utility =
			pcc_worth(program, &starting->doubted, &starting->machine);
	}
	if (n_known(report->rtt)) {
		utility = n_add(report->rtt_deviation, report->rtt_deviation);
		starting->usual_rtt = n_add(report->rtt, utility);
		if (!n_known(starting->first_rtt))
			starting->first_rtt = starting->usual_rtt;
	}
}

/* enum pcc_judgement. */
PCC_CALL int pcc_starting_judge(struct pcc_starting *starting, const struct pcc_report *report,
				const struct pcc_path *path, const struct pcc_program *program,
				pcc_num target)
{
	pcc_num delivery;
	bool doubled;

	PCC_NEEDS(starting && report && path && program, 0);
	if (starting->unknown)
		starting->unknown--;
	/* A host that did not make this doubling will not make the next one. */
	doubled = n_above(n_mul(report->achieved, STARTING_DOUBLED), report->target);
	starting->hold = report->app_limited || (report->limited_by == PCC_BY_HOST && !doubled);
	if (starting->hold)
		starting->rate = pcc_within_reach(path, target);
	if (report->app_limited)
		return PCC_RATE_UNKNOWN;
	delivery = report->delivery_rate;
	if (!n_known(delivery))
		delivery = pcc_throughput(report);
	pcc_doubted(&starting->doubted, report, PCC_IN_FAVOUR);
	if (pcc_overloads(starting, report, path, program)) {
		starting->rate = pcc_carried(starting, report, delivery);
		return PCC_RATE_OVER;
	}
	pcc_doubted(&starting->doubted, report, PCC_IN_DISFAVOUR);
	pcc_starting_learn(starting, report, program, target, delivery);
	/* The same rate again and again would be compared with nothing. */
	if (n_at_least(target, path->ceiling) && !starting->hold) {
		starting->rate = n_min(target, report->achieved);
		return PCC_RATE_REACHED;
	}
	return PCC_RATE_GOOD;
}

#endif
