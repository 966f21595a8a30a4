/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* How many packets were marked, as far as TCP can know.
 *
 * By RFC 3168 (6.1.3) whoever got a marked packet says so with each acknowledgement, until
 * an answer (CWR) arrives, which leaves with the next new packet:
 *
 *	packets:   . . . . M ? ? ? ? ? A . . . M ? ? ...
 *	           known     echo      known
 *
 * So the first mark of a round trip is told of, and of what comes after it, up to the
 * answer, nothing. Linux counts all of that as marked: one mark would look like a path
 * that marks everything for a round trip. The share of marks is known among the packets of
 * which a mark would have been told. The others are taken to have the same share.
 * Accurate ECN (RFC 9768, Linux 6.18) tells of each.
 */
#ifndef PCC_MARKS_H
#define PCC_MARKS_H

#include "sample.h"

/* Fixed point: a mark, or a packet. */
#define MARKS_ONE 65536ULL
/* The share of the knowledge that is forgotten with each mark: a sixteenth, as with each round trip
 * in DCTCP (RFC 8257 4.2).
 */
#define MARKS_FORGOTTEN 16

struct pcc_marks {
	/* Packets of which a mark would have been told, and such marks; by MARKS_ONE. */
	u64 known;
	u64 found;
	/* The expected marks of the others, less those that were counted. */
	u64 due;
	/* TCP's counter at the latest acknowledgement. */
	u32 counter;
	/* The transmission that takes the answer with it, while that is awaited. */
	u32 answer;
	u32 awaited;
	u32 reserved;
};

/* Marked packets among those that an acknowledgement delivers. settled is that of monitor.h. */
PCC_PART u32 pcc_take_marks(struct pcc_marks *marks, const struct pcc_sample *sample,
			    u32 delivered, u32 settled)
{
	u32 told = sample->marked - marks->counter, whole;

	marks->counter = sample->marked;
	if (sample->accurate || !delivered)
		return told;
	if (told && marks->awaited && (s32)(settled - marks->answer) <= 0) {
		/* found stays below 2^20 (MARKS_FORGOTTEN of MARKS_ONE), so the product fits
		 * up to 2^28 packets; known is what the last mark came with, above 0.
		 */
		marks->due += PCC_DIV(marks->found * delivered * MARKS_ONE, marks->known);
		whole = marks->due / MARKS_ONE;
		marks->due -= whole * MARKS_ONE;
		return whole;
	}
	marks->known += delivered * MARKS_ONE;
	marks->awaited = told != 0;
	if (!told)
		return 0;
	marks->answer = sample->sent;
	marks->found += MARKS_ONE;
	marks->found -= marks->found / MARKS_FORGOTTEN;
	marks->known -= marks->known / MARKS_FORGOTTEN;
	return 1;
}

#endif
