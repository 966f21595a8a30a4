/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How loss or growth answer to a sender's own rate: the slope over recent pairs
 * of rates, with its error. crates/core/src/control/response.rs.
 */
#ifndef PCC_RESPONSE_H
#define PCC_RESPONSE_H

#include "function.h"

/* control/response.rs, Estimate */
struct pcc_estimate {
	pcc_num mean;
	pcc_num variance;
};

/* control/response.rs, Response */
struct pcc_response {
	pcc_num xx;
	pcc_num xy;
	pcc_num yy;
	pcc_num pairs;
};

/* control/response.rs, Estimate::wiener */
PCC_CALL pcc_num pcc_wiener(pcc_num mean, pcc_num variance)
{
	pcc_num square = n_square(mean);

	if (!n_above(square, N_ZERO))
		return N_ZERO;
	return n_div(n_mul(mean, square), n_add(square, variance));
}

PCC_PART pcc_num pcc_remembered(pcc_num sum, pcc_num more)
{
	return n_add(n_mul(RESPONSE_MEMORY, sum), more);
}

/* control/response.rs, Response::learn */
PCC_CALL int pcc_learn(struct pcc_response *response, pcc_num dx, pcc_num mean, pcc_num variance)
{
	pcc_num weight = n_div(N_ONE, n_max(variance, n_ratio(1, 1000000000000)));
	pcc_num weighted = n_mul(weight, dx);

	PCC_NEEDS(response, 0);
	response->xx = pcc_remembered(response->xx, n_mul(weighted, dx));
	response->xy = pcc_remembered(response->xy, n_mul(weighted, mean));
	response->yy = pcc_remembered(response->yy, n_mul(n_mul(weight, mean), mean));
	response->pairs = pcc_remembered(response->pairs, N_ONE);
	return 0;
}

/* control/response.rs, Response::error */
PCC_PART pcc_num pcc_response_error(const struct pcc_response *response)
{
	pcc_num unexplained, freedom;

	unexplained = n_div(n_square(response->xy), response->xx);
	unexplained = n_max(n_sub(response->yy, unexplained), N_ZERO);
	freedom = n_max(n_sub(response->pairs, N_ONE), N_ONE);
	return n_sqrt(n_div(n_max(n_div(unexplained, freedom), N_ONE), response->xx));
}

/* control/response.rs, Response::at_most */
PCC_CALL pcc_num pcc_at_most(const struct pcc_response *response)
{
	PCC_NEEDS(response, N_INFINITY);
	if (!n_above(response->xx, N_ZERO))
		return N_INFINITY;
	return n_add(n_div(response->xy, response->xx),
		     n_mul(N_TWO, pcc_response_error(response)));
}

/* control/response.rs, Response::at_least, with two errors */
PCC_CALL pcc_num pcc_at_least(const struct pcc_response *response)
{
	PCC_NEEDS(response, N_ZERO);
	if (!n_above(response->xx, N_ZERO))
		return N_ZERO;
	return n_not_negative(n_sub(n_div(response->xy, response->xx),
				    n_mul(N_TWO, pcc_response_error(response))));
}

#endif
