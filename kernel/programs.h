/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The built-in utilities as programs, and as C; crates/core/src/utility/text has them as
 * text. Written by `PCC_KERNEL_WRITE=1 cargo test -p pcc-kernel-c --test programs`.
 */
#ifndef PCC_PROGRAMS_H
#define PCC_PROGRAMS_H

#include "program.h"

enum pcc_built_in {
	PCC_IS_OF_A_USER,
	PCC_IS_FAIR,
	PCC_IS_SAFE,
	PCC_IS_INTERACTIVE,
	PCC_IS_LOSS_RESILIENT,
	PCC_IS_LINEAR,
	PCC_IS_VIVACE,
	PCC_IS_VIVACE_LOSS,
	PCC_IS_WEIGHTED,
	PCC_IS_PROTEUS,
	PCC_IS_SCAVENGER,
	PCC_IS_HYBRID,
	PCC_IS_RATE_LIMITER,
	PCC_IS_DEADLINE,
	PCC_BUILT_INS
};

/* high goodput and a short queue, in equal shares: for any path */
#define PCC_UTILITY_FAIR { \
	.length = 45, \
	.loads = 0xdd, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_FAIR, \
	.ops = { \
		{ PCC_LOAD, PCC_RTT_LEAST, 0 }, \
		{ PCC_KNOWN, 0, 0 }, \
		{ PCC_LOAD, PCC_RTT_BASE, 0 }, \
		{ PCC_KNOWN, 0, 0 }, \
		{ PCC_AND, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_RTT_LEAST, 0 }, \
		{ PCC_LOAD, PCC_RTT_BASE, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_LOAD, PCC_MARKS, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fa999999999999a }, /* 0.05 */ \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_SET, 1, 0 }, \
		{ PCC_LOAD, PCC_OWN_LOSS, 0 }, \
		{ PCC_KNOWN, 0, 0 }, \
		{ PCC_LOAD, PCC_OWN_LOSS, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 2, 0 }, \
		{ PCC_PUSH, 0, 0x3f889374bc6a7efa }, /* 0.012 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_SQRT, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fb999999999999a }, /* 0.1 */ \
		{ PCC_LOAD, PCC_MARKS, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_ADD, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_ADD, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4018000000000000 }, /* 6.0 */ \
		{ PCC_GET, 2, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_fair(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, own_loss, marks, rtt_least, rtt_base, s0, s1;
	pcc_num s2, s3, s4, t0, t1, t2;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	own_loss = pcc_defined(pcc_measurement(report, PCC_OWN_LOSS));
	marks = pcc_defined(pcc_measurement(report, PCC_MARKS));
	rtt_least = pcc_defined(pcc_measurement(report, PCC_RTT_LEAST));
	rtt_base = pcc_defined(pcc_measurement(report, PCC_RTT_BASE));
	s0 = pcc_apply(PCC_KNOWN, rtt_least, N_ZERO, N_ZERO);
	s1 = pcc_apply(PCC_KNOWN, rtt_base, N_ZERO, N_ZERO);
	s0 = pcc_apply(PCC_AND, s0, s1, N_ZERO);
	s2 = pcc_apply(PCC_SUB, rtt_least, rtt_base, N_ZERO);
	s1 = pcc_apply(PCC_MAX, program->ops[5].value, s2, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, s1, program->ops[10].value);
	t0 = s0;
	s1 = pcc_apply(PCC_SUB, loss, marks, N_ZERO);
	s1 = pcc_apply(PCC_SUB, s1, program->ops[17].value, N_ZERO);
	s0 = pcc_apply(PCC_MAX, program->ops[13].value, s1, N_ZERO);
	t1 = s0;
	s0 = pcc_apply(PCC_KNOWN, own_loss, N_ZERO, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, own_loss, t1);
	t2 = s0;
	s1 = pcc_apply(PCC_SQRT, x, N_ZERO, N_ZERO);
	s0 = pcc_apply(PCC_MUL, program->ops[27].value, s1, N_ZERO);
	s4 = pcc_apply(PCC_ADD, marks, t1, N_ZERO);
	s3 = pcc_apply(PCC_MUL, program->ops[33].value, s4, N_ZERO);
	s2 = pcc_apply(PCC_ADD, t0, s3, N_ZERO);
	s1 = pcc_apply(PCC_MUL, x, s2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[41].value, t2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* shares a path of any kind: full reward for goodput below 5 % loss, none above */
#define PCC_UTILITY_SAFE { \
	.length = 12, \
	.loads = 0x7, \
	.panic_loss = 0x3fc3333333333334, /* 0.15000000000000002 */ \
	.built_in = PCC_IS_SAFE, \
	.ops = { \
		{ PCC_LOAD, PCC_THROUGHPUT, 0 }, \
		{ PCC_PUSH, 0, 0xc059000000000000 }, /* -100.0 */ \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_PUSH, 0, 0x3fa999999999999a }, /* 0.05 */ \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SIGMOID, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_safe(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, throughput, loss, s0, s1, s2;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	throughput = pcc_defined(pcc_measurement(report, PCC_THROUGHPUT));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	s2 = pcc_apply(PCC_SUB, loss, program->ops[3].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[1].value, s2, N_ZERO);
	s1 = pcc_apply(PCC_SIGMOID, s1, N_ZERO, N_ZERO);
	s0 = pcc_apply(PCC_MUL, throughput, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, x, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* goodput against delay, for paths where fair queueing gives each flow its own queue */
#define PCC_UTILITY_INTERACTIVE { \
	.length = 55, \
	.loads = 0x1227, \
	.panic_loss = 0x3fc3333333333334, /* 0.15000000000000002 */ \
	.built_in = PCC_IS_INTERACTIVE, \
	.ops = { \
		{ PCC_LOAD, PCC_RTT, 0 }, \
		{ PCC_KNOWN, 0, 0 }, \
		{ PCC_LOAD, PCC_RTT, 0 }, \
		{ PCC_PUSH, 0, 0x3eb0c6f7a0b5ed8d }, /* 1e-6 */ \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fb999999999999a }, /* 0.1 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_LOAD, PCC_DURATION, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4000000000000000 }, /* 2.0 */ \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_SET, 1, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4024000000000000 }, /* 10.0 */ \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_SET, 2, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_ADD, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4024000000000000 }, /* 10.0 */ \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_SET, 3, 0 }, \
		{ PCC_LOAD, PCC_THROUGHPUT, 0 }, \
		{ PCC_PUSH, 0, 0xc059000000000000 }, /* -100.0 */ \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_PUSH, 0, 0x3fa999999999999a }, /* 0.05 */ \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SIGMOID, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 2, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 3, 0 }, \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_SET, 4, 0 }, \
		{ PCC_GET, 4, 0 }, \
		{ PCC_GET, 4, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_GT, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fb999999999999a }, /* 0.1 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_DIV, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_interactive(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, throughput, loss, rtt, growth, duration, s0, s1;
	pcc_num s2, t0, t1, t2, t3, t4;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	throughput = pcc_defined(pcc_measurement(report, PCC_THROUGHPUT));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	rtt = pcc_defined(pcc_measurement(report, PCC_RTT));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	duration = pcc_defined(pcc_measurement(report, PCC_DURATION));
	s0 = pcc_apply(PCC_KNOWN, rtt, N_ZERO, N_ZERO);
	s1 = pcc_apply(PCC_MAX, rtt, program->ops[3].value, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, s1, program->ops[5].value);
	t0 = s0;
	s0 = pcc_apply(PCC_MUL, growth, duration, N_ZERO);
	s0 = pcc_apply(PCC_DIV, s0, program->ops[11].value, N_ZERO);
	t1 = s0;
	s0 = pcc_apply(PCC_SUB, t0, t1, N_ZERO);
	s1 = pcc_apply(PCC_DIV, t0, program->ops[18].value, N_ZERO);
	s0 = pcc_apply(PCC_MAX, s0, s1, N_ZERO);
	t2 = s0;
	s0 = pcc_apply(PCC_ADD, t0, t1, N_ZERO);
	s1 = pcc_apply(PCC_DIV, t0, program->ops[26].value, N_ZERO);
	s0 = pcc_apply(PCC_MAX, s0, s1, N_ZERO);
	t3 = s0;
	s2 = pcc_apply(PCC_SUB, loss, program->ops[33].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[31].value, s2, N_ZERO);
	s1 = pcc_apply(PCC_SIGMOID, s1, N_ZERO, N_ZERO);
	s0 = pcc_apply(PCC_MUL, throughput, s1, N_ZERO);
	s0 = pcc_apply(PCC_MUL, s0, t2, N_ZERO);
	s0 = pcc_apply(PCC_DIV, s0, t3, N_ZERO);
	s1 = pcc_apply(PCC_MUL, x, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	t4 = s0;
	s1 = pcc_apply(PCC_GT, t4, program->ops[49].value, N_ZERO);
	s1 = pcc_apply(PCC_IF, s1, t0, program->ops[52].value);
	s0 = pcc_apply(PCC_DIV, t4, s1, N_ZERO);
	return s0;
}

/* any loss is borne: only where fair queueing gives each flow its own share */
#define PCC_UTILITY_LOSS_RESILIENT { \
	.length = 5, \
	.loads = 0x6, \
	.panic_loss = 0x3ff0000000000000, /* 1.0 */ \
	.built_in = PCC_IS_LOSS_RESILIENT, \
	.ops = { \
		{ PCC_LOAD, PCC_THROUGHPUT, 0 }, \
		{ PCC_PUSH, 0, 0x3ff0000000000000 }, /* 1.0 */ \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_loss_resilient(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num throughput, loss, s0, s1;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	throughput = pcc_defined(pcc_measurement(report, PCC_THROUGHPUT));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	s1 = pcc_apply(PCC_SUB, program->ops[1].value, loss, N_ZERO);
	s0 = pcc_apply(PCC_MUL, throughput, s1, N_ZERO);
	return s0;
}

/* goodput minus loss, to explain the idea */
#define PCC_UTILITY_LINEAR { \
	.length = 5, \
	.loads = 0x7, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_LINEAR, \
	.ops = { \
		{ PCC_LOAD, PCC_THROUGHPUT, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_linear(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, throughput, loss, s0, s1;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	throughput = pcc_defined(pcc_measurement(report, PCC_THROUGHPUT));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	s1 = pcc_apply(PCC_MUL, x, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, throughput, s1, N_ZERO);
	return s0;
}

/* general purpose: high throughput, little queue and loss, fair shares */
#define PCC_UTILITY_VIVACE { \
	.length = 17, \
	.loads = 0x205, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_VIVACE, \
	.ops = { \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x408c200000000000 }, /* 900.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_vivace(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, growth, s0, s1, s2;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	s0 = pcc_apply(PCC_POW, x, program->ops[1].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[3].value, x, N_ZERO);
	s2 = pcc_apply(PCC_MAX, program->ops[6].value, growth, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, s2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[11].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* like vivace, but queues cost nothing: for paths whose RTT says nothing */
#define PCC_UTILITY_VIVACE_LOSS { \
	.length = 9, \
	.loads = 0x5, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_VIVACE_LOSS, \
	.ops = { \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_vivace_loss(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, s0, s1;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	s0 = pcc_apply(PCC_POW, x, program->ops[1].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[3].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* takes the share of the link that it is given, where all senders are given one */
#define PCC_UTILITY_WEIGHTED { \
	.length = 15, \
	.loads = 0x5, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_WEIGHTED, \
	.ops = { \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3fe0000000000000 }, /* 0.5 */ \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3ff0000000000000 }, /* 1.0 */ \
		{ PCC_PUSH, 0, 0x3ff0000000000000 }, /* 1.0 */ \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3eb0c6f7a0b5ed8d }, /* 1e-6 */ \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3ff0000000000000 }, /* 1.0 */ \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_weighted(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, s0, s1, s2, s3;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	s1 = pcc_apply(PCC_DIV, x, program->ops[2].value, N_ZERO);
	s3 = pcc_apply(PCC_SUB, program->ops[5].value, loss, N_ZERO);
	s3 = pcc_apply(PCC_MAX, s3, program->ops[8].value, N_ZERO);
	s2 = pcc_apply(PCC_DIV, program->ops[4].value, s3, N_ZERO);
	s2 = pcc_apply(PCC_SUB, s2, program->ops[11].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, s2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, x, s1, N_ZERO);
	return s0;
}

/* Proteus-P, for what should arrive soon: vivace that ignores growth within the RTT's noise */
#define PCC_UTILITY_PROTEUS { \
	.length = 26, \
	.loads = 0x1a05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_PROTEUS, \
	.ops = { \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_LOAD, PCC_DURATION, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_RESIDUAL, 0 }, \
		{ PCC_GT, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x408c200000000000 }, /* 900.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_proteus(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, growth, residual, duration, s0, s1, t0;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	residual = pcc_defined(pcc_measurement(report, PCC_RESIDUAL));
	duration = pcc_defined(pcc_measurement(report, PCC_DURATION));
	s0 = pcc_apply(PCC_MUL, growth, duration, N_ZERO);
	s0 = pcc_apply(PCC_GT, s0, residual, N_ZERO);
	s1 = pcc_apply(PCC_MAX, program->ops[5].value, growth, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, s1, program->ops[8].value);
	t0 = s0;
	s0 = pcc_apply(PCC_POW, x, program->ops[12].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[14].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t0, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[20].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* Proteus-S, for what can wait: yields as soon as others make the RTT vary */
#define PCC_UTILITY_SCAVENGER { \
	.length = 43, \
	.loads = 0x1e05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_SCAVENGER, \
	.ops = { \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_LOAD, PCC_DURATION, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_RESIDUAL, 0 }, \
		{ PCC_GT, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 1, 0 }, \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_PUSH, 0, 0x3f1a36e2eb1c432d }, /* 0.0001 */ \
		{ PCC_GE, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_OR, 0, 0 }, \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 2, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x408c200000000000 }, /* 900.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x40cd4c0000000000 }, /* 15000.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 2, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_scavenger(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, growth, sigma, residual, duration, s0, s1;
	pcc_num t0, t1, t2;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	sigma = pcc_defined(pcc_measurement(report, PCC_SIGMA));
	residual = pcc_defined(pcc_measurement(report, PCC_RESIDUAL));
	duration = pcc_defined(pcc_measurement(report, PCC_DURATION));
	s0 = pcc_apply(PCC_MUL, growth, duration, N_ZERO);
	s0 = pcc_apply(PCC_GT, s0, residual, N_ZERO);
	t0 = s0;
	s1 = pcc_apply(PCC_MAX, program->ops[7].value, growth, N_ZERO);
	s0 = pcc_apply(PCC_IF, t0, s1, program->ops[10].value);
	t1 = s0;
	s0 = pcc_apply(PCC_GE, sigma, program->ops[14].value, N_ZERO);
	s0 = pcc_apply(PCC_OR, s0, t0, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, sigma, program->ops[19].value);
	t2 = s0;
	s0 = pcc_apply(PCC_POW, x, program->ops[23].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[25].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t1, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[31].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[37].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* Proteus-H, for video: proteus up to the rate that is needed, scavenger beyond */
#define PCC_UTILITY_HYBRID { \
	.length = 47, \
	.loads = 0x1e05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_HYBRID, \
	.ops = { \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_LOAD, PCC_DURATION, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_RESIDUAL, 0 }, \
		{ PCC_GT, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 1, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x4034000000000000 }, /* 20.0 */ \
		{ PCC_GE, 0, 0 }, \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_PUSH, 0, 0x3f50624dd2f1a9fc }, /* 0.001 */ \
		{ PCC_GE, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_OR, 0, 0 }, \
		{ PCC_AND, 0, 0 }, \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 2, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x408c200000000000 }, /* 900.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4097700000000000 }, /* 1500.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 2, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_hybrid(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, growth, sigma, residual, duration, s0, s1;
	pcc_num t0, t1, t2;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	sigma = pcc_defined(pcc_measurement(report, PCC_SIGMA));
	residual = pcc_defined(pcc_measurement(report, PCC_RESIDUAL));
	duration = pcc_defined(pcc_measurement(report, PCC_DURATION));
	s0 = pcc_apply(PCC_MUL, growth, duration, N_ZERO);
	s0 = pcc_apply(PCC_GT, s0, residual, N_ZERO);
	t0 = s0;
	s1 = pcc_apply(PCC_MAX, program->ops[7].value, growth, N_ZERO);
	s0 = pcc_apply(PCC_IF, t0, s1, program->ops[10].value);
	t1 = s0;
	s0 = pcc_apply(PCC_GE, x, program->ops[14].value, N_ZERO);
	s1 = pcc_apply(PCC_GE, sigma, program->ops[17].value, N_ZERO);
	s1 = pcc_apply(PCC_OR, s1, t0, N_ZERO);
	s0 = pcc_apply(PCC_AND, s0, s1, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, sigma, program->ops[23].value);
	t2 = s0;
	s0 = pcc_apply(PCC_POW, x, program->ops[27].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[29].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t1, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[35].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[41].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* proteus that wants a given rate and no more, without being policed */
