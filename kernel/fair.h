/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* `fair` without its program, and its best response by a formula: crates/core/src/utility/fair.rs, term
 * by term.
 */
#ifndef PCC_FAIR_H
#define PCC_FAIR_H

#include "program.h"

/* Where fair's program pushes its parameters: a test compares what comes of it with the core. */
#define FAIR_LOSS_CAP 20
#define FAIR_TWO_LEVELS 31
#define FAIR_LOSS_PRICE 37
#define FAIR_SURENESS_LEVELS 45

/* The utility of a report: what the program gives, to the last bit. */
PCC_CALL pcc_num pcc_fair_utility(const struct pcc_program *program,
				  const struct pcc_report *report)
{
	pcc_num x, marks, beyond, own, reward, cost, queue = N_ZERO, cap = N_ZERO;

	PCC_NEEDS(program && report, N_UNKNOWN);
	x = pcc_mbit(report->achieved);
	marks = pcc_marked(report);
	if (n_known(report->rtt_least) && n_known(report->rtt_base))
		queue = n_not_negative(n_sub(report->rtt_least, report->rtt_base));
	if (!n_known(report->excess_loss))
		cap = program->ops[FAIR_LOSS_CAP].value;
	beyond = n_sub(n_sub(pcc_loss(report), marks), cap);
	beyond = n_not_negative(beyond);
	own = n_known(report->excess_loss) ? report->excess_loss : beyond;
	reward = n_mul(program->ops[FAIR_TWO_LEVELS].value, n_sqrt(x));
	cost = n_mul(program->ops[FAIR_LOSS_PRICE].value, n_add(marks, beyond));
	cost = n_mul(x, n_add(queue, cost));
	own = n_mul(program->ops[FAIR_SURENESS_LEVELS].value, own);
	return pcc_defined(n_sub(n_sub(reward, cost), own));
}

/* utility/function.rs, Outlook */
struct pcc_outlook {
	pcc_num capacity;
	pcc_num lowest;
	pcc_num highest;
	pcc_num queue;
	pcc_num horizon;
	pcc_num lost;
	pcc_num marked;
	pcc_num full;
};

/* One of Newton's steps down to where H s^3 + linear s = reward. The cubic is convex, and negative
 * at 0: from where it is positive they come down to its only root. Whether there is more to
 * go.
 */
PCC_PART bool pcc_fair_step(pcc_num horizon, pcc_num linear, pcc_num reward, pcc_num *root)
{
	pcc_num square = n_mul(horizon, n_square(*root)), above, step;

	above = n_sub(n_mul(*root, n_add(square, linear)), reward);
	if (!n_above(above, N_ZERO))
		return false;
	step = n_div(above, n_add(n_mul(N_THREE, square), linear));
	*root = n_sub(*root, step);
	return !n_less(step, n_mul(FAIR_LAST, *root));
}

/* utility/fair.rs, meets() */
PCC_PART pcc_num pcc_fair_meets(const struct pcc_outlook *outlook, pcc_num reward, pcc_num price,
				pcc_num most)
{
	pcc_num linear, horizon = outlook->horizon, root = most, queue;
	bool more;

	linear = n_sub(n_add(outlook->queue, price), horizon);
	/* Each step squares the error; three or four are enough but for a root far below the
	 * lowest rate. No loop, since Linux 6.1 refuses those that end in no jump, as compilers
	 * like them.
	 */
	more = pcc_fair_step(horizon, linear, reward, &root) &&
	       pcc_fair_step(horizon, linear, reward, &root) &&
	       pcc_fair_step(horizon, linear, reward, &root) &&
	       pcc_fair_step(horizon, linear, reward, &root);
	if (more && pcc_fair_step(horizon, linear, reward, &root) &&
	    pcc_fair_step(horizon, linear, reward, &root) &&
	    pcc_fair_step(horizon, linear, reward, &root))
		pcc_fair_step(horizon, linear, reward, &root);
	queue = n_sub(n_square(root), N_ONE);
	queue = n_add(outlook->queue, n_mul(queue, horizon));
	return n_less(queue, N_ZERO) ? n_div(reward, price) : root;
}

/* utility/fair.rs, Fair::best_response; NaN where it has none. */
PCC_PART pcc_num pcc_fair_best_response(const struct pcc_program *program,
					const struct pcc_outlook *outlook)
{
	pcc_num capacity, reward, lost, price, lowest, highest, most, own, share;

	capacity = n_div(outlook->capacity, PCC_BYTES_PER_MBIT);
	reward = n_mul(program->ops[FAIR_TWO_LEVELS].value, N_HALF);
	reward = n_div(reward, n_sqrt(capacity));
	lost = n_min(outlook->lost, n_sub(N_ONE, outlook->marked));
	price = n_mul(program->ops[FAIR_LOSS_PRICE].value, n_add(outlook->marked, lost));
	lowest = n_div(outlook->lowest, outlook->capacity);
	highest = n_div(outlook->highest, outlook->capacity);
	most = n_min(n_max(outlook->full, lowest), highest);
	own = n_add(price, n_div(program->ops[FAIR_SURENESS_LEVELS].value, capacity));
	if (n_less(most, highest) &&
	    n_above(n_square(reward), n_mul(n_square(own), most)))
		return N_UNKNOWN;
	share = pcc_fair_meets(outlook, reward, price, n_sqrt(most));
	share = n_max(n_min(n_square(share), most), lowest);
	return n_finite(share) ? n_mul(share, outlook->capacity) : N_UNKNOWN;
}

#endif
