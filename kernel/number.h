/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Numbers: binary64 (IEEE 754) in integers, since a kernel has no floating point.
 *
 * A rate of 10 kbit/s and one of 100 Gbit/s, a loss of 1e-6, the square of an
 * error of 1e-4, e to the power of something that a user wrote: one format with
 * a scale of its own for each of them, and a bound to prove for each product,
 * is where such code goes wrong. Here the scale travels with the number, and
 * nothing overflows: a result is rounded as IEEE 754 demands (to nearest, ties
 * to even) in sums, products, quotients and roots, so that they equal the
 * core's to the last bit; exponentials and logarithms are within 2^-50 of them.
 *
 * Differences from IEEE 754: what is smaller than 2^-1022 is zero, and there is
 * one NaN, without a sign. NaN is also what the utility language calls "not
 * defined", and what a report holds where nothing was measured.
 *
 * A monitor interval, once a round trip, is worth some thousands of these
 * operations of 10 to 30 ns each; an acknowledgement none.
 */
#ifndef PCC_NUMBER_H
#define PCC_NUMBER_H

#include "platform.h"

/* The bits of the number: sign, 11 of exponent + 1023, 52 of mantissa. */
typedef u64 pcc_num;

#define N_SIGN (1ULL << 63)
#define N_INFINITY 0x7ff0000000000000ULL
#define N_UNKNOWN 0x7ff8000000000000ULL /* NaN */
#define N_HIDDEN (1ULL << 52)
#define N_MANTISSA (N_HIDDEN - 1)
#define N_EXPONENT 0x7ff
#define N_BIAS 1023

#define N_ZERO 0ULL
#define N_HALF 0x3fe0000000000000ULL
#define N_ONE 0x3ff0000000000000ULL
#define N_TWO 0x4000000000000000ULL
#define N_THREE 0x4008000000000000ULL
#define N_FOUR 0x4010000000000000ULL
#define N_BILLION 0x41cdcd6500000000ULL /* 1e9 */

PCC_PART u64 n_size(pcc_num a)
{
	return a & ~N_SIGN;
}

/* Not NaN. */
PCC_PART bool n_known(pcc_num a)
{
	return n_size(a) <= N_INFINITY;
}

PCC_PART bool n_finite(pcc_num a)
{
	return n_size(a) < N_INFINITY;
}

PCC_PART bool n_is_zero(pcc_num a)
{
	return n_size(a) == 0;
}

PCC_PART pcc_num n_abs(pcc_num a)
{
	return n_size(a);
}

PCC_PART pcc_num n_neg(pcc_num a)
{
	return n_known(a) ? a ^ N_SIGN : a;
}

/* Numbers in the order of signed integers; both zeros are 0. */
PCC_PART s64 n_order(pcc_num a)
{
	return a & N_SIGN ? -(s64)n_size(a) : (s64)a;
}

/* Comparisons with NaN are false. */
PCC_PART bool n_less(pcc_num a, pcc_num b)
{
	return n_known(a) && n_known(b) && n_order(a) < n_order(b);
}

PCC_PART bool n_at_most(pcc_num a, pcc_num b)
{
	return n_known(a) && n_known(b) && n_order(a) <= n_order(b);
}

PCC_PART bool n_above(pcc_num a, pcc_num b)
{
	return n_less(b, a);
}

PCC_PART bool n_at_least(pcc_num a, pcc_num b)
{
	return n_at_most(b, a);
}

/* The other one where one is NaN. */
PCC_PART pcc_num n_min(pcc_num a, pcc_num b)
{
	return n_known(a) && !n_less(b, a) ? a : b;
}

PCC_PART pcc_num n_max(pcc_num a, pcc_num b)
{
	return n_known(a) && !n_less(a, b) ? a : b;
}

PCC_PART pcc_num n_clamp(pcc_num a, pcc_num least, pcc_num most)
{
	return n_less(a, least) ? least : n_less(most, a) ? most : a;
}

/* By how many places m, which is not 0, must be shifted to have its top bit set. */
PCC_PART u32 n_leading_zeros(u64 m)
{
	u32 zeros = 0;

	if (!(m >> 32)) {
		zeros += 32;
		m <<= 32;
	}
	if (!(m >> 48)) {
		zeros += 16;
		m <<= 16;
	}
	if (!(m >> 56)) {
		zeros += 8;
		m <<= 8;
	}
	if (!(m >> 60)) {
		zeros += 4;
		m <<= 4;
	}
	if (!(m >> 62)) {
		zeros += 2;
		m <<= 2;
	}
	return zeros + !(m >> 63);
}

/* ±m · 2^(exponent - 1086): m has its top bit set, the lowest also stands for
 * all that lies below it. Rounded to 53 bits.
 */
