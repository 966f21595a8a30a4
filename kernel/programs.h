/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The built-in utilities as programs; crates/core/src/utility/text has them as text.
 * Written by `PCC_KERNEL_WRITE=1 cargo test -p pcc-kernel --test programs`.
 */
#ifndef PCC_PROGRAMS_H
#define PCC_PROGRAMS_H

#include "program.h"

/* high goodput and a short queue, in equal shares: for any path */
#define PCC_UTILITY_FAIR { \
	.length = 45, \
	.loads = 0xdd, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* shares a path of any kind: full reward for goodput below 5 % loss, none above */
#define PCC_UTILITY_SAFE { \
	.length = 12, \
	.loads = 0x7, \
	.panic_loss = 0x3fc3333333333334, /* 0.15000000000000002 */ \
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

/* goodput against delay, for paths where fair queueing gives each flow its own queue */
#define PCC_UTILITY_INTERACTIVE { \
	.length = 55, \
	.loads = 0x1227, \
	.panic_loss = 0x3fc3333333333334, /* 0.15000000000000002 */ \
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

/* any loss is borne: only where fair queueing gives each flow its own share */
#define PCC_UTILITY_LOSS_RESILIENT { \
	.length = 5, \
	.loads = 0x6, \
	.panic_loss = 0x3ff0000000000000, /* 1.0 */ \
	.ops = { \
		{ PCC_LOAD, PCC_THROUGHPUT, 0 }, \
		{ PCC_PUSH, 0, 0x3ff0000000000000 }, /* 1.0 */ \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_SUB, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, \
	}, \
}

/* goodput minus loss, to explain the idea */
#define PCC_UTILITY_LINEAR { \
	.length = 5, \
	.loads = 0x7, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.ops = { \
		{ PCC_LOAD, PCC_THROUGHPUT, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, \
		{ PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_MUL, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, \
	}, \
}

/* general purpose: high throughput, little queue and loss, fair shares */
#define PCC_UTILITY_VIVACE { \
	.length = 17, \
	.loads = 0x205, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* like vivace, but queues cost nothing: for paths whose RTT says nothing */
#define PCC_UTILITY_VIVACE_LOSS { \
	.length = 9, \
	.loads = 0x5, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* takes the share of the link that it is given, where all senders are given one */
#define PCC_UTILITY_WEIGHTED { \
	.length = 15, \
	.loads = 0x5, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* Proteus-P, for what should arrive soon: vivace that ignores growth within the RTT's noise */
#define PCC_UTILITY_PROTEUS { \
	.length = 26, \
	.loads = 0x1a05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* Proteus-S, for what can wait: yields as soon as others make the RTT vary */
#define PCC_UTILITY_SCAVENGER { \
	.length = 43, \
	.loads = 0x1e05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* Proteus-H, for video: proteus up to the rate that is needed, scavenger beyond */
#define PCC_UTILITY_HYBRID { \
	.length = 47, \
	.loads = 0x1e05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* proteus that wants a given rate and no more, without being policed */
#define PCC_UTILITY_RATE_LIMITER { \
	.length = 30, \
	.loads = 0x1a05, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

/* interactive video: slows down before the RTT reaches a ceiling, to its lowest rate if need be */
#define PCC_UTILITY_DEADLINE { \
	.length = 81, \
	.loads = 0x1ea5, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
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

#endif