#define PCC_UTILITY_RATE_LIMITER { \
	.length = 30, \
	.loads = 0x1a05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_RATE_LIMITER, \
	.ops = { \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_LOAD, PCC_DURATION, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_RESIDUAL, 0 }, \
		{ PCC_GT, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x408c200000000000 }, /* 900.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fe5583c6ed89357 }, /* 0.6670210041962531 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_rate_limiter(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, growth, residual, duration, s0, s1, t0;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	residual = pcc_defined(pcc_measurement(report, PCC_RESIDUAL));
	duration = pcc_defined(pcc_measurement(report, PCC_DURATION));
	s0 = pcc_apply(PCC_MUL, growth, duration, N_ZERO);
	s0 = pcc_apply(PCC_GT, s0, residual, N_ZERO);
	s1 = pcc_apply(PCC_MAX, program->ops[5].value, growth, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, s1, program->ops[8].value);
	t0 = s0;
	s0 = pcc_apply(PCC_POW, x, program->ops[12].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[14].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t0, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[20].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[26].value, x, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* interactive video: slows down before the RTT reaches a ceiling, to its lowest rate if need be */
#define PCC_UTILITY_DEADLINE { \
	.length = 81, \
	.loads = 0x1ea5, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.built_in = PCC_IS_DEADLINE, \
	.ops = { \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_LOAD, PCC_DURATION, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_RESIDUAL, 0 }, \
		{ PCC_GT, 0, 0 }, \
		{ PCC_SET, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_LOAD, PCC_GROWTH, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 1, 0 }, \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_PUSH, 0, 0x3f50624dd2f1a9fc }, /* 0.001 */ \
		{ PCC_GE, 0, 0 }, \
		{ PCC_GET, 0, 0 }, \
		{ PCC_OR, 0, 0 }, \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 2, 0 }, \
		{ PCC_PUSH, 0, 0x3fb47ae147ae147b }, /* 0.08 */ \
		{ PCC_LOAD, PCC_RTT_BASE, 0 }, \
		{ PCC_PUSH, 0, 0x3f847ae147ae147b }, /* 0.01 */ \
		{ PCC_ADD, 0, 0 }, \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fbd2f1a9fbe76c8 }, /* 0.11399999999999999 */ \
		{ PCC_MIN, 0, 0 }, \
		{ PCC_SET, 3, 0 }, \
		{ PCC_LOAD, PCC_RTT, 0 }, \
		{ PCC_PUSH, 0, 0x4000000000000000 }, /* 2.0 */ \
		{ PCC_LOAD, PCC_SIGMA, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_ADD, 0, 0 }, \
		{ PCC_GET, 3, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fbeb851eb851eb8 }, /* 0.12 */ \
		{ PCC_GET, 3, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_DIV, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4000000000000000 }, /* 2.0 */ \
		{ PCC_MIN, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 }, /* 0.0 */ \
		{ PCC_MAX, 0, 0 }, \
		{ PCC_SET, 4, 0 }, \
		{ PCC_GET, 4, 0 }, \
		{ PCC_KNOWN, 0, 0 }, \
		{ PCC_GET, 4, 0 }, \
		{ PCC_PUSH, 0, 0x4000000000000000 }, /* 2.0 */ \
		{ PCC_IF, 0, 0 }, \
		{ PCC_SET, 5, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_PUSH, 0, 0x3feccccccccccccd }, /* 0.9 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_PUSH, 0, 0x408c200000000000 }, /* 900.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 1, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4026b33333333333 }, /* 11.35 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4024000000000000 }, /* 10.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 5, 0 }, \
		{ PCC_PUSH, 0, 0x4000000000000000 }, /* 2.0 */ \
		{ PCC_POW, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x407f400000000000 }, /* 500.0 */ \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_GET, 2, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

