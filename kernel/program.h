/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Utilities as programs for a stack machine: docs/utility.md, "Programs".
 *
 * Whoever takes a program in checks it (pcc_program_check). What runs one stays
 * within its bounds whatever the program says, so that one which changes while
 * it runs costs no more than a wrong number.
 */
#ifndef PCC_PROGRAM_H
#define PCC_PROGRAM_H

#include "function.h"
#include "report.h"

/* Powers of two: a mask keeps an index within. */
#define PCC_MOST_OPS 256
#define PCC_MOST_DEPTH 16
#define PCC_MOST_SLOTS 16
#define PCC_MOST_MEASUREMENTS 32

enum pcc_code {
	PCC_PUSH,	/* value */
	PCC_LOAD,	/* measurement number index, enum pcc_measurement */
	PCC_SET,	/* slot number index */
	PCC_GET,
	PCC_NEG,	/* the operators, in the order of the core's */
	PCC_ADD,
	PCC_SUB,
	PCC_MUL,
	PCC_DIV,
	PCC_POW,
	PCC_MIN,
	PCC_MAX,
	PCC_ABS,
	PCC_EXP,
	PCC_LOG,
	PCC_SQRT,
	PCC_SIGMOID,
	PCC_LT,
	PCC_LE,
	PCC_GT,
	PCC_GE,
	PCC_NOT,
	PCC_AND,
	PCC_OR,
	PCC_KNOWN,
	PCC_IF,
	PCC_CODES
};

struct pcc_op {
	u32 code;
	u32 index;
	pcc_num value;
};

struct pcc_program {
	u32 length;
	/* The measurements that it loads: bit 1 << enum pcc_measurement. */
	u32 loads;
	pcc_num panic_loss;
	struct pcc_op ops[PCC_MOST_OPS];
};

/* What a program works with; nothing stays in it from one run to the next. */
struct pcc_machine {
	pcc_num measured[PCC_MOST_MEASUREMENTS];
	pcc_num stack[PCC_MOST_DEPTH];
	pcc_num slots[PCC_MOST_SLOTS];
	u32 held;
	u32 reserved;
};

PCC_PART u32 pcc_operands(u32 code)
{
	switch (code) {
	case PCC_NEG:
	case PCC_ABS:
	case PCC_EXP:
	case PCC_LOG:
	case PCC_SQRT:
	case PCC_SIGMOID:
	case PCC_NOT:
	case PCC_KNOWN:
		return 1;
	case PCC_IF:
		return 3;
	default:
		return 2;
	}
}

PCC_PART pcc_num pcc_truth(bool is)
{
	return is ? N_ONE : N_ZERO;
}

/* 1/(1 + e^-a), from either end without an overflow on the way. */
PCC_PART pcc_num pcc_sigmoid(pcc_num a)
{
	pcc_num power = n_exp(n_neg(n_abs(a)));
	pcc_num sum = n_add(N_ONE, power);

	return n_div(a & N_SIGN && !n_is_zero(a) ? power : N_ONE, sum);
}

/* What an operator gives. Operands that it does not take are ignored. */
PCC_PART pcc_num pcc_apply(u32 code, pcc_num a, pcc_num b, pcc_num c)
{
	bool knows_a = n_known(a), knows_b = n_known(b);
	bool a_true = knows_a && !n_is_zero(a), b_true = knows_b && !n_is_zero(b);
	pcc_num result;

	switch (code) {
	case PCC_KNOWN:
		return pcc_truth(knows_a);
	case PCC_AND:
		if ((knows_a && !a_true) || (knows_b && !b_true))
			return N_ZERO;
		return knows_a && knows_b ? N_ONE : N_UNKNOWN;
	case PCC_OR:
		if (a_true || b_true)
			return N_ONE;
		return knows_a && knows_b ? N_ZERO : N_UNKNOWN;
	case PCC_IF:
		return !knows_a ? N_UNKNOWN : a_true ? b : c;
	}
	if (!knows_a || (pcc_operands(code) > 1 && !knows_b))
		return N_UNKNOWN;
	switch (code) {
	case PCC_NEG:
		result = n_neg(a);
		break;
	case PCC_ADD:
		result = n_add(a, b);
		break;
	case PCC_SUB:
		result = n_sub(a, b);
		break;
	case PCC_MUL:
		result = n_mul(a, b);
		break;
	case PCC_DIV:
		result = n_div(a, b);
		break;
	case PCC_POW:
		result = n_pow(a, b);
		break;
	case PCC_MIN:
		result = n_min(a, b);
		break;
	case PCC_MAX:
		result = n_max(a, b);
		break;
	case PCC_ABS:
		result = n_abs(a);
		break;
	case PCC_EXP:
		result = n_exp(a);
		break;
	case PCC_LOG:
		result = n_log(a);
		break;
	case PCC_SQRT:
		result = n_sqrt(a);
		break;
	case PCC_SIGMOID:
		result = pcc_sigmoid(a);
		break;
	case PCC_LT:
		return pcc_truth(n_less(a, b));
	case PCC_LE:
		return pcc_truth(n_at_most(a, b));
	case PCC_GT:
		return pcc_truth(n_above(a, b));
	case PCC_GE:
		return pcc_truth(n_at_least(a, b));
	case PCC_NOT:
		return pcc_truth(!a_true);
	default:
		return N_UNKNOWN;
	}
	return n_finite(result) ? result : N_UNKNOWN;
}

