/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Utilities as programs for a stack machine: docs/utility.md, "Programs". The code that takes a
 * program in checks it: text.h, crates/bpf/src/program.rs. The code that runs one stays within its
 * bounds whatever the program says, so a program that changes while it runs costs no more than a
 * wrong number.
 */
#ifndef PCC_PROGRAM_H
#define PCC_PROGRAM_H

#include "function.h"
#include "report.h"

/* Powers of two: a mask keeps an index within. */
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
	/* Which code there is of it, whatever values it pushes: of fair (fair.h), or of the
	 * formula that BPF was loaded with (formula.h). 0 for none.
	 */
	u32 built_in;
	u32 reserved;
	struct pcc_op ops[PCC_MOST_OPS];
};

#define PCC_IS_FAIR 1U
#define PCC_WRITTEN 255U

/* A program's memory; nothing stays in it from one run to the next. */
struct pcc_machine {
	pcc_num measured[PCC_MOST_MEASUREMENTS];
	pcc_num stack[PCC_MOST_DEPTH];
	pcc_num slots[PCC_MOST_SLOTS];
	u32 held;
	u32 reserved;
};

/* The code of a formula finds these there: crates/bpf/src/formula.rs. */
PCC_LIES(pcc_program, ops, 24);
PCC_LIES(pcc_machine, stack, 256);
PCC_LIES(pcc_machine, slots, 384);

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

/* A value that is not finite is not defined. */
PCC_PART pcc_num pcc_defined(pcc_num a)
{
	return n_finite(a) ? a : N_UNKNOWN;
}

/* The result of an operator that has one even for operands that are not known. */
PCC_PART pcc_num pcc_apply_logic(u32 code, pcc_num a, pcc_num b, pcc_num c)
{
	bool knows_a = n_known(a), knows_b = n_known(b);
	bool a_true = knows_a && !n_is_zero(a), b_true = knows_b && !n_is_zero(b);

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
	default:
		return !knows_a ? N_UNKNOWN : a_true ? b : c;
	}
}

/* The result of an operator that compares its operands, which are known. */
PCC_PART pcc_num pcc_apply_order(u32 code, pcc_num a, pcc_num b)
{
	switch (code) {
	case PCC_MIN:
		return pcc_defined(n_min(a, b));
	case PCC_MAX:
		return pcc_defined(n_max(a, b));
	case PCC_LT:
		return pcc_truth(n_less(a, b));
	case PCC_LE:
		return pcc_truth(n_at_most(a, b));
	case PCC_GT:
		return pcc_truth(n_above(a, b));
	case PCC_GE:
		return pcc_truth(n_at_least(a, b));
	default:
		return pcc_truth(n_is_zero(a));
	}
}

/* The result of an operator. Operands that it does not take are ignored. */
PCC_PART pcc_num pcc_apply(u32 code, pcc_num a, pcc_num b, pcc_num c)
{
	switch (code) {
	case PCC_KNOWN:
	case PCC_AND:
	case PCC_OR:
	case PCC_IF:
		return pcc_apply_logic(code, a, b, c);
	case PCC_MIN:
	case PCC_MAX:
	case PCC_LT:
	case PCC_LE:
	case PCC_GT:
	case PCC_GE:
	case PCC_NOT:
		if (!n_known(a) || (code != PCC_NOT && !n_known(b)))
			return N_UNKNOWN;
		return pcc_apply_order(code, a, b);
	/* These give NaN of NaN. */
	case PCC_NEG:
		return pcc_defined(n_neg(a));
	case PCC_ADD:
		return pcc_defined(n_add(a, b));
	case PCC_SUB:
		return pcc_defined(n_sub(a, b));
	case PCC_MUL:
		return pcc_defined(n_mul(a, b));
	case PCC_DIV:
		return pcc_defined(n_div(a, b));
	case PCC_POW:
		return pcc_defined(n_pow(a, b));
	case PCC_ABS:
		return pcc_defined(n_abs(a));
	case PCC_EXP:
		return pcc_defined(n_exp(a));
	case PCC_LOG:
		return pcc_defined(n_log(a));
	case PCC_SQRT:
		return pcc_defined(n_sqrt(a));
	case PCC_SIGMOID:
		return pcc_defined(pcc_sigmoid(a));
	default:
		return N_UNKNOWN;
	}
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

	PCC_NEEDS(op && machine, 0);
	slot = op->index & (PCC_MOST_SLOTS - 1);
	code = op->code;
	switch (code) {
	case PCC_PUSH:
		pcc_push(machine, op->value);
		return 0;
	case PCC_LOAD:
		a = machine->measured[op->index & (PCC_MOST_MEASUREMENTS - 1)];
		pcc_push(machine, pcc_defined(a));
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

/* A program's result for machine->measured; NaN where that is not defined. */
PCC_CALL pcc_num pcc_run(const struct pcc_program *program, struct pcc_machine *machine)
{
	u32 i, length;

	PCC_NEEDS(program && machine, N_UNKNOWN);
	machine->held = 0;
	length = program->length;
	for (i = 0; i < PCC_MOST_OPS; i++) {
		if (i >= length)
			break;
		pcc_step(&program->ops[i], machine);
	}
	return pcc_pop(machine);
}

/* The measurements that a program will ask for. */
PCC_CALL int pcc_measure(struct pcc_machine *machine, const struct pcc_report *report, u32 loads)
{
	u32 i;

	PCC_NEEDS(machine && report, 0);
	for (i = 0; i < PCC_MEASUREMENTS; i++)
		if (loads & (1U << i))
			machine->measured[i] = pcc_measurement(report, i);
	return 0;
}

#endif
