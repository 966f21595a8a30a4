/* libpcc: PCC decides how fast to send by measuring what each rate achieved.
 *
 * A transport makes one sender for each path, tells it of each packet, and sends at pcc_rate() while pcc_bytes_in_flight() is
 * below pcc_congestion_window(). The library does no I/O and reads no clock: time is an argument, in nanoseconds. It
 * allocates memory in pcc_new(), and later only when more packets are in flight than ever before.
 *
 * Written by crates/capi/header; do not edit. */

#ifndef PCC_H
#define PCC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * The version of the ABI. It rises when a program has to be compiled again.
 */
#define PCC_ABI 0

/**
 * What a function answers. Values below zero are errors.
 */
enum pcc_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  PCC_OK = 0,
  /**
   * A pointer that must point at something is NULL.
   */
  PCC_NULL = -1,
  /**
   * The configuration is not valid: the message says why.
   */
  PCC_INVALID = -2,
  /**
   * libpcc has a defect and met it in this call or an earlier one of this sender. The sender keeps its last rate, and can
   * only be freed. Please report it.
   */
  PCC_POISONED = -3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pcc_status pcc_status;
#else
typedef int32_t pcc_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Why a transport does not send although it may.
 */
enum pcc_limit
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The application has no data.
   */
  PCC_LIMIT_APPLICATION = 1,
  /**
   * The receiver's flow-control window is full.
   */
  PCC_LIMIT_RECEIVER = 2,
  /**
   * This host is late: processor, timer or socket buffer.
   */
  PCC_LIMIT_HOST = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum pcc_limit pcc_limit;
#else
typedef uint32_t pcc_limit;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * One PCC sender, for one path of one connection. It may move between threads, and no two may use it at a time.
 */
struct pcc;

/**
 * What a sender is told in advance. Set all of it to zero, then `size` to `sizeof(struct pcc_config)`.
 */
struct pcc_config {
  /**
   * `sizeof(struct pcc_config)`: later versions may add members at the end.
   */
  size_t size;
  /**
   * Draws the order of trials. Senders that share a path need different ones.
   */
  uint64_t seed;
  /**
   * The highest rate, in bytes a second; 0 for none.
   */
  uint64_t max_rate;
  /**
   * Bytes of a full packet, headers of UDP and IP aside; 0 for 1200.
   */
  uint32_t max_datagram_size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * The utility function: a name such as "scavenger" or an expression such as "x^0.9 - 20*x*L", NUL-terminated UTF-8;
   * NULL for "fair".
   */
  const char *utility;
};

/**
 * RTT as the sender measured it. All zero before the first sample.
 */
struct pcc_rtt_times {
  /**
   * Smoothed (RFC 9002), in nanoseconds.
   */
  uint64_t smoothed;
  /**
   * The least of the last ten seconds, in nanoseconds.
   */
  uint64_t least;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0".
 */
const char *pcc_version(void);

/**
 * What a status means, in English.
 */
const char *pcc_status_text(int32_t status);

/**
 * Makes a sender. Time is counted in nanoseconds from any origin, the same in all calls.
 *
 * `config` may be NULL for the defaults. Where the configuration is not valid `message`, if it is not NULL, gets up to
 * `length` bytes that say why, NUL included.
 */
pcc_status pcc_new(const struct pcc_config *config,
                   uint64_t now,
                   struct pcc **sender,
                   char *message,
                   size_t length);

/**
 * Frees a sender; NULL is none.
 */
void pcc_free(struct pcc *sender);

/**
 * A packet that the peer will acknowledge leaves. Numbers rise and are never used again: a retransmission is a new packet.
 */
pcc_status pcc_on_packet_sent(struct pcc *sender,
                              uint64_t now,
                              uint64_t number,
                              uint32_t bytes);

/**
 * An acknowledgement covers this packet for the first time. pcc_on_end_acks() follows after the last one of it.
 */
pcc_status pcc_on_ack(struct pcc *sender,
                      uint64_t now,
                      uint64_t number);

/**
 * Of the packets that the acknowledgement covers, so many arrived with a mark of congestion (ECN). Before
 * pcc_on_end_acks().
 */
pcc_status pcc_on_congestion_experienced(struct pcc *sender,
                                         uint32_t packets);

/**
 * All packets of an acknowledgement were told of.
 */
pcc_status pcc_on_end_acks(struct pcc *sender, uint64_t now);

/**
 * The loss detection gave this packet up.
 */
pcc_status pcc_on_loss(struct pcc *sender, uint64_t now, uint64_t number);

/**
 * Nobody will report on packets below this number: keys or path are gone.
 */
pcc_status pcc_on_discarded(struct pcc *sender, uint64_t now, uint64_t number);

/**
 * The transport may send and does not, because of a `pcc_limit`. The next packet sent ends it. Other values mean the host.
 */
pcc_status pcc_on_limited(struct pcc *sender,
                          uint64_t now,
                          uint32_t limit);

/**
 * All packets of several probe time-outs were lost (RFC 9002, 7.6).
 */
pcc_status pcc_on_persistent_congestion(struct pcc *sender, uint64_t now);

/**
 * A full packet has another size from now on, in bytes.
 */
pcc_status pcc_set_max_datagram_size(struct pcc *sender, uint32_t bytes);

/**
 * The time of pcc_next_timer() has come. A transport without a spare timer may leave it to the next event.
 */
pcc_status pcc_on_timer(struct pcc *sender,
                        uint64_t now);

/**
 * When pcc_on_timer() should be called at the latest; `UINT64_MAX` for never.
 */
uint64_t pcc_next_timer(const struct pcc *sender);

/**
 * The rate at which packets should leave now, evenly, in bytes a second. At least 1.
 */
uint64_t pcc_rate(const struct pcc *sender);

/**
 * How much may be in flight at the most, in bytes.
 */
uint64_t pcc_congestion_window(const struct pcc *sender);

/**
 * Bytes that were sent and are neither acknowledged nor lost nor discarded.
 */
uint64_t pcc_bytes_in_flight(const struct pcc *sender);

/**
 * How much may leave back to back, in bytes.
 */
uint64_t pcc_send_quantum(const struct pcc *sender);

/**
 * How many packets should leave back to back while the sender measures the bottleneck, otherwise 1.
 */
uint32_t pcc_train_packets(const struct pcc *sender);

/**
 * The RTT of the path.
 */
struct pcc_rtt_times pcc_rtt(const struct pcc *sender);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PCC_H */
