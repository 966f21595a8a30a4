/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The part of test_progs.h of the kernel's selftests which prog_tests/bpf_pcc.c asks for. */
#ifndef TEST_PROGS_H
#define TEST_PROGS_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

void test__passed(bool ok, const char *name, long long actual);

#define ASSERT_THAT(actual, holds, name) ({			\
	bool ok_ = (holds);					\
								\
	test__passed(ok_, name, (long long)(actual));		\
	ok_;							\
})

#define ASSERT_OK(actual, name) ({				\
	long long actual_ = (actual);				\
								\
	ASSERT_THAT(actual_, !actual_, name);			\
})

#define ASSERT_OK_FD(actual, name) ASSERT_THAT(actual, (actual) >= 0, name)
#define ASSERT_GE(actual, least, name) ASSERT_THAT(actual, (actual) >= (least), name)
#define ASSERT_LE(actual, most, name) ASSERT_THAT(actual, (actual) <= (most), name)
#define ASSERT_GT(actual, below, name) ASSERT_THAT(actual, (actual) > (below), name)
#define ASSERT_OK_PTR(actual, name) ASSERT_OK(libbpf_get_error(actual), name)

#define SYS_NOFAIL(format, args...) ({				\
	char command_[1024];					\
								\
	snprintf(command_, sizeof(command_), format " >/dev/null 2>&1", ##args); \
	system(command_);					\
})

#define SYS(label, format, args...) ({				\
	char command_[1024];					\
								\
	snprintf(command_, sizeof(command_), format, ##args);	\
	if (!ASSERT_OK(system(command_), command_))		\
		goto label;					\
})

static inline unsigned long long get_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

#endif
