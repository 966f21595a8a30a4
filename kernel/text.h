/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Utility programs as text: docs/utility.md, "Programs", for what takes them in as such.
 *
 *	pcc-utility/1 panic_loss=0.5 x 0.9 pow 900.0 x mul 0.0 g max mul sub
 */
#ifndef PCC_TEXT_H
#define PCC_TEXT_H

#include "programs.h"

#define PCC_LONGEST_WORD 14
/* The largest power of ten that 64 bits hold. */
#define PCC_EXACT_TENS 19
/* To a value below it another digit can be added within 63 bits. */
#define PCC_FULL 100000000000000000ULL
/* Beyond, a number of any digits here is zero or infinite. */
#define PCC_MOST_TENS 400

/* The rest of a text. */
struct pcc_text {
	const char *at;
	const char *end;
};

PCC_PART bool pcc_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word; an empty one at the end. */
PCC_PART struct pcc_text pcc_next_word(struct pcc_text *text)
{
	struct pcc_text word;

	while (text->at < text->end && pcc_is_blank(*text->at))
		text->at++;
	word.at = text->at;
	while (text->at < text->end && !pcc_is_blank(*text->at))
		text->at++;
	word.end = text->at;
	return word;
}

/* Whether a text begins with this; then it is what is left. */
PCC_PART bool pcc_skip(struct pcc_text *text, const char *prefix)
{
	const char *at = text->at;

	while (*prefix && at < text->end && *at == *prefix) {
		at++;
		prefix++;
	}
	if (*prefix)
		return false;
	text->at = at;
	return true;
}

PCC_PART bool pcc_is_word(struct pcc_text word, const char *name)
{
	return pcc_skip(&word, name) && word.at == word.end;
}

/* Which of some words it is; their number if none. */
PCC_PART u32 pcc_which(struct pcc_text word, const char (*words)[PCC_LONGEST_WORD + 1], u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (pcc_is_word(word, words[i]))
			break;
	return i;
}

/* Digits, as part of a number with these decimal powers; returns their number. Digits that no
 * longer fit are left out.
 */
PCC_PART u32 pcc_digits(struct pcc_text *text, u64 *value, s32 *tens, bool places)
{
	u32 digits = 0;

	while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
		if (*value < PCC_FULL) {
			*value = *value * 10 + (u64)(*text->at - '0');
			*tens -= places;
		} else {
			*tens += !places;
		}
		digits++;
		text->at++;
	}
	return digits;
}

/* value · 10^tens; value is below 2^63. */
PCC_PART pcc_num pcc_decimal(u64 value, s32 tens)
{
	u32 left = tens < 0 ? (u32)-tens : (u32)tens, some;
	pcc_num number = n_from(value);
	bool first = true;
	u64 power;

	for (; left && value; first = false) {
		some = left < PCC_EXACT_TENS ? left : PCC_EXACT_TENS;
		left -= some;
		for (power = 1; some; some--)
			power *= 10;
		if (tens > 0)
			number = n_mul(number, n_from(power));
		else if (!first)
			number = n_div(number, n_from(power));
		else
			number = n_divided(0, N_BIAS + (s64)n_leading_zeros(power) -
						      (s64)n_leading_zeros(value),
					   value << n_leading_zeros(value) >> 1,
					   power << n_leading_zeros(power));
	}
	return number;
}

/* A decimal number; NaN if it is none. It is right to the last bit with at most 18 digits and 19
 * places. People write no more, and programs do for tiny numbers only, which are rounded more than
 * once.
 */
PCC_CALL pcc_num pcc_number(struct pcc_text word)
{
	u64 value = 0, power = 0;
	s32 tens = 0, none = 0;
	bool negative, down;
	pcc_num number;
	u32 digits;

	negative = pcc_skip(&word, "-");
	digits = pcc_digits(&word, &value, &tens, false);
	if (pcc_skip(&word, "."))
		digits += pcc_digits(&word, &value, &tens, true);
	if (!digits)
		return N_UNKNOWN;
	if (pcc_skip(&word, "e")) {
		down = pcc_skip(&word, "-");
		if (!pcc_digits(&word, &power, &none, false))
			return N_UNKNOWN;
		power = power < PCC_MOST_TENS ? power : PCC_MOST_TENS;
		tens += down ? -(s32)power : (s32)power;
	}
	if (word.at != word.end)
		return N_UNKNOWN;
	number = pcc_decimal(value, tens);
	return negative ? number ^ N_SIGN : number;
}

