/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* TCP's numbers. */
#ifndef PCC_SAMPLE_H
#define PCC_SAMPLE_H

#include "platform.h"

/* TCP's knowledge at an acknowledgement. Counters are modulo 2^32. */
struct pcc_sample {
	u64 now;	 /* ns */
	u64 next_sent;	 /* when pacing lets the next packet leave. Unit: ns */
	u64 bytes_sent;	 /* payload, retransmissions too */
	u32 sent;	 /* packets */
	u32 in_flight;	 /* packets */
	u32 outstanding; /* packets sent and not acknowledged, lost ones too */
	u32 delivered;	 /* packets */
	u32 lost;	 /* packets */
	u32 marked;	 /* packets delivered with a mark, as TCP counts */
	u32 rtt;	 /* of the newest packet delivered; 0 if there is none. Unit: µs */
	u32 packet;	 /* bytes of a full one */
	u32 reordering;	 /* packets that may overtake one that is not lost */
	u32 window;	 /* packets that may be in flight */
	u32 app_limited; /* the newest packet was sent when there was nothing more */
	u32 peer_limited; /* the peer's window is full, and the peer slow */
	u32 blocked;	  /* it is full, and what was lost keeps the peer from reading */
	u32 taken_rtt;	  /* what TCP takes for the RTT, smoothed; 0 if it knows none. Unit: µs */
	u32 accurate;	  /* it counts marks, not what is told of them: marks.h */
	u32 least_rtt;	  /* the least RTT of minutes, to TCP. Unit: µs */
};

#endif
