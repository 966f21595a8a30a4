/* A transport of its own on UDP, paced by libpcc: a sender and a receiver on the loopback interface.
 *
 *   udp_transfer BYTES [DROP [UTILITY]]
 *
 * The receiver drops each DROPth packet (0: none), so that the sender has losses to find. The sender numbers each packet, sends a
 * lost piece again under a new number, and ends when all of it was acknowledged. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pcc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DATAGRAM 1200                        /* bytes */
#define PIECE (DATAGRAM - sizeof(struct header))
#define REMEMBERED (1u << 14)                /* packets in flight at the most */
#define REORDERING 64                        /* packets that may overtake one before it counts as lost */
#define SECOND UINT64_C(1000000000)          /* nanoseconds */
#define PATIENCE (120 * SECOND)              /* far longer than any transfer here takes */
#define END UINT64_MAX                       /* the offset that says: all has arrived */

struct header {
    uint64_t number;
    uint64_t offset;
};

struct packet {
    uint64_t offset;
    uint64_t sent;
    int in_flight;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static size_t piece_at(uint64_t offset, uint64_t bytes)
{
    return bytes - offset < PIECE ? (size_t)(bytes - offset) : PIECE;
}

/* Bytes that tell where they belong. */
static void fill(unsigned char *piece, uint64_t offset, size_t length)
{
    for (size_t i = 0; i < length; i++)
        piece[i] = (unsigned char)((offset + i) * 31 >> 3);
}

/* Receives until the sender says that all has arrived. Answers 0 if each piece arrived as it was sent. */
static int receive(int socket, uint64_t bytes, uint64_t drop)
{
    unsigned char datagram[DATAGRAM], expected[DATAGRAM];
    unsigned char *has = calloc(bytes / PIECE + 1, 1);
    uint64_t arrived = 0, count = 0;

    if (has == NULL)
        fail("calloc");
    for (;;) {
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        struct header header;
        ssize_t got = recvfrom(socket, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &length);

        if (got < (ssize_t)sizeof header)
            fail("recvfrom");
        memcpy(&header, datagram, sizeof header);
        if (header.offset == END)
            break;
        if (drop != 0 && ++count % drop == 0)
            continue;
        fill(expected, header.offset, (size_t)got - sizeof header);
        if (header.offset >= bytes || memcmp(expected, datagram + sizeof header, (size_t)got - sizeof header) != 0) {
            fprintf(stderr, "wrong bytes at %" PRIu64 "\n", header.offset);
            return 1;
        }
        if (!has[header.offset / PIECE]) {
            has[header.offset / PIECE] = 1;
            arrived += (uint64_t)got - sizeof header;
        }
        if (sendto(socket, &header.number, sizeof header.number, 0, (struct sockaddr *)&from, length) < 0)
            fail("sendto");
    }
    free(has);
    if (arrived != bytes)
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " bytes arrived\n", arrived, bytes);
    return arrived != bytes;
}

struct sender {
    int socket;
    struct pcc *pcc;
    uint64_t bytes;                 /* of the whole transfer */
    uint64_t next;                  /* the first byte that was never sent */
    uint64_t acked;                 /* bytes */
    uint64_t number;                /* of the next packet */
    uint64_t oldest;                /* no older packet is in flight */
    uint64_t lost;                  /* packets */
    uint64_t due;                   /* when the next packet may leave */
    uint64_t progress;              /* when an acknowledgement came last, or the first packet left */
    struct packet packets[REMEMBERED];
    uint64_t again[REMEMBERED];     /* offsets to be sent once more */
    size_t agains;
};

static struct packet *packet(struct sender *sender, uint64_t number)
{
    return &sender->packets[number % REMEMBERED];
}

static void lose(struct sender *sender, uint64_t number)
{
    packet(sender, number)->in_flight = 0;
    sender->again[sender->agains++] = packet(sender, number)->offset;
    sender->lost++;
    pcc_on_loss(sender->pcc, now(), number);
}

/* A packet is lost once so many others overtook it, or once nothing was acknowledged for long. */
static void detect_losses(struct sender *sender, uint64_t acked)
{
    for (uint64_t number = sender->oldest; number + REORDERING < acked; number++)
        if (packet(sender, number)->in_flight)
            lose(sender, number);
    while (sender->oldest < sender->number && !packet(sender, sender->oldest)->in_flight)
        sender->oldest++;
}

static void read_acknowledgements(struct sender *sender)
{
    uint64_t number;

    while (recv(sender->socket, &number, sizeof number, MSG_DONTWAIT) == sizeof number) {
        struct packet *acked = packet(sender, number);

        if (number >= sender->number || number < sender->oldest || !acked->in_flight)
            continue;
        acked->in_flight = 0;
        sender->acked += piece_at(acked->offset, sender->bytes);
        sender->progress = now();
        pcc_on_ack(sender->pcc, sender->progress, number);
        pcc_on_end_acks(sender->pcc, sender->progress);
        detect_losses(sender, number);
    }
}

/* The end of the transfer leaves no packets behind it that could overtake a lost one. */
static void expect_progress(struct sender *sender)
{
    uint64_t patience = SECOND / 20 + 3 * pcc_rtt(sender->pcc).smoothed;

    if (sender->oldest < sender->number && now() > sender->progress + patience) {
        sender->progress = now();
        for (uint64_t number = sender->oldest; number < sender->number; number++)
            if (packet(sender, number)->in_flight)
                lose(sender, number);
        detect_losses(sender, 0);
    }
}

