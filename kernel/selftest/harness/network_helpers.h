/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The part of network_helpers.h of the kernel's selftests which prog_tests/bpf_pcc.c asks for. */
#ifndef NETWORK_HELPERS_H
#define NETWORK_HELPERS_H

#include <stdint.h>
#include <sys/socket.h>
#include <linux/types.h>

struct network_helper_opts {
	int timeout_ms;
	int (*post_socket_cb)(int fd, void *opts);
	void *cb_opts;
};

struct nstoken;

/* This thread works in the named network namespace until the token is closed. */
struct nstoken *open_netns(const char *name);
void close_netns(struct nstoken *token);

int start_server_str(int family, int type, const char *address, __u16 port,
		     const struct network_helper_opts *opts);
int connect_to_fd_opts(int server_fd, const struct network_helper_opts *opts);
/* A connection to listen_fd is accepted and sent so many bytes, and fd receives them. */
int send_recv_data(int listen_fd, int fd, uint32_t total_bytes);

#endif