PCC_CALL pcc_num pcc_worth_deadline(const struct pcc_program *program,
				const struct pcc_report *report)
{
	pcc_num x, loss, rtt, rtt_base, growth, sigma, residual, duration;
	pcc_num s0, s1, s2, t0, t1, t2, t3, t4;
	pcc_num t5;

	PCC_NEEDS(program, N_UNKNOWN);
	PCC_NEEDS(report, N_UNKNOWN);
	x = pcc_defined(pcc_measurement(report, PCC_X));
	loss = pcc_defined(pcc_measurement(report, PCC_LOSS));
	rtt = pcc_defined(pcc_measurement(report, PCC_RTT));
	rtt_base = pcc_defined(pcc_measurement(report, PCC_RTT_BASE));
	growth = pcc_defined(pcc_measurement(report, PCC_GROWTH));
	sigma = pcc_defined(pcc_measurement(report, PCC_SIGMA));
	residual = pcc_defined(pcc_measurement(report, PCC_RESIDUAL));
	duration = pcc_defined(pcc_measurement(report, PCC_DURATION));
	s0 = pcc_apply(PCC_MUL, growth, duration, N_ZERO);
	s0 = pcc_apply(PCC_GT, s0, residual, N_ZERO);
	t0 = s0;
	s1 = pcc_apply(PCC_MAX, program->ops[7].value, growth, N_ZERO);
	s0 = pcc_apply(PCC_IF, t0, s1, program->ops[10].value);
	t1 = s0;
	s0 = pcc_apply(PCC_GE, sigma, program->ops[14].value, N_ZERO);
	s0 = pcc_apply(PCC_OR, s0, t0, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, sigma, program->ops[19].value);
	t2 = s0;
	s1 = pcc_apply(PCC_ADD, rtt_base, program->ops[24].value, N_ZERO);
	s0 = pcc_apply(PCC_MAX, program->ops[22].value, s1, N_ZERO);
	s0 = pcc_apply(PCC_MIN, s0, program->ops[27].value, N_ZERO);
	t3 = s0;
	s1 = pcc_apply(PCC_MUL, program->ops[31].value, sigma, N_ZERO);
	s0 = pcc_apply(PCC_ADD, rtt, s1, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, t3, N_ZERO);
	s1 = pcc_apply(PCC_SUB, program->ops[37].value, t3, N_ZERO);
	s0 = pcc_apply(PCC_DIV, s0, s1, N_ZERO);
	s0 = pcc_apply(PCC_MIN, s0, program->ops[41].value, N_ZERO);
	s0 = pcc_apply(PCC_MAX, s0, program->ops[43].value, N_ZERO);
	t4 = s0;
	s0 = pcc_apply(PCC_KNOWN, t4, N_ZERO, N_ZERO);
	s0 = pcc_apply(PCC_IF, s0, t4, program->ops[49].value);
	t5 = s0;
	s0 = pcc_apply(PCC_POW, x, program->ops[53].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[55].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t1, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[61].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, loss, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[67].value, x, N_ZERO);
	s2 = pcc_apply(PCC_POW, t5, program->ops[71].value, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, s2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	s1 = pcc_apply(PCC_MUL, program->ops[75].value, x, N_ZERO);
	s1 = pcc_apply(PCC_MUL, s1, t2, N_ZERO);
	s0 = pcc_apply(PCC_SUB, s0, s1, N_ZERO);
	return s0;
}

/* What a report is worth to one of them; NaN where that is not defined. */
PCC_PART pcc_num pcc_built_in_worth(const struct pcc_program *program,
				    const struct pcc_report *report)
{
	switch (program->built_in) {
	case PCC_IS_FAIR:
		return pcc_worth_fair(program, report);
	case PCC_IS_SAFE:
		return pcc_worth_safe(program, report);
	case PCC_IS_INTERACTIVE:
		return pcc_worth_interactive(program, report);
	case PCC_IS_LOSS_RESILIENT:
		return pcc_worth_loss_resilient(program, report);
	case PCC_IS_LINEAR:
		return pcc_worth_linear(program, report);
	case PCC_IS_VIVACE:
		return pcc_worth_vivace(program, report);
	case PCC_IS_VIVACE_LOSS:
		return pcc_worth_vivace_loss(program, report);
	case PCC_IS_WEIGHTED:
		return pcc_worth_weighted(program, report);
	case PCC_IS_PROTEUS:
		return pcc_worth_proteus(program, report);
	case PCC_IS_SCAVENGER:
		return pcc_worth_scavenger(program, report);
	case PCC_IS_HYBRID:
		return pcc_worth_hybrid(program, report);
	case PCC_IS_RATE_LIMITER:
		return pcc_worth_rate_limiter(program, report);
	case PCC_IS_DEADLINE:
		return pcc_worth_deadline(program, report);
	default:
		return N_UNKNOWN;
	}
}

#ifndef __bpf__
/* By enum pcc_built_in, to recognise them by. */
static const struct pcc_program pcc_built_ins[PCC_BUILT_INS] = {
	[PCC_IS_FAIR] = PCC_UTILITY_FAIR,
	[PCC_IS_SAFE] = PCC_UTILITY_SAFE,
	[PCC_IS_INTERACTIVE] = PCC_UTILITY_INTERACTIVE,
	[PCC_IS_LOSS_RESILIENT] = PCC_UTILITY_LOSS_RESILIENT,
	[PCC_IS_LINEAR] = PCC_UTILITY_LINEAR,
	[PCC_IS_VIVACE] = PCC_UTILITY_VIVACE,
	[PCC_IS_VIVACE_LOSS] = PCC_UTILITY_VIVACE_LOSS,
	[PCC_IS_WEIGHTED] = PCC_UTILITY_WEIGHTED,
	[PCC_IS_PROTEUS] = PCC_UTILITY_PROTEUS,
	[PCC_IS_SCAVENGER] = PCC_UTILITY_SCAVENGER,
	[PCC_IS_HYBRID] = PCC_UTILITY_HYBRID,
	[PCC_IS_RATE_LIMITER] = PCC_UTILITY_RATE_LIMITER,
	[PCC_IS_DEADLINE] = PCC_UTILITY_DEADLINE,
};
#endif

#endif