PCC_PART bool pcc_read_op(struct pcc_program *program, struct pcc_op *op, struct pcc_text word)
{
	static const char measurements[PCC_MEASUREMENTS][PCC_LONGEST_WORD + 1] = {
		[PCC_X] = "x",
		[PCC_THROUGHPUT] = "T",
		[PCC_LOSS] = "L",
		[PCC_OWN_LOSS] = "E",
		[PCC_MARKS] = "marks",
		[PCC_RTT] = "rtt",
		[PCC_RTT_LEAST] = "rtt_least",
		[PCC_RTT_BASE] = "rtt_base",
		[PCC_QUEUE] = "q",
		[PCC_GROWTH] = "g",
		[PCC_SIGMA] = "sigma",
		[PCC_RESIDUAL] = "residual",
		[PCC_DURATION] = "duration",
		[PCC_PREV_X] = "prev_x",
		[PCC_PREV_THROUGHPUT] = "prev_T",
		[PCC_PREV_LOSS] = "prev_L",
		[PCC_PREV_RTT] = "prev_rtt",
	};
	static const char operators[PCC_CODES - PCC_NEG][PCC_LONGEST_WORD + 1] = {
		"neg",	   "add", "sub", "mul", "div", "pow", "min", "max", "abs", "exp", "log", "sqrt",
		"sigmoid", "lt",  "le",	 "gt",	"ge",  "not", "and", "or",  "known", "if",
	};
	struct pcc_text slot = word;
	u64 number = 0;
	s32 none = 0;

	*op = (struct pcc_op){ 0 };
	op->index = pcc_which(word, measurements, PCC_MEASUREMENTS);
	if (op->index < PCC_MEASUREMENTS) {
		op->code = PCC_LOAD;
		program->loads |= 1U << op->index;
		return true;
	}
	op->index = 0;
	op->code = PCC_NEG + pcc_which(word, operators, PCC_CODES - PCC_NEG);
	if (op->code < PCC_CODES)
		return true;
	op->code = pcc_skip(&slot, "set") ? PCC_SET : pcc_skip(&slot, "get") ? PCC_GET : PCC_PUSH;
	if (op->code != PCC_PUSH) {
		if (!pcc_digits(&slot, &number, &none, false) || slot.at != slot.end ||
		    number >= PCC_MOST_SLOTS)
			return false;
		op->index = (u32)number;
		return true;
	}
	op->value = pcc_number(word);
	return n_finite(op->value);
}

/* Which code there is of it, whatever values it pushes; 0 for none. */
PCC_PART u32 pcc_built_in_of(const struct pcc_program *program)
{
	static const struct pcc_program fair = PCC_UTILITY_FAIR;
	u32 i;

	if (program->length != fair.length)
		return 0;
	for (i = 0; i < fair.length; i++)
		if (program->ops[i].code != fair.ops[i].code ||
		    program->ops[i].index != fair.ops[i].index)
			return 0;
	return PCC_IS_FAIR;
}

/* Why a program is none. */
enum pcc_invalid {
	PCC_VALID,
	PCC_TOO_LONG,
	PCC_TOO_DEEP,
	/* A step takes more than there is, more or less than one value is left, a slot is read
	 * before it is set, or a word means nothing.
	 */
	PCC_MALFORMED,
};

/* Whether the operations that were read find their values, and leave one. */
PCC_PART enum pcc_invalid pcc_program_check(const struct pcc_program *program)
{
	u32 i, takes, held = 0, depth = 0, set = 0;
	const struct pcc_op *op;

	for (i = 0; i < program->length; i++) {
		op = &program->ops[i];
		if (op->code == PCC_GET && !(set & (1U << op->index)))
			return PCC_MALFORMED;
		if (op->code == PCC_SET)
			set |= 1U << op->index;
		takes = op->code > PCC_GET ? pcc_operands(op->code) : op->code == PCC_SET;
		if (held < takes)
			return PCC_MALFORMED;
		held += (op->code != PCC_SET) - takes;
		if (held > depth)
			depth = held;
	}
	if (depth > PCC_MOST_DEPTH)
		return PCC_TOO_DEEP;
	return held == 1 ? PCC_VALID : PCC_MALFORMED;
}

/* Reads a program, of so many bytes, and checks it. *bad is the word that means nothing,
 * if that was the reason; NULL otherwise.
 */
PCC_PART enum pcc_invalid pcc_program_read(struct pcc_program *program, const char *text,
					   size_t length, struct pcc_text *bad)
{
	struct pcc_text rest = { text, text + length }, word;

	*program = (struct pcc_program){ 0 };
	*bad = pcc_next_word(&rest);
	if (!pcc_is_word(*bad, "pcc-utility/1"))
		return PCC_MALFORMED;
	*bad = word = pcc_next_word(&rest);
	if (!pcc_skip(&word, "panic_loss="))
		return PCC_MALFORMED;
	program->panic_loss = pcc_number(word);
	if (!n_at_least(program->panic_loss, N_ZERO) || !n_at_most(program->panic_loss, N_ONE))
		return PCC_MALFORMED;
	for (;;) {
		*bad = word = pcc_next_word(&rest);
		if (word.at == word.end)
			break;
		if (program->length >= PCC_MOST_OPS) {
			*bad = (struct pcc_text){ 0 };
			return PCC_TOO_LONG;
		}
		if (!pcc_read_op(program, &program->ops[program->length], word))
			return PCC_MALFORMED;
		program->length++;
	}
	*bad = (struct pcc_text){ 0 };
	program->built_in = pcc_built_in_of(program);
	return pcc_program_check(program);
}

#endif
