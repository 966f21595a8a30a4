// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Runs test_bpf_pcc() where the kernel's selftests are not at hand. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include "test_progs.h"
#include "network_helpers.h"

void test_bpf_pcc(void);

static int failures;

void test__passed(bool ok, const char *name, long long actual)
{
	if (ok)
		return;
	failures++;
	printf("FAIL: %s: %lld (errno %d)\n", name, actual, errno);
}

struct nstoken {
	int before;
};

struct nstoken *open_netns(const char *name)
{
	struct nstoken *token = malloc(sizeof(*token));
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/var/run/netns/%s", name);
	token->before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (token->before < 0 || fd < 0 || setns(fd, CLONE_NEWNET)) {
		free(token);
		return NULL;
	}
	close(fd);
	return token;
}

void close_netns(struct nstoken *token)
{
	if (!token)
		return;
	if (setns(token->before, CLONE_NEWNET))
		abort();
	close(token->before);
	free(token);
}

static int make_socket(int family, int type, const struct network_helper_opts *opts)
{
	struct timeval timeout = { .tv_sec = opts->timeout_ms / 1000 };
	int fd = socket(family, type, 0);

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (fd >= 0 && opts->post_socket_cb && opts->post_socket_cb(fd, opts->cb_opts)) {
		close(fd);
		return -1;
	}
	return fd;
}

int start_server_str(int family, int type, const char *address, __u16 port,
		     const struct network_helper_opts *opts)
{
	struct sockaddr_in to = { .sin_family = family, .sin_port = htons(port) };
	int fd = make_socket(family, type, opts);

	if (inet_pton(family, address, &to.sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)&to, sizeof(to)) || listen(fd, 1))
		return -1;
	return fd;
}

int connect_to_fd_opts(int server_fd, const struct network_helper_opts *opts)
{
	struct sockaddr_storage to;
	socklen_t length = sizeof(to);
	int fd;

	if (getsockname(server_fd, (struct sockaddr *)&to, &length))
		return -1;
	fd = make_socket(to.ss_family, SOCK_STREAM, opts);
	return connect(fd, (struct sockaddr *)&to, length) ? -1 : fd;
}

struct sending {
	int listen_fd;
	uint32_t bytes;
};

static void *send_all(void *argument)
{
	struct sending *sending = argument;
	int fd = accept(sending->listen_fd, NULL, NULL);
	static const char batch[1500];
	uint32_t left = sending->bytes;
	ssize_t sent = 1;

	for (; left && sent > 0; left -= sent)
		sent = send(fd, batch, left < sizeof(batch) ? left : sizeof(batch), MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

int send_recv_data(int listen_fd, int fd, uint32_t total_bytes)
{
	struct sending sending = { listen_fd, total_bytes };
	uint32_t left = total_bytes;
	char batch[1500];
	pthread_t sender;
	ssize_t got = 1;

	if (pthread_create(&sender, NULL, send_all, &sending))
		return -1;
	while (left && (got = recv(fd, batch, left < sizeof(batch) ? left : sizeof(batch), 0)) > 0)
		left -= got;
	shutdown(fd, SHUT_RDWR);
	pthread_join(sender, NULL);
	return left ? -1 : 0;
}

int main(void)
{
	test_bpf_pcc();
	return !!failures;
}
