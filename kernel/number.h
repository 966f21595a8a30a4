/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Numbers: binary64 (IEEE 754) in integers, since a kernel has no floating point.
 *
 * Fixed point has a scale of its own for each quantity, and a bound to prove for
 * each product: a rate of 100 Gbit/s, a loss of 1e-6, the square of an error of
 * 1e-4, e to the power of something that a user wrote. Such code goes wrong there.
 * Here the scale travels with the number, and nothing overflows. Sums, products,
 * quotients and roots are rounded as IEEE 754 demands (to nearest, ties to even).
 * So they equal the core's to the last bit. Exponentials and logarithms are within
 * 2^-51 of the core's.
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

#include "constants.h"
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

PCC_PART bool n_precedes(pcc_num a, pcc_num b)
{
	return n_known(a) && n_known(b) && n_order(a) < n_order(b);
}

/* Comparisons with NaN are false. A call of its own, since BPF's verifier follows each of its five
 * branches wherever it stands, and sees one result of a call.
 */
PCC_CALL bool n_less(pcc_num a, pcc_num b)
{
	return n_precedes(a, b);
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
PCC_CALL pcc_num n_min(pcc_num a, pcc_num b)
{
	return n_known(a) && !n_precedes(b, a) ? a : b;
}

PCC_CALL pcc_num n_max(pcc_num a, pcc_num b)
{
	return n_known(a) && !n_precedes(a, b) ? a : b;
}

PCC_PART pcc_num n_clamp(pcc_num a, pcc_num least, pcc_num most)
{
	return n_less(a, least) ? least : n_less(most, a) ? most : a;
}

/* The places by which m, which is not 0, must be shifted to have its top bit set. Without a branch,
 * so that BPF's verifier follows one way instead of 64.
 */
PCC_PART u32 n_leading_zeros(u64 m)
{
	u64 zeros, by;

	zeros = ((m >> 32) - 1) >> 63 << 5;
	m <<= zeros;
	by = ((m >> 48) - 1) >> 63 << 4;
	m <<= by;
	zeros += by;
	by = ((m >> 56) - 1) >> 63 << 3;
	m <<= by;
	zeros += by;
	by = ((m >> 60) - 1) >> 63 << 2;
	m <<= by;
	zeros += by;
	by = ((m >> 62) - 1) >> 63 << 1;
	m <<= by;
	return zeros + by + 1 - (m >> 63);
}

/* An exponent's number is neither zero nor infinite nor NaN. */
PCC_PART bool n_is_normal(s64 exponent)
{
	return (u64)(exponent - 1) < N_EXPONENT - 1;
}

/* ±m · 2^(exponent - 1086): m has its top bit set, the lowest also stands for
 * all that lies below it. Rounded to 53 bits.
 */
PCC_PART pcc_num n_pack(u64 sign, s64 exponent, u64 m)
{
	u64 rounded = m >> 11;

	/* Up from beyond a half, or from a half if that makes it even. */
	rounded += ((m & 0x7ff) + 0x3ff + (rounded & 1)) >> 11;
	if (!n_is_normal(exponent)) {
		if (exponent > 0)
			return sign | N_INFINITY;
		if (exponent < 0 || !(rounded >> 53))
			return sign;
	}
	/* The leading one adds to the exponent, and so does what was carried. */
	return sign + ((u64)(exponent - 1) << 52) + rounded;
}

/* Integers that are not too large for 53 bits are exact. */
PCC_PART pcc_num n_integer(u64 integer)
{
	u32 zeros = n_leading_zeros(integer);

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

/* m >> places; the lowest bit stands for all that were shifted out. */
PCC_PART u64 n_shifted(u64 m, u64 places)
{
	u64 kept = m >> places;

	return kept | (kept << places != m);
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
	n = apart > 62 ? 1 : n_shifted(n_mantissa(small) << 10, apart);
	if (!((a ^ b) & N_SIGN)) {
		m += n;
		n = !(m >> 63);
	} else {
		m -= n;
		if (!m)
			return N_ZERO;
		/* Numbers that are close to each other leave less. */
		n = m >> 61 ? 2 - (m >> 62) : n_leading_zeros(m);
	}
	return n_pack(big & N_SIGN, exponent + 1 - (s64)n, m << n);
}

PCC_PART pcc_num n_sub(pcc_num a, pcc_num b)
{
	return n_add(a, n_neg(b));
}

PCC_CALL pcc_num n_mul(pcc_num a, pcc_num b)
{
	u64 sign = (a ^ b) & N_SIGN, a1, a0, b1, b0, low, middle, m, top;
	s64 exponent = n_exponent(a) + n_exponent(b) - N_BIAS;

	if (!n_is_normal(n_exponent(a)) || !n_is_normal(n_exponent(b))) {
		if (n_finite(a) && n_finite(b))
			return sign;
		if (!n_known(a) || !n_known(b) || !n_exponent(a) || !n_exponent(b))
			return N_UNKNOWN;
		return sign | N_INFINITY;
	}
	/* 53 by 53 bits, in 27 and 26. The product has 105 or 106: the upper
	 * 64 of these, and whether there are any below.
	 */
	a1 = n_mantissa(a) >> 26;
	a0 = a & 0x3ffffff;
	b1 = n_mantissa(b) >> 26;
	b0 = b & 0x3ffffff;
	low = a0 * b0;
	middle = a1 * b0 + a0 * b1 + (low >> 26);
	m = ((a1 * b1) << 10) + (middle >> 16);
	top = m >> 63;
	m <<= 1 - top;
	if ((middle & 0xffff) | (low & 0x3ffffff))
		m |= 1;
	return n_pack(sign, exponent + (s64)top, m);
}

/* The next 32 bits of a quotient by b, whose top bit is set, and what remains.
 * rest < b. Source: Knuth, The Art of Computer Programming 4.3.1, algorithm D.
 */
PCC_PART u64 n_digit(u64 *rest, u64 b)
{
	u64 b1 = b >> 32, b0 = (u32)b;
	u64 digit = PCC_DIV(*rest, b1), left = *rest - digit * b1;

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
	/* The best polynomial of the second degree, relative to the root, is off by 0.5 % at
	 * the most; each of Heron's steps halves the error's square: 1.3e-5, 8e-11. The
	 * quotients are cut off: so it is too large by one at the most, and never too small.
	 */
	u64 x = m >> 26, root;

	root = 34799612 + ((x * (35299912 - ((x * 2653492) >> 26))) >> 26);
	root = (root + PCC_DIV(m, root)) >> 1;
	root = (root + PCC_DIV(m, root)) >> 1;
	return root * root > m ? root - 1 : root;
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
	/* The root of m · 2^54 has 54 bits: 27 from the upper half, and 27 by a
	 * division, which is too large by one at the most. All below 2^58. Source:
	 * P. Zimmermann, Karatsuba Square Root, 1999.
	 */
	root = n_root(m);
	rest = (m - root * root) << 27;
	digit = PCC_DIV(rest, 2 * root);
	rest = (rest - digit * 2 * root) << 27;
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

/* 2^116/10^9, cut off: its upper bits, the next 32, and the last. */
#define N_BILLIONTH_2 0x44b82fULL
#define N_BILLIONTH_1 0xa09b5a52ULL
#define N_BILLIONTH_0 0xcb98b405ULL

/* Less than a second. The dividend is below 2^30. So the quotient either has 53 bits, or is further
 * than 2^-84 of it from any number of 54 bits. The product here is off by 2^-86 of it at the most.
 * It is therefore rounded as the quotient would be.
 */
PCC_PART pcc_num n_below_a_second(u64 nanoseconds)
{
	u32 zeros = n_leading_zeros(nanoseconds);
	u64 n, low, middle, high, less;

	if (!nanoseconds)
		return N_ZERO;
	n = nanoseconds << zeros >> 34;
	low = n * N_BILLIONTH_0;
	middle = n * N_BILLIONTH_1 + (low >> 32);
	high = n * N_BILLIONTH_2 + (middle >> 32);
	less = 1 - (high >> 52);
	high = high << (11 + less) | (u32)middle >> (21 - less);
	return n_pack(0, N_BIAS + 34 - (s64)(less + zeros), high | 1);
}

/* Nanoseconds as seconds; rounded in the same way as in the core. */
PCC_CALL pcc_num n_seconds(u64 nanoseconds)
{
	u64 whole;

	if (nanoseconds < 1000000000)
		return n_below_a_second(nanoseconds);
	whole = PCC_DIV(nanoseconds, 1000000000);
	return n_add(n_from(whole), n_below_a_second(nanoseconds - whole * 1000000000));
}

/* Seconds as whole nanoseconds, to nearest: what is measured has no more digits. */
PCC_CALL pcc_num n_whole_nanoseconds(pcc_num seconds)
{
	return n_seconds(n_to(n_add(n_mul(seconds, N_BILLION), N_HALF)));
}

#endif
