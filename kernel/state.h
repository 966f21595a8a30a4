/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The state that steers a connection: start-up, and then one of the laws. driver.h drives them. */
#ifndef PCC_STATE_H
#define PCC_STATE_H

#include "ascent/probing.h"
#include "starting.h"
#include "vivace/round.h"
#include "vivace/stride.h"

enum pcc_state {
	PCC_STARTING,
	PCC_DRAINING, /* one interval below the base rate */
	PCC_PROBING,  /* the law is at work */
};

/* The laws, in the order of their names: crates/kernel-c/src/law.rs, tcp_pcc.c. */
enum pcc_law_kind {
	PCC_ASCENT,
	PCC_VIVACE,
	PCC_LAWS
};

struct pcc_vivace {
	struct pcc_round round;
	struct pcc_stride stride;
};

/* Its input and its working memory are here too: a stack of 512 bytes cannot hold them. */
struct pcc_law {
	struct pcc_parameters parameters;
	/* The base rate r. Unit: byte/s. */
	pcc_num rate;
	u64 random;
	pcc_num drain_share;
	u32 state; /* enum pcc_state */
	u32 drain_sent;
	/* Which law it is, enum pcc_law_kind: set when a connection begins. */
	u32 which;
	/* The answer of pcc_law_next. */
	struct pcc_slot slot;
	/* Vivace's. */
	struct pcc_vivace vivace;
	/* Ascent's. */
	struct pcc_probing probing;
	struct pcc_starting starting;
	/* From starting.doubted on all is written before it is read, at each acknowledgement:
	 * PCC_LAW_KEPT.
	 */
	struct pcc_path path;
	/* The interval being judged, and what it was for. */
	struct pcc_slot judged;
	struct pcc_report report;
	/* Ascent's. */
	struct pcc_pair pair;
	struct pcc_forecast forecast;
	struct pcc_seen seen;
};

/* The bytes of a law that are kept from one acknowledgement to the next. */
#define PCC_LAW_KEPT offsetof(struct pcc_law, starting.doubted)

#endif
