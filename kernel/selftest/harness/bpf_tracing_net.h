/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The part of bpf_tracing_net.h of the kernel's selftests which progs/bpf_pcc.c asks for. */
#ifndef BPF_TRACING_NET_H
#define BPF_TRACING_NET_H

#include <vmlinux.h>

#define TCP_INFINITE_SSTHRESH 0x7fffffff

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

#endif