PCC_PART pcc_num n_pack(u64 sign, s64 exponent, u64 m)
{
	u64 rest = m & 0x7ff;

	m >>= 11;
	if (rest > 0x400 || (rest == 0x400 && (m & 1)))
		m++;
	if (m >> 53) {
		m >>= 1;
		exponent++;
	}
	if (exponent >= N_EXPONENT)
		return sign | N_INFINITY;
	if (exponent <= 0)
		return sign;
	return sign | ((u64)exponent << 52) | (m & N_MANTISSA);
}

/* Integers that are not too large for 53 bits are exact. */
PCC_PART pcc_num n_integer(u64 integer)
{
	u32 zeros = integer ? n_leading_zeros(integer) : 0;

	return integer ? n_pack(0, N_BIAS + 63 - (s64)zeros, integer << zeros) : N_ZERO;
}

PCC_CALL pcc_num n_from(u64 integer)
{
	return n_integer(integer);
}

PCC_PART s64 n_exponent(pcc_num a)
{
	return (a >> 52) & N_EXPONENT;
}

/* With the leading 1, that the format does not write. */
PCC_PART u64 n_mantissa(pcc_num a)
{
	return (a & N_MANTISSA) | N_HIDDEN;
}

PCC_CALL pcc_num n_add(pcc_num a, pcc_num b)
{
	u64 big = a, small = b, m, n;
	s64 exponent, apart;

	if (n_size(a) < n_size(b)) {
		big = b;
		small = a;
	}
	exponent = n_exponent(big);
	if (exponent == N_EXPONENT) {
		/* NaN, or infinite and the other one of the opposite sign. */
		if (!n_known(big) || (!n_finite(small) && big != small))
			return N_UNKNOWN;
		return big;
	}
	if (!n_exponent(small))
		return exponent ? big : a & b & N_SIGN;
	apart = exponent - n_exponent(small);
	/* Ten places are left for the rounding, and one on top for the sum. */
	m = n_mantissa(big) << 10;
	n = n_mantissa(small) << 10;
	if (apart > 62)
		n = 1;
	else if (apart)
		n = (n >> apart) | ((n & ((1ULL << apart) - 1)) != 0);
	m = (a ^ b) & N_SIGN ? m - n : m + n;
	if (!m)
		return N_ZERO;
	n = n_leading_zeros(m);
	return n_pack(big & N_SIGN, exponent + 1 - (s64)n, m << n);
}

PCC_PART pcc_num n_sub(pcc_num a, pcc_num b)
{
	return n_add(a, n_neg(b));
}

PCC_CALL pcc_num n_mul(pcc_num a, pcc_num b)
{
	u64 sign = (a ^ b) & N_SIGN, a1, a0, b1, b0, middle, high, low;
	s64 exponent = n_exponent(a) + n_exponent(b) - N_BIAS + 1;

	if (!n_finite(a) || !n_finite(b)) {
		if (!n_known(a) || !n_known(b) || !n_exponent(a) || !n_exponent(b))
			return N_UNKNOWN;
		return sign | N_INFINITY;
	}
	if (!n_exponent(a) || !n_exponent(b))
		return sign;
	/* 64 by 64 bits in halves. With the top bits set the product is at
	 * least 2^126; each partial sum below stays under 2^64.
	 */
	a0 = n_mantissa(a) << 11;
	b0 = n_mantissa(b) << 11;
	a1 = a0 >> 32;
	a0 = (u32)a0;
	b1 = b0 >> 32;
	b0 = (u32)b0;
	low = a0 * b0;
	middle = a1 * b0 + (low >> 32);
	high = a1 * b1 + (middle >> 32);
	middle = a0 * b1 + (u32)middle;
	high += middle >> 32;
	low = (middle << 32) | (u32)low;
	if (!(high >> 63)) {
		high = (high << 1) | (low >> 63);
		low <<= 1;
		exponent--;
	}
	return n_pack(sign, exponent, high | (low != 0));
}

/* The next 32 bits of a quotient by b, whose top bit is set, and what remains.
 * rest < b. Source: Knuth, The Art of Computer Programming 4.3.1, algorithm D.
 */
PCC_PART u64 n_digit(u64 *rest, u64 b)
{
	u64 b1 = b >> 32, b0 = (u32)b;
	u64 digit = *rest / b1, left = *rest % b1;

	/* Too large by two at the most. The rest's next 32 bits are 0. */
	if (digit >> 32 || digit * b0 > left << 32) {
		digit--;
		left += b1;
		if (!(left >> 32) && (digit >> 32 || digit * b0 > left << 32))
			digit--;
	}
	/* Right modulo 2^64: what remains is less than b. */
	*rest = (*rest << 32) - digit * b;
	return digit;
}

/* A quotient with this exponent: of rest, whose top bit is the second one, by what has its
 * top bit set.
 */
