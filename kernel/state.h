/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The state that steers a connection: start-up, and then the law. driver.h drives them. */
#ifndef PCC_STATE_H
#define PCC_STATE_H

#include "ascent/probing.h"
#include "starting.h"

enum pcc_state {
	PCC_STARTING,
	PCC_DRAINING, /* one interval below the base rate */
	PCC_PROBING,  /* the law is at work */
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
	/* The answer of pcc_law_next. */
	struct pcc_slot slot;
	struct pcc_probing probing;
	struct pcc_starting starting;
	/* From starting.doubted on all is written before it is read, at each acknowledgement:
	 * PCC_LAW_KEPT.
	 */
	struct pcc_path path;
	/* The interval being judged, and what it was for. */
	struct pcc_slot judged;
	struct pcc_report report;
	struct pcc_pair pair;
	struct pcc_forecast forecast;
	struct pcc_rival_sample rival_sample;
};

/* The bytes of a law that are kept from one acknowledgement to the next. */
#define PCC_LAW_KEPT offsetof(struct pcc_law, starting.doubted)

#endif
