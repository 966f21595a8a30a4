// SPDX-License-Identifier: GPL-2.0 OR MIT

/* A sender, a router with a slow link and a short queue, and a receiver: PCC fills the link. It does
 * not fill the queue, so few packets are lost.
 */

#include <netinet/tcp.h>
#include "test_progs.h"
#include "network_helpers.h"
#include "bpf_pcc.skel.h"

#define SENDER "bpf_pcc_snd"
#define ROUTER "bpf_pcc_rtr"
#define RECEIVER "bpf_pcc_rcv"
/* 20 Mbit/s, of which 1448 bytes in 1514 are data. */
#define PATH_BYTES_PER_SEC (2500000ULL * 1448 / 1514)
#define TOTAL_BYTES 12000000

static int setup_path(void)
{
	SYS(fail, "ip netns add " SENDER " && ip netns add " ROUTER " && ip netns add " RECEIVER);
	SYS(fail, "ip link add snd netns " SENDER " type veth peer name near netns " ROUTER);
	SYS(fail, "ip link add rcv netns " RECEIVER " type veth peer name far netns " ROUTER);
	SYS(fail, "ip -n " SENDER " addr add 10.0.1.1/24 dev snd && ip -n " SENDER " link set snd up");
	SYS(fail, "ip -n " ROUTER " addr add 10.0.1.2/24 dev near && ip -n " ROUTER " link set near up");
	SYS(fail, "ip -n " ROUTER " addr add 10.0.2.2/24 dev far && ip -n " ROUTER " link set far up");
	SYS(fail, "ip -n " RECEIVER " addr add 10.0.2.1/24 dev rcv && ip -n " RECEIVER " link set rcv up");
	SYS(fail, "ip -n " SENDER " route add default via 10.0.1.2");
	SYS(fail, "ip -n " RECEIVER " route add default via 10.0.2.2");
	SYS(fail, "ip netns exec " ROUTER " sysctl -wq net.ipv4.ip_forward=1");
	/* On so short a path TCP would send 64 kB at once, more than the queue holds. */
	SYS(fail, "ip netns exec " SENDER " sysctl -wq net.ipv4.tcp_tso_rtt_log=0");
	SYS(fail, "tc -n " ROUTER " qdisc add dev far root tbf rate 20mbit burst 4000 limit 50000");
	return 0;
fail:
	return -1;
}

static int set_bpf_pcc(int fd, void *opts)
{
	return setsockopt(fd, SOL_TCP, TCP_CONGESTION, "bpf_pcc", strlen("bpf_pcc"));
}

static void send_over_path(struct bpf_pcc *skel)
{
	struct network_helper_opts sends = { .timeout_ms = 10000, .post_socket_cb = set_bpf_pcc };
	struct network_helper_opts receives = { .timeout_ms = 10000 };
	int listen_fd, fd = -1;
	struct nstoken *token;
	__u64 began_ns, rate;

	/* The socket that listens is the one that sends. */
	token = open_netns(SENDER);
	if (!ASSERT_OK_PTR(token, "open_netns"))
		return;
	listen_fd = start_server_str(AF_INET, SOCK_STREAM, "10.0.1.1", 0, &sends);
	close_netns(token);
	token = open_netns(RECEIVER);
	if (ASSERT_OK_FD(listen_fd, "start_server_str") && ASSERT_OK_PTR(token, "open_netns"))
		fd = connect_to_fd_opts(listen_fd, &receives);
	close_netns(token);

	began_ns = get_time_ns();
	if (ASSERT_OK_FD(fd, "connect_to_fd_opts") &&
	    ASSERT_OK(send_recv_data(listen_fd, fd, TOTAL_BYTES), "send_recv_data")) {
		rate = TOTAL_BYTES * 1000000000ULL / (get_time_ns() - began_ns);
		ASSERT_GE(rate * 100 / PATH_BYTES_PER_SEC, 80, "percent of the path");
		ASSERT_LE(skel->bss->packets_lost * 30, skel->bss->packets_delivered, "packets lost");
		ASSERT_GT(skel->bss->rounds_judged, 10, "rounds judged");
	}
	close(fd);
	close(listen_fd);
}

void test_bpf_pcc(void)
{
	struct bpf_pcc *skel = bpf_pcc__open_and_load();
	struct bpf_link *link;

	if (!ASSERT_OK_PTR(skel, "bpf_pcc__open_and_load"))
		return;
	link = bpf_map__attach_struct_ops(skel->maps.pcc);
	if (ASSERT_OK_PTR(link, "bpf_map__attach_struct_ops") && !setup_path())
		send_over_path(skel);
	SYS_NOFAIL("ip netns del " SENDER "; ip netns del " ROUTER "; ip netns del " RECEIVER);
	bpf_link__destroy(link);
	bpf_pcc__destroy(skel);
}
