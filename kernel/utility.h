/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The utility of an interval: by code of its own, if it has that, and else by its program. */
#ifndef PCC_UTILITY_H
#define PCC_UTILITY_H

#include "fair.h"
#ifdef __bpf__
#include "formula.h"
#endif

/* The utility of a report; NaN where it is not defined. */
PCC_CALL pcc_num pcc_utility(const struct pcc_program *program, const struct pcc_report *report,
			     struct pcc_machine *machine)
{
	PCC_NEEDS(program && report && machine, N_UNKNOWN);
	if (program->built_in == PCC_IS_FAIR)
		return pcc_fair_utility(program, report);
	pcc_measure(machine, report, program->loads);
#ifdef __bpf__
	if (program->built_in == PCC_WRITTEN)
		return pcc_written(program, machine);
#endif
	return pcc_run(program, machine);
}

/* The utility that a law assumes where none is defined: a quarter of the least number. */
#define PCC_WORST 0xffcfffffffffffffULL

/* The utility as a law wants it: finite. */
PCC_PART pcc_num pcc_worth(const struct pcc_program *program, const struct pcc_report *report,
			   struct pcc_machine *machine)
{
	pcc_num utility = pcc_utility(program, report, machine);

	return n_finite(utility) ? utility : PCC_WORST;
}

#endif