PCC_PART void pcc_push(struct pcc_machine *machine, pcc_num value)
{
	if (machine->held < PCC_MOST_DEPTH) {
		machine->stack[machine->held & (PCC_MOST_DEPTH - 1)] = value;
		machine->held++;
	}
}

/* NaN where nothing is left. */
PCC_PART pcc_num pcc_pop(struct pcc_machine *machine)
{
	if (!machine->held)
		return N_UNKNOWN;
	machine->held--;
	return machine->stack[machine->held & (PCC_MOST_DEPTH - 1)];
}

/* One operation; how many are on the stack the verifier need not follow from one to the
 * next.
 */
PCC_CALL int pcc_step(const struct pcc_op *op, struct pcc_machine *machine)
{
	pcc_num a, b = N_ZERO, c = N_ZERO;
	u32 slot, code, takes;

	PCC_NEEDS(op, 0);
	PCC_NEEDS(machine, 0);
	slot = op->index & (PCC_MOST_SLOTS - 1);
	code = op->code;
	switch (code) {
	case PCC_PUSH:
		pcc_push(machine, op->value);
		return 0;
	case PCC_LOAD:
		a = machine->measured[op->index & (PCC_MOST_MEASUREMENTS - 1)];
		pcc_push(machine, n_finite(a) ? a : N_UNKNOWN);
		return 0;
	case PCC_SET:
		machine->slots[slot] = pcc_pop(machine);
		return 0;
	case PCC_GET:
		pcc_push(machine, machine->slots[slot]);
		return 0;
	}
	takes = pcc_operands(code);
	if (takes > 2)
		c = pcc_pop(machine);
	if (takes > 1)
		b = pcc_pop(machine);
	a = pcc_pop(machine);
	pcc_push(machine, pcc_apply(code, a, b, c));
	return 0;
}

/* What a program makes of machine->measured; NaN where that is not defined. */
PCC_CALL pcc_num pcc_run(const struct pcc_program *program, struct pcc_machine *machine)
{
	u32 i, length;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(machine, N_UNKNOWN);
	machine->held = 0;
	length = program->length;
	for (i = 0; i < PCC_MOST_OPS; i++) {
		if (i >= length)
			break;
		pcc_step(&program->ops[i], machine);
	}
	return pcc_pop(machine);
}

/* What a program will ask for. */
PCC_CALL int pcc_measure(struct pcc_machine *machine, const struct pcc_report *report, u32 loads)
{
	u32 i;

	PCC_NEEDS(machine, 0);
	PCC_NEEDS(report, 0);
	for (i = 0; i < PCC_MEASUREMENTS; i++)
		if (loads & (1U << i))
			machine->measured[i] = pcc_measurement(report, i);
	return 0;
}

/* The utility of a report; NaN where it is not defined. */
PCC_PART pcc_num pcc_utility(const struct pcc_program *program, const struct pcc_report *report,
			     struct pcc_machine *machine)
{
	pcc_measure(machine, report, program->loads);
	return pcc_run(program, machine);
}

/* What a law takes for the utility of what has none: a quarter of the least number. */
#define PCC_WORST 0xffcfffffffffffffULL

/* The utility as a law wants it: finite. */
PCC_PART pcc_num pcc_worth(const struct pcc_program *program, const struct pcc_report *report,
			   struct pcc_machine *machine)
{
	pcc_num utility = pcc_utility(program, report, machine);

	return n_finite(utility) ? utility : PCC_WORST;
}

/* Why a program is none. */
enum pcc_invalid {
	PCC_VALID,
	PCC_TOO_LONG,
	PCC_TOO_DEEP,
	/* A step takes more than there is, more or less than one value is left,
	 * a slot is read before it is set or does not exist, an operation or a
	 * measurement is none, or a number is not finite.
	 */
	PCC_MALFORMED,
};

/* For whoever takes a program in: a loader, a module. */
PCC_PART enum pcc_invalid pcc_program_check(const struct pcc_program *program)
{
	u32 i, takes, gives, held = 0, depth = 0, set = 0, loads = 0;

	if (program->length > PCC_MOST_OPS)
		return PCC_TOO_LONG;
	for (i = 0; i < program->length; i++) {
		const struct pcc_op *op = &program->ops[i];

		takes = 0;
		gives = 1;
		if (op->code >= PCC_CODES)
			return PCC_MALFORMED;
		if (op->code == PCC_PUSH && !n_finite(op->value))
			return PCC_MALFORMED;
		if (op->code == PCC_LOAD) {
			if (op->index >= PCC_MEASUREMENTS)
				return PCC_MALFORMED;
			loads |= 1U << op->index;
		}
		if (op->code == PCC_SET || op->code == PCC_GET) {
			if (op->index >= PCC_MOST_SLOTS)
				return PCC_MALFORMED;
			if (op->code == PCC_GET && !(set & (1U << op->index)))
				return PCC_MALFORMED;
			set |= 1U << op->index;
		}
		if (op->code == PCC_SET) {
			takes = 1;
			gives = 0;
		} else if (op->code > PCC_GET) {
			takes = pcc_operands(op->code);
		}
		if (held < takes)
			return PCC_MALFORMED;
		held += gives - takes;
		if (held > depth)
			depth = held;
	}
	if (depth > PCC_MOST_DEPTH)
		return PCC_TOO_DEEP;
	if (held != 1 || loads != program->loads || !n_at_least(program->panic_loss, N_ZERO) ||
	    !n_at_most(program->panic_loss, N_ONE))
		return PCC_MALFORMED;
	return PCC_VALID;
}

#endif
