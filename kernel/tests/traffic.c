// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/* An ordinary TCP application: sends with a congestion control, checks what arrived.
 *
 *	traffic receive PORT
 *	traffic send CONGESTION-CONTROL ADDRESS PORT CONNECTIONS BYTES PROCESSES
 *
 * The receiver answers each connection with the number of bytes that were right. A sender
 * throws away every seventh connection in the middle (a reset). Every fifth gets another
 * congestion control and this one again. Named -pcc, they choose none, and must have pcc.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t byte_at(uint64_t place)
{
	return place ^ place >> 8 ^ place >> 16 ^ place >> 24;
}

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	if (!inet_aton(address, &to.sin_addr))
		errx(2, "`%s' is no address", address);
	return to;
}

static void answer(int peer)
{
	static uint8_t data[1 << 16];
	uint64_t place = 0, right = 0;
	ssize_t got, i;

	while ((got = read(peer, data, sizeof(data))) > 0)
		for (i = 0; i < got; i++)
			right += data[i] == byte_at(place++);
	if (!got && write(peer, &right, sizeof(right)) < 0)
		warn("answer");
}

static void receive(const char *port)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), peer, one = 1;
	struct sockaddr_in at = address_of("0.0.0.0", port);

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (void *)&at, sizeof(at)) || listen(listener, 1000))
		err(1, "listen");
	signal(SIGCHLD, SIG_IGN);
	while ((peer = accept(listener, NULL, NULL)) >= 0) {
		if (!fork()) {
			answer(peer);
			_exit(0);
		}
		close(peer);
	}
	err(1, "accept");
}

/* A socket that has chosen none must have this one. */
static void check(int connection, const char *name)
{
	char found[16] = "";
	socklen_t size = sizeof(found);

	if (getsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, found, &size))
		err(1, "congestion control");
	if (strncmp(found, name, sizeof(found)))
		errx(1, "a new connection has %.16s, not %s", found, name);
}

static void choose(int connection, const char *name)
{
	if (*name == '-')
		return;
	if (setsockopt(connection, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)))
		err(1, "congestion control %s", name);
}

static void one_connection(const char *name, const struct sockaddr_in *to, long number, uint64_t bytes)
{
	int connection = socket(AF_INET, SOCK_STREAM, 0);
	struct linger reset = { .l_onoff = 1 };
	uint64_t place = 0, right = 0, i, size;
	static uint8_t data[1 << 14];
	ssize_t done;

	choose(connection, name);
	if (connect(connection, (void *)to, sizeof(*to)))
		err(1, "connect");
	if (*name == '-')
		check(connection, name + 1);
	while (place < bytes) {
		size = bytes - place < sizeof(data) ? bytes - place : sizeof(data);
		for (i = 0; i < size; i++)
			data[i] = byte_at(place + i);
		done = write(connection, data, size);
		if (done < 0)
			err(1, "write");
		place += done;
		if (number % 5 == 4 && place < bytes) {
			choose(connection, "reno");
			choose(connection, name);
		}
		if (number % 7 == 6 && place >= bytes / 2) {
			setsockopt(connection, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
			close(connection);
			return;
		}
	}
	shutdown(connection, SHUT_WR);
	if (read(connection, &right, sizeof(right)) != sizeof(right))
		err(1, "no answer on connection %ld", number);
	if (right != bytes)
		errx(1, "of %llu bytes %llu arrived", (unsigned long long)bytes,
		     (unsigned long long)right);
	close(connection);
}

static int send_all(char **argument)
{
	struct sockaddr_in to = address_of(argument[1], argument[2]);
	long connections = atol(argument[3]), processes = atol(argument[5]), number, process;
	uint64_t bytes = strtoull(argument[4], NULL, 10);
	int status, failed = 0;

	for (process = 0; process < processes; process++) {
		if (fork())
			continue;
		for (number = process; number < connections; number += processes)
			one_connection(argument[0], &to, number, bytes);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= status;
	return !!failed;
}

int main(int arguments, char **argument)
{
	if (arguments == 3 && !strcmp(argument[1], "receive"))
		receive(argument[2]);
	if (arguments == 8 && !strcmp(argument[1], "send"))
		return send_all(argument + 2);
	errx(2, "receive PORT, or send CONGESTION-CONTROL ADDRESS PORT CONNECTIONS BYTES PROCESSES");
}