static int has_data(const struct sender *sender)
{
    return sender->agains > 0 || sender->next < sender->bytes;
}

static int has_room(const struct sender *sender)
{
    return pcc_bytes_in_flight(sender->pcc) + DATAGRAM <= pcc_congestion_window(sender->pcc)
        && sender->number - sender->oldest < REMEMBERED;
}

static void send_one(struct sender *sender)
{
    unsigned char datagram[DATAGRAM];
    struct header header = { sender->number++, 0 };
    uint64_t moment = now(), gap;
    size_t length;

    if (sender->agains > 0) {
        header.offset = sender->again[--sender->agains];
    } else {
        header.offset = sender->next;
        sender->next += piece_at(header.offset, sender->bytes);
    }
    length = piece_at(header.offset, sender->bytes);
    memcpy(datagram, &header, sizeof header);
    fill(datagram + sizeof header, header.offset, length);
    if (sender->oldest == header.number)
        sender->progress = moment;
    *packet(sender, header.number) = (struct packet){ header.offset, moment, 1 };
    pcc_on_packet_sent(sender->pcc, moment, header.number, (uint32_t)(sizeof header + length));
    /* What the socket refuses is lost, like anything else. */
    (void)send(sender->socket, datagram, sizeof header + length, 0);
    gap = (sizeof header + length) * SECOND / pcc_rate(sender->pcc);
    /* A late host catches up on a millisecond. */
    sender->due = (sender->due + SECOND / 1000 > moment ? sender->due : moment) + gap;
}

static void sleep_until(struct sender *sender, uint64_t then)
{
    struct pollfd acknowledgement = { sender->socket, POLLIN, 0 };
    uint64_t moment = now(), wait = then > moment ? then - moment : 0;
    struct timespec time;

    wait = wait < SECOND / 100 ? wait : SECOND / 100;
    time = (struct timespec){ 0, (long)wait };
    if (ppoll(&acknowledgement, 1, &time, NULL) < 0 && errno != EINTR)
        fail("ppoll");
}

static void send_all(struct sender *sender)
{
    uint64_t began = now();

    while (sender->acked < sender->bytes) {
        if (now() > began + PATIENCE) {
            fprintf(stderr, "%" PRIu64 " of %" PRIu64 " bytes acknowledged in time\n", sender->acked, sender->bytes);
            exit(1);
        }
        read_acknowledgements(sender);
        expect_progress(sender);
        if (pcc_next_timer(sender->pcc) <= now())
            pcc_on_timer(sender->pcc, now());
        if (!has_data(sender))
            pcc_on_limited(sender->pcc, now(), PCC_LIMIT_APPLICATION);
        while (has_data(sender) && has_room(sender) && sender->due <= now())
            send_one(sender);
        sleep_until(sender, has_data(sender) && has_room(sender) ? sender->due : pcc_next_timer(sender->pcc));
    }
}

int main(int argc, char **argv)
{
    uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t drop = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    struct pcc_config config = { .size = sizeof config, .seed = (uint64_t)getpid(), .max_datagram_size = DATAGRAM };
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    static struct sender sender;
    char message[400];
    uint64_t began;
    int receiver, status;
    pid_t child;

    if (bytes == 0 || argc > 4) {
        fprintf(stderr, "usage: udp_transfer BYTES [DROP [UTILITY]]\n");
        return 2;
    }
    config.utility = argc > 3 ? argv[3] : NULL;
    config.max_rate = 25000000; /* 200 Mbit/s: the loopback interface has no bottleneck of its own */
    if (pcc_new(&config, now(), &sender.pcc, message, sizeof message) != PCC_OK) {
        fprintf(stderr, "%s\n", message);
        return 2;
    }
    receiver = socket(AF_INET, SOCK_DGRAM, 0);
    if (receiver < 0 || bind(receiver, (struct sockaddr *)&address, sizeof address) < 0
        || getsockname(receiver, (struct sockaddr *)&address, &length) < 0)
        fail("socket");
    child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        pcc_free(sender.pcc);
        return receive(receiver, bytes, drop);
    }
    close(receiver);
    sender.socket = socket(AF_INET, SOCK_DGRAM, 0);
    if (sender.socket < 0 || connect(sender.socket, (struct sockaddr *)&address, sizeof address) < 0)
        fail("connect");
    sender.bytes = bytes;
    began = sender.due = now();
    send_all(&sender);
    printf("libpcc %s: %" PRIu64 " bytes, %.1f Mbit/s, %" PRIu64 " packets, %" PRIu64 " of them lost, RTT %.2f ms\n", pcc_version(),
        bytes, (double)bytes * 8e3 / (double)(now() - began), sender.number, sender.lost,
        (double)pcc_rtt(sender.pcc).smoothed / 1e6);
    if (send(sender.socket, &(struct header){ sender.number, END }, sizeof(struct header), 0) < 0
        || waitpid(child, &status, 0) < 0)
        fail("end");
    close(sender.socket);
    pcc_free(sender.pcc);
    return status != 0;
}
