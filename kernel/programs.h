/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The built-in utilities as programs; crates/core/src/utility has them as formulas. Written
 * by `PCC_KERNEL_WRITE=1 cargo test -p pcc-kernel-c --test programs`.
 */
#ifndef PCC_PROGRAMS_H
#define PCC_PROGRAMS_H

#include "program.h"

#define PCC_UTILITY_FAIR { \
	.length = 49, .loads = 0xdd, .built_in = PCC_IS_FAIR, \
	.panic_loss = 0x3fe0000000000000, /* 0.5 */ \
	.ops = { \
		{ PCC_LOAD, PCC_RTT_LEAST, 0 }, { PCC_KNOWN, 0, 0 }, \
		{ PCC_LOAD, PCC_RTT_BASE, 0 }, { PCC_KNOWN, 0, 0 }, { PCC_AND, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 /* 0.0 */ }, { PCC_LOAD, PCC_RTT_LEAST, 0 }, \
		{ PCC_LOAD, PCC_RTT_BASE, 0 }, { PCC_SUB, 0, 0 }, { PCC_MAX, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 /* 0.0 */ }, { PCC_IF, 0, 0 }, { PCC_SET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 /* 0.0 */ }, { PCC_LOAD, PCC_LOSS, 0 }, \
		{ PCC_LOAD, PCC_MARKS, 0 }, { PCC_SUB, 0, 0 }, \
		{ PCC_LOAD, PCC_OWN_LOSS, 0 }, { PCC_KNOWN, 0, 0 }, \
		{ PCC_PUSH, 0, 0x0 /* 0.0 */ }, \
		{ PCC_PUSH, 0, 0x3fa999999999999a /* 0.05 */ }, { PCC_IF, 0, 0 }, \
		{ PCC_SUB, 0, 0 }, { PCC_MAX, 0, 0 }, { PCC_SET, 1, 0 }, \
		{ PCC_LOAD, PCC_OWN_LOSS, 0 }, { PCC_KNOWN, 0, 0 }, \
		{ PCC_LOAD, PCC_OWN_LOSS, 0 }, { PCC_GET, 1, 0 }, { PCC_IF, 0, 0 }, \
		{ PCC_SET, 2, 0 }, { PCC_PUSH, 0, 0x3f889374bc6a7efa /* 0.012 */ }, \
		{ PCC_LOAD, PCC_X, 0 }, { PCC_SQRT, 0, 0 }, { PCC_MUL, 0, 0 }, \
		{ PCC_LOAD, PCC_X, 0 }, { PCC_GET, 0, 0 }, \
		{ PCC_PUSH, 0, 0x3fb999999999999a /* 0.1 */ }, { PCC_LOAD, PCC_MARKS, 0 }, \
		{ PCC_GET, 1, 0 }, { PCC_ADD, 0, 0 }, { PCC_MUL, 0, 0 }, { PCC_ADD, 0, 0 }, \
		{ PCC_MUL, 0, 0 }, { PCC_SUB, 0, 0 }, \
		{ PCC_PUSH, 0, 0x4018000000000000 /* 6.0 */ }, { PCC_GET, 2, 0 }, \
		{ PCC_MUL, 0, 0 }, { PCC_SUB, 0, 0 }, \
	}, \
}

#ifdef __KERNEL__
/* Those that need no parameter, as text.h reads them. */
static const struct {
	const char *name;
	const char *program;
} pcc_utilities[] = {
	{ "fair",
	  "pcc-utility/1 panic_loss=0.5 rtt_least known rtt_base known and 0.0 rtt_least rtt_base sub max 0.0 if set0 0.0 L marks sub E known 0.0 0.05 if sub max set1 E known E get1 if set2 0.012 x sqrt mul x get0 0.1 marks get1 add mul add mul sub 6.0 get2 mul sub"
	},
	{ "safe",
	  "pcc-utility/1 panic_loss=0.15000000000000002 T -100.0 L 0.05 sub mul sigmoid mul x L mul sub"
	},
	{ "interactive",
	  "pcc-utility/1 panic_loss=0.15000000000000002 rtt known rtt 1e-6 max 0.1 if set0 g duration mul 2.0 div set1 get0 get1 sub get0 10.0 div max set2 get0 get1 add get0 10.0 div max set3 T -100.0 L 0.05 sub mul sigmoid mul get2 mul get3 div x L mul sub set4 get4 get4 0.0 gt get0 0.1 if div"
	},
	{ "loss-resilient",
	  "pcc-utility/1 panic_loss=1.0 T 1.0 L sub mul"
	},
	{ "linear",
	  "pcc-utility/1 panic_loss=0.5 T x L mul sub"
	},
	{ "vivace",
	  "pcc-utility/1 panic_loss=0.5 x 0.9 pow 900.0 x mul 0.0 g max mul sub 11.35 x mul L mul sub"
	},
	{ "vivace-loss",
	  "pcc-utility/1 panic_loss=0.5 x 0.9 pow 11.35 x mul L mul sub"
	},
	{ "proteus",
	  "pcc-utility/1 panic_loss=0.5 g duration mul residual gt 0.0 g max 0.0 if set0 x 0.9 pow 900.0 x mul get0 mul sub 11.35 x mul L mul sub"
	},
	{ "scavenger",
	  "pcc-utility/1 panic_loss=0.5 g duration mul residual gt set0 get0 0.0 g max 0.0 if set1 sigma 0.0001 ge get0 or sigma 0.0 if set2 x 0.9 pow 900.0 x mul get1 mul sub 11.35 x mul L mul sub 15000.0 x mul get2 mul sub"
	},
	{ "deadline",
	  "pcc-utility/1 panic_loss=0.5 g duration mul residual gt set0 get0 0.0 g max 0.0 if set1 sigma 0.001 ge get0 or sigma 0.0 if set2 0.08 rtt_base 0.01 add max 0.11399999999999999 min set3 rtt 2.0 sigma mul add get3 sub 0.12 get3 sub div 2.0 min 0.0 max set4 get4 known get4 2.0 if set5 x 0.9 pow 900.0 x mul get1 mul sub 11.35 x mul L mul sub 10.0 x mul get5 2.0 pow mul sub 500.0 x mul get2 mul sub"
	},
};
#endif

#endif
