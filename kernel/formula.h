/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A formula as code: the tool that loads this object writes it (crates/bpf/src/formula.rs). */
#ifndef PCC_FORMULA_H
#define PCC_FORMULA_H

#include "program.h"

/* The operators that are no function of numbers; the code calls those itself. */
PCC_CALL pcc_num pcc_operate(u32 code, pcc_num a, pcc_num b, pcc_num c)
{
	return pcc_apply(code, a, b, c);
}

/* The result of the program that this object was loaded with, as pcc_run has it. The tool writes
 * the code over this function, and gives it the length of the code: there is room for 256
 * operations of the dearest kind. An object that no tool loaded has no formula.
 */
PCC_CALL pcc_num pcc_written(const struct pcc_program *program, struct pcc_machine *machine)
{
	pcc_num unknown = N_UNKNOWN;

	PCC_NEEDS(program && machine, N_UNKNOWN);
	asm volatile(".rept 2400\n%0 = %0\n.endr" : "+r"(unknown));
	return unknown;
}

#endif