PCC_PART pcc_num n_divided(u64 sign, s64 exponent, u64 rest, u64 divisor)
{
	u64 m;

	/* a·2^-1 < b: the quotient's first bit is in its place, or one below. */
	m = n_digit(&rest, divisor) << 32;
	m |= n_digit(&rest, divisor);
	if (!(m >> 63)) {
		m <<= 1;
		exponent--;
		/* One bit more. */
		if (rest >> 63 || rest << 1 >= divisor) {
			rest = (rest << 1) - divisor;
			m |= 1;
		}
	}
	return n_pack(sign, exponent, m | (rest != 0));
}

PCC_PART pcc_num n_quotient(pcc_num a, pcc_num b)
{
	u64 sign = (a ^ b) & N_SIGN;
	s64 exponent = n_exponent(a) - n_exponent(b) + N_BIAS;

	if (!n_known(a) || !n_known(b))
		return N_UNKNOWN;
	if (!n_finite(a))
		return n_finite(b) ? sign | N_INFINITY : N_UNKNOWN;
	if (!n_finite(b))
		return sign;
	if (!n_exponent(b))
		return n_exponent(a) ? sign | N_INFINITY : N_UNKNOWN;
	if (!n_exponent(a))
		return sign;
	return n_divided(sign, exponent, n_mantissa(a) << 10, n_mantissa(b) << 11);
}

PCC_CALL pcc_num n_div(pcc_num a, pcc_num b)
{
	return n_quotient(a, b);
}

/* A constant, as people write it: 2 of 100 is 0.02. The compiler computes it, and
 * it is the number that a compiler of the core makes of "0.02": both round once.
 */
PCC_PART pcc_num n_ratio(u64 a, u64 b)
{
	return n_quotient(n_integer(a), n_integer(b));
}

/* The integer part of the root of m, 2^52 <= m < 2^54. */
PCC_PART u64 n_root(u64 m)
{
	/* The chord from (2^52, 2^26) to (2^54, 2^27) is at most 6 % too low,
	 * and each step squares and halves the error: 2e-3, 2e-6, 2e-12.
	 */
	u64 root = (1ULL << 26) + (m - (1ULL << 52)) / (3ULL << 26);

	root = (root + m / root) >> 1;
	root = (root + m / root) >> 1;
	root = (root + m / root) >> 1;
	if (root * root > m)
		root--;
	if ((root + 1) * (root + 1) <= m)
		root++;
	return root;
}

PCC_CALL pcc_num n_sqrt(pcc_num a)
{
	s64 exponent = n_exponent(a) - N_BIAS;
	u64 m, root, rest, digit;

	if (!n_exponent(a))
		return N_ZERO;
	if (a & N_SIGN || !n_known(a))
		return N_UNKNOWN;
	if (!n_finite(a))
		return a;
	m = n_mantissa(a);
	if (exponent & 1)
		m <<= 1;
	/* The root of m · 2^54, 54 bits: 27 of them from the upper half, 27
	 * more by a division, which is too large by one at the most (P.
	 * Zimmermann, Karatsuba Square Root, 1999). All below 2^58.
	 */
	root = n_root(m);
	rest = (m - root * root) << 27;
	digit = rest / (2 * root);
	rest = (rest % (2 * root)) << 27;
	root = (root << 27) + digit;
	if (digit * digit > rest) {
		root--;
		rest += 2 * root + 1;
	}
	rest -= digit * digit;
	return n_pack(0, (exponent >> 1) + N_BIAS, (root << 10) | (rest != 0));
}

/* The integer part; 0 of what is negative or NaN, 2^64 - 1 of what is larger. */
PCC_PART u64 n_to(pcc_num a)
{
	s64 places = n_exponent(a) - N_BIAS;

	if (a & N_SIGN || !n_known(a) || places < 0)
		return 0;
	if (places > 63)
		return ~0ULL;
	return places >= 52 ? n_mantissa(a) << (places - 52)
			    : n_mantissa(a) >> (52 - places);
}

/* Without the fraction; above 2^52 there is none. Not for negative numbers. */
PCC_PART pcc_num n_floor(pcc_num a)
{
	return n_exponent(a) - N_BIAS >= 52 ? a : n_from(n_to(a));
}

PCC_PART pcc_num n_square(pcc_num a)
{
	return n_mul(a, a);
}

/* Nanoseconds as seconds; rounded in the same way as in the core. */
PCC_CALL pcc_num n_seconds(u64 nanoseconds)
{
	pcc_num fraction = n_div(n_from(nanoseconds % 1000000000), N_BILLION);

	return n_add(n_from(nanoseconds / 1000000000), fraction);
}

/* Seconds as whole nanoseconds, to nearest: what is measured has no more digits. */
PCC_CALL pcc_num n_whole_nanoseconds(pcc_num seconds)
{
	return n_seconds(n_to(n_add(n_mul(seconds, N_BILLION), N_HALF)));
}

#endif
