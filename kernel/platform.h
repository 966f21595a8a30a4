/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* The differences between the three places where this code runs: a BPF program, a
 * kernel module, and a program in user space that tests it. Everything else is
 * the same text: freestanding C in integers.
 *
 * PCC_CALL	a function of its own, in BPF. It verifies each such function once, for
 *		any arguments, instead of once for each way that leads to it: so
 *		verification costs what the code is long, and no more. It gets
 *		numbers, and pointers to structures of known size, and the
 *		verifier wants to see each such pointer checked (PCC_NEEDS).
 *		BPF has eight frames of call stack, together 512 bytes.
 * PCC_PART	a part of another function.
 * PCC_DIV	a quotient of 64 bits, for which a kernel of 32 bits has no operator.
 */
#ifndef PCC_PLATFORM_H
#define PCC_PLATFORM_H

#if defined(__bpf__)
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;
#define true 1
#define false 0
#ifndef NULL
#define NULL ((void *)0)
#endif
#define offsetof(type, member) __builtin_offsetof(type, member)
#define PCC_CALL __attribute__((noinline))
#define PCC_PART static inline __attribute__((always_inline, unused))
#define PCC_DIV(a, b) ((u64)(a) / (b))
#elif defined(__KERNEL__)
#include <linux/math64.h>
#include <linux/stddef.h>
#include <linux/types.h>
/* With 32 bits numbers fill the stack: joined functions would have frames of 1.5 kB. */
#ifdef CONFIG_64BIT
#define PCC_CALL static __maybe_unused
#else
#define PCC_CALL static noinline_for_stack __maybe_unused
#endif
#define PCC_PART static __always_inline __maybe_unused
#define PCC_DIV(a, b) div64_u64(a, b)
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
#define PCC_CALL static __attribute__((noinline, unused))
#define PCC_PART static inline __attribute__((unused))
#ifndef PCC_DIV
#define PCC_DIV(a, b) ((u64)(a) / (b))
#endif
#endif

/* The verifier of BPF sees what is passed to a PCC_CALL for the first time in
 * it: this is for its eyes. No caller passes NULL.
 */
#define PCC_NEEDS(pointers, otherwise)					\
	do {								\
		if (!(pointers))					\
			return otherwise;				\
	} while (0)

/* Rust reads or writes this member at this place; it asserts the same. */
#define PCC_LIES(structure, member, at)					\
	_Static_assert(__builtin_offsetof(struct structure, member) == (at), #member)

#endif
