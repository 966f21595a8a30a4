/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Exponential, logarithm and powers of numbers: to some units in the last place. Between
 * number and number they are in fixed point, since their terms have a scale that is known.
 */
#ifndef PCC_FUNCTION_H
#define PCC_FUNCTION_H

#include "number.h"

#define N_LN2 0xb17217f7d1cf79abULL /* ln 2 · 2^64 */
#define N_SIXTEENTHS 0xb8aa3b295c17f0bbULL /* 16/ln 2 · 2^59 */
#define N_ROOT_2 0x5a827999fcef3242ULL /* √2 · 2^62 */
/* Beyond these e^a is infinite, or zero. */
#define N_EXP_MOST 0x4086300000000000ULL  /* 710 */
#define N_EXP_LEAST 0xc086300000000000ULL /* -710 */

/* a · b / 2^64. */
PCC_PART u64 n_high(u64 a, u64 b)
{
	u64 a1 = a >> 32, a0 = (u32)a, b1 = b >> 32, b0 = (u32)b, middle;

	middle = a1 * b0 + ((a0 * b0) >> 32);
	return a1 * b1 + (middle >> 32) + ((a0 * b1 + (u32)middle) >> 32);
}

/* 2^64/n!, from n = 2. The first term left out is 0.0434^9/9! = 2e-18. */
#define N_EXP_TERMS 7
static const u64 n_exp_terms[N_EXP_TERMS] = {
	0x8000000000000000ULL,
	0x2aaaaaaaaaaaaaaaULL,
	0x0aaaaaaaaaaaaaaaULL,
	0x0222222222222222ULL,
	0x005b05b05b05b05bULL,
	0x000d00d00d00d00dULL,
	0x0001a01a01a01a01ULL,
};

/* 2^62 · 2^(n/16), from n = 0. */
static const u64 n_powers[16] = {
	0x4000000000000000ULL, 0x42d561b3e6243d8aULL, 0x45cae0f1f545eb73ULL, 0x48e1e9b9d588e19bULL,
	0x4c1bf828c6dc54b8ULL, 0x4f7a993048d088d7ULL, 0x52ff6b54d8a89c75ULL, 0x56ac1f752150a563ULL,
	0x5a827999fcef3242ULL, 0x5e8451cfac061b5fULL, 0x62b39508aa836d6fULL, 0x6712460a8fc24072ULL,
	0x6ba27e656b4eb57aULL, 0x70666f76154a7089ULL, 0x75606373ee921c97ULL, 0x7a92be8a92436616ULL,
};

/* 2^64/(2n + 1), from n = 1. The first term left out is 0.0295^11/23 = 6e-19. */
#define N_LOG_TERMS 10
static const u64 n_log_terms[N_LOG_TERMS] = {
	0x5555555555555555ULL, 0x3333333333333333ULL, 0x2492492492492492ULL, 0x1c71c71c71c71c71ULL,
	0x1745d1745d1745d1ULL, 0x13b13b13b13b13b1ULL, 0x1111111111111111ULL, 0x0f0f0f0f0f0f0f0fULL,
	0x0d79435e50d79435ULL, 0x0c30c30c30c30c30ULL,
};

/* e^a = 2^(n/16) · e^r, with 0 <= r < ln 2 / 16, the latter by its Taylor series. In fixed
 * point: a and r in units of 2^-53, what follows of 2^-64.
 */
PCC_CALL pcc_num n_exp(pcc_num a)
{
	s64 exponent = n_exponent(a) - N_BIAS, n;
	u64 size, whole, r, sum, m, zeros;
	int i;

	if (!n_known(a))
		return N_UNKNOWN;
	if (n_at_least(a, N_EXP_MOST))
		return N_INFINITY;
	if (n_at_most(a, N_EXP_LEAST))
		return N_ZERO;
	if (exponent < -54)
		return N_ONE;
	size = exponent > -1 ? n_mantissa(a) << (exponent + 1) : n_mantissa(a) >> (-1 - exponent);
	n = n_high(size, N_SIXTEENTHS) >> 48;
	if (a & N_SIGN) {
		/* Up to the next one, or the one after it if n was cut off. */
		n++;
		if (n_high((u64)n << 49, N_LN2) < size)
			n++;
	}
	whole = n_high((u64)n << 49, N_LN2);
	r = (a & N_SIGN ? whole - size : size - whole) << 11;
	n = a & N_SIGN ? -n : n;
	sum = n_exp_terms[N_EXP_TERMS - 1];
	for (i = N_EXP_TERMS - 2; i >= 0; i--)
		sum = n_exp_terms[i] + n_high(r, sum);
	m = n_powers[n & 15];
	m += n_high(m, r + n_high(r, n_high(r, sum)));
	zeros = !(m >> 63);
	return n_pack(0, N_BIAS + 1 + (n >> 4) - (s64)zeros, m << zeros);
}

/* ln(2^k · m) = k ln 2 + 2 artanh s, s = (m - 1)/(m + 1), 1/√2 <= m < √2. In fixed point: m
 * in units of 2^-62, s with as many digits as it has, their squares and sums in units of
 * 2^-64.
 */
PCC_CALL pcc_num n_log(pcc_num a)
{
	u64 m, apart, divisor, s, square, sum, size, zeros, places, sign, below;
	s64 k;
	int i;

	if (!n_known(a) || (a & N_SIGN && !n_is_zero(a)))
		return N_UNKNOWN;
	if (!n_exponent(a))
		return N_SIGN | N_INFINITY;
	if (!n_finite(a))
		return a;
	k = n_exponent(a) - N_BIAS;
	m = n_mantissa(a) << 10;
	/* Both without a branch, for BPF's verifier. */
	zeros = (N_ROOT_2 - 1 - m) >> 63;
	m >>= zeros;
	k += zeros;
	apart = m - (1ULL << 62);
	below = apart >> 63;
	apart = (apart ^ -below) + below;
	/* It is 0, or 2^9 or more. */
	zeros = n_leading_zeros(apart | 1 << 9);
	divisor = (m + (1ULL << 62)) << below;
	apart = apart << zeros >> 1;
	s = n_digit(&apart, divisor) << 32;
	s |= n_digit(&apart, divisor);
	/* s · 2^(below - zeros - 63) is what the formula calls so. */
	zeros -= below;
	square = n_high(s >> (zeros - 1), s >> (zeros - 1));
	sum = n_log_terms[N_LOG_TERMS - 1];
	for (i = N_LOG_TERMS - 2; i >= 0; i--)
		sum = n_log_terms[i] + n_high(square, sum);
	s >>= 1;
	s += n_high(s, n_high(square, sum));
	/* 2 artanh s, in units of 2^-(zeros + 61). */
	if (!k) {
		places = n_leading_zeros(s);
		return s ? n_pack(below ? N_SIGN : 0, 1025 - (s64)(zeros + places), s << places)
			 : N_ZERO;
	}
	sign = k < 0 ? N_SIGN : 0;
	size = sign ? -k : k;
	/* As many places as the largest has. */
	places = size < 32 ? 58 : 53;
	size = n_high(size << places, N_LN2);
	s >>= zeros + 61 - places;
	size = below == !sign ? size - s : size + s;
	zeros = n_leading_zeros(size);
	return n_pack(sign, 1086 - (s64)(places + zeros), size << zeros);
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
