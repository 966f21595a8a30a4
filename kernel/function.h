/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Exponential, logarithm and powers of numbers: to some units in the last place. */
#ifndef PCC_FUNCTION_H
#define PCC_FUNCTION_H

#include "number.h"

#define N_LOG2_E 0x3ff71547652b82feULL /* 1 / ln 2 */
/* ln 2 in two parts, the first of 32 bits: what it is multiplied with has 11,
 * so the product is exact.
 */
#define N_LN2_HIGH 0x3fe62e42fee00000ULL
#define N_LN2_LOW 0x3dea39ef35793c76ULL
#define N_ROOT_2 0x3ff6a09e667f3bcdULL
/* Beyond these e^a is infinite, or zero. */
#define N_EXP_MOST 0x4086300000000000ULL  /* 710 */
#define N_EXP_LEAST 0xc086300000000000ULL /* -710 */

/* 1/n!, from n = 0. The first term left out is 0.35^14/14! = 4e-18. */
#define N_EXP_TERMS 14
static const pcc_num n_exp_terms[N_EXP_TERMS] = {
	N_ONE,
	N_ONE,
	N_HALF,
	0x3fc5555555555555ULL,
	0x3fa5555555555555ULL,
	0x3f81111111111111ULL,
	0x3f56c16c16c16c17ULL,
	0x3f2a01a01a01a01aULL,
	0x3efa01a01a01a01aULL,
	0x3ec71de3a556c734ULL,
	0x3e927e4fb7789f5cULL,
	0x3e5ae64567f544e4ULL,
	0x3e21eed8eff8d898ULL,
	0x3de6124613a86d09ULL,
};

/* 1/(2n + 1), from n = 1. The first term left out is 0.1716^24/25 = 2e-20. */
#define N_LOG_TERMS 11
static const pcc_num n_log_terms[N_LOG_TERMS] = {
	0x3fd5555555555555ULL,
	0x3fc999999999999aULL,
	0x3fc2492492492492ULL,
	0x3fbc71c71c71c71cULL,
	0x3fb745d1745d1746ULL,
	0x3fb3b13b13b13b14ULL,
	0x3fb1111111111111ULL,
	0x3fae1e1e1e1e1e1eULL,
	0x3faaf286bca1af28ULL,
	0x3fa8618618618618ULL,
	0x3fa642c8590b2164ULL,
};

/* e^a = 2^k · e^r, with |r| <= ln 2 / 2, the latter by its Taylor series. */
PCC_CALL pcc_num n_exp(pcc_num a)
{
	pcc_num sum, r, k;
	s64 exponent;
	int i;

	if (!n_known(a))
		return N_UNKNOWN;
	if (n_at_least(a, N_EXP_MOST))
		return N_INFINITY;
	if (n_at_most(a, N_EXP_LEAST))
		return N_ZERO;
	exponent = n_to(n_add(n_mul(n_abs(a), N_LOG2_E), N_HALF));
	k = n_from(exponent);
	if (a & N_SIGN)
		exponent = -exponent;
	else
		k = n_neg(k);
	r = n_add(n_add(a, n_mul(k, N_LN2_HIGH)), n_mul(k, N_LN2_LOW));
	sum = n_exp_terms[N_EXP_TERMS - 1];
	for (i = N_EXP_TERMS - 2; i >= 0; i--)
		sum = n_add(n_exp_terms[i], n_mul(r, sum));
	exponent += n_exponent(sum);
	if (exponent >= N_EXPONENT)
		return N_INFINITY;
	if (exponent <= 0)
		return N_ZERO;
	return ((u64)exponent << 52) | (sum & N_MANTISSA);
}

/* ln(2^k · m) = k ln 2 + 2 artanh s, s = (m - 1)/(m + 1), 1/√2 <= m < √2. */
PCC_CALL pcc_num n_log(pcc_num a)
{
	pcc_num m, s, square, sum, k;
	s64 exponent;
	int i;

	if (!n_known(a) || (a & N_SIGN && !n_is_zero(a)))
		return N_UNKNOWN;
	if (!n_exponent(a))
		return N_SIGN | N_INFINITY;
	if (!n_finite(a))
		return a;
	exponent = n_exponent(a) - N_BIAS;
	m = (a & N_MANTISSA) | N_ONE;
	if (n_at_least(m, N_ROOT_2)) {
		m -= N_HIDDEN; /* half of it */
		exponent++;
	}
	s = n_div(n_sub(m, N_ONE), n_add(m, N_ONE));
	square = n_square(s);
	sum = n_log_terms[N_LOG_TERMS - 1];
	for (i = N_LOG_TERMS - 2; i >= 0; i--)
		sum = n_add(n_log_terms[i], n_mul(square, sum));
	s = n_add(s, s);
	k = n_from(exponent < 0 ? -exponent : exponent);
	if (exponent < 0)
		k = n_neg(k);
	/* From the smallest to the largest. */
	sum = n_add(n_mul(n_mul(s, square), sum), n_mul(k, N_LN2_LOW));
	return n_add(n_add(sum, s), n_mul(k, N_LN2_HIGH));
}

/* a^b; 0^0 is 1. NaN for a < 0 unless b is an integer. */
PCC_PART pcc_num n_pow(pcc_num a, pcc_num b)
{
	pcc_num size = n_abs(b), power;

	if (!n_known(a) || !n_known(b))
		return N_UNKNOWN;
	if (n_is_zero(b))
		return N_ONE;
	if (n_is_zero(a))
		return b & N_SIGN ? N_INFINITY : N_ZERO;
	if (a & N_SIGN && n_floor(size) != size)
		return N_UNKNOWN;
	power = n_exp(n_mul(b, n_log(n_abs(a))));
	/* From 2^53 on all numbers are even. */
	if (a & N_SIGN && n_exponent(size) < N_BIAS + 53 && n_to(size) & 1)
		power |= N_SIGN;
	return power;
}

#endif
