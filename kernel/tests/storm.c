// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
/* Any report, sensible or not, and any program, sound or damaged. Under the sanitizers
 * (.ci/kernel) all reads and writes are of memory that is there, and nothing is undefined.
 * The rate stays within the path's limits.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.c"

static u64 seed;

static u64 any(void)
{
	return pcc_random(&seed);
}

static u32 below(u32 n)
{
	return any() % n;
}

/* A number of any size and sign, unknown, infinite, or zero. */
static pcc_num any_number(void)
{
	static const pcc_num edges[] = { N_ZERO, N_SIGN, N_UNKNOWN, N_INFINITY, N_ONE };
	u64 bits = any();

	if (!below(6))
		return edges[below(sizeof(edges) / sizeof(*edges))];
	if (!below(20))
		return n_known(bits) ? bits : N_UNKNOWN;
	/* 2^-20 to 2^43, mostly positive. */
	bits = (bits & N_MANTISSA) | ((u64)(N_BIAS - 20 + below(64)) << 52);
	return below(10) ? bits : bits | N_SIGN;
}

static void any_numbers(pcc_num *first, u32 count)
{
	while (count--)
		*first++ = any_number();
}

static void any_report(struct pcc_report *report)
{
	memset(report, 0, sizeof(*report));
	any_numbers(&report->duration,
		    (offsetof(struct pcc_report, packets) - offsetof(struct pcc_report, duration)) /
			    sizeof(pcc_num));
	any_numbers(&report->previous.rate, 4);
	report->started = any() >> below(64);
	report->packets = any() >> (32 + below(32));
	report->packets_lost = any() >> (32 + below(32));
	report->loss_bursts = any() >> (32 + below(32));
	report->packets_marked = any() >> (32 + below(32));
	report->rtt_samples = any() >> (32 + below(32));
	report->app_limited = !below(20);
	report->limited_by = below(5);
}

static void any_path(struct pcc_path *path)
{
	path->rtt_ns = any() >> below(64);
	path->queue_ns = any() >> below(64);
	path->rtt = n_seconds(path->rtt_ns);
	path->queue = n_seconds(path->queue_ns);
	path->packet = n_from(1 + below(65535));
	path->floor = n_from(1 + below(100000));
	path->initial = n_abs(any_number());
	path->ceiling = n_from(1000000000);
	path->delivery = n_abs(any_number());
}

static void any_program(struct pcc_program *program)
{
	u32 i;

	memset(program, 0, sizeof(*program));
	program->length = below(10) ? below(40) : (u32)any();
	program->loads = any();
	for (i = 0; i < PCC_MOST_OPS; i++) {
		program->ops[i].code = below(50) ? below(PCC_CODES) : (u32)any();
		program->ops[i].index = below(10) ? below(20) : (u32)any();
		program->ops[i].value = any_number();
	}
}

/* 0.01 sqrt(x) - x (rtt_least - rtt_base): a price for the queue. */
static void a_price(struct pcc_program *program)
{
	const struct pcc_op ops[] = {
		{ PCC_PUSH, 0, n_ratio(1, 100) },
		{ PCC_LOAD, PCC_X, N_ZERO },
		{ PCC_SQRT, 0, N_ZERO },
		{ PCC_MUL, 0, N_ZERO },
		{ PCC_LOAD, PCC_X, N_ZERO },
		{ PCC_LOAD, PCC_RTT_LEAST, N_ZERO },
		{ PCC_LOAD, PCC_RTT_BASE, N_ZERO },
		{ PCC_SUB, 0, N_ZERO },
		{ PCC_MUL, 0, N_ZERO },
		{ PCC_SUB, 0, N_ZERO },
	};

	memset(program, 0, sizeof(*program));
	memcpy(program->ops, ops, sizeof(ops));
	program->length = sizeof(ops) / sizeof(*ops);
	program->loads = 1U << PCC_X | 1U << PCC_RTT_LEAST | 1U << PCC_RTT_BASE;
	program->panic_loss = N_HALF;
}

/* Counts that TCP could have, or could not. */
static void any_sample(struct pcc_sample *sample)
{
	u32 sent = below(3) ? below(60) : 0, settled = below(60), lost = below(settled + 1);

	sample->now += any() >> (34 + below(20));
	sample->next_sent = sample->now + (any() >> (36 + below(20)));
	sample->sent += sent;
	sample->bytes_sent += (u64)sent * 1448;
	sample->delivered += settled - lost;
	sample->lost += below(4) ? 0 : lost;
	sample->marked += below(8) ? 0 : settled;
	sample->in_flight = below(10) ? sample->in_flight + sent - settled : below(1000);
	if ((s32)sample->in_flight < 0)
		sample->in_flight = 0;
	sample->rtt = below(3) ? 1000 + below(100000) : (u32)any();
	sample->packet = below(20) ? 1448 : 1 + below(65535);
	sample->reordering = below(20) ? 3 : below(300);
	sample->window = below(2000);
	sample->app_limited = !below(20);
	sample->peer_limited = !below(20);
	sample->blocked = !below(20);
	sample->taken_rtt = below(3) ? 1000 + below(100000) : (u32)any();
}

/* Whether the law's capacity is a rate: from none, and from what is no number, none comes back. */
static int is_a_capacity(const struct pcc_law *law)
{
	pcc_num capacity = law->probing.bottleneck.capacity;

	return law->state != PCC_PROBING ||
	       (n_finite(capacity) && n_above(capacity, N_ZERO));
}

/* The whole sender, told anything: whether what it wants can be sent. */
static int storm_of_samples(u64 events)
{
	static struct pcc_program program;
	static struct pcc_steered all;
	const struct pcc_flow *flow = &all.flow;
	struct pcc_sample sample;
	u64 i, intervals = 0;

	for (i = 0; i < events; i++) {
		if (!(i % 5000)) {
			seed = i;
			a_price(&program);
			memset(&sample, 0, sizeof(sample));
			sample.sent = sample.delivered = sample.lost = any();
			any_sample(&sample);
			intervals += flow->intervals;
			pcc_lib_flow_new(&all, &sample, i);
		}
		any_sample(&sample);
		if (below(100))
			pcc_lib_flow_on_ack(&all, &program, &sample);
		else
			pcc_lib_flow_on_resumption(&all, &sample);
		if (!flow->rate || !flow->window || flow->monitor.count > MONITOR_INTERVALS ||
		    !is_a_capacity(&all.law)) {
			printf("sample %llu: rate %llu, window %u, capacity %016llx\n",
			       (unsigned long long)i, (unsigned long long)flow->rate, flow->window,
			       (unsigned long long)all.law.probing.bottleneck.capacity);
			return 1;
		}
	}
	printf("%llu samples, %llu intervals judged\n", (unsigned long long)events,
	       (unsigned long long)intervals);
	return intervals < events / 1000;
}

/* Any text, from any bytes to what is nearly a program: nothing beyond its end is read. */
static int storm_of_texts(u64 texts)
{
	static const char *const words[] = {
		"pcc-utility/1", "panic_loss=0.5", "x",	 "L", "0.9", "1e9", "pow", "mul", "set3",
		"get3",		 "-12345678901234567890.5e-30",	"if", "set16", "get", "1e999", "",
	};
	static struct pcc_program program;
	char *text, *at;
	u64 i, sound = 0;
	u32 left, length;

	for (i = 0; i < texts; i++) {
		seed = i;
		/* Its end is the end of what may be read. */
		length = 30 + below(60);
		text = malloc(length);
		if (!text)
			return 1;
		for (left = length, at = text; left; left--, at++)
			*at = below(4) ? ' ' : (char)any();
		at = text;
		for (left = length; left && below(30);) {
			const char *word = at == text ? words[0] : at < text + 15 ? words[1]
								   : words[below(16)];
			u32 size = strlen(word) < left ? strlen(word) : left;

			memcpy(at, word, size);
			at += size;
			left -= size;
			if (left) {
				*at++ = ' ';
				left--;
			}
		}
		if (!left || below(2))
			length -= left;
		sound += pcc_lib_read(&program, text, length) == PCC_VALID;
		free(text);
	}
	printf("%llu texts, %llu of them programs\n", (unsigned long long)texts,
	       (unsigned long long)sound);
	return !sound || sound == texts;
}

int main(int arguments, char **argument)
{
	u64 reports = arguments > 1 ? strtoull(argument[1], NULL, 10) : 200000, judged = 0, i;
	static struct pcc_program program;
	static struct pcc_report report;
	static struct pcc_law law;
	struct pcc_path path;
	struct pcc_slot slot;

	for (i = 0; i < reports; i++) {
		if (!(i % 500)) {
			seed = i;
			if (below(2))
				any_program(&program);
			else
				a_price(&program);
			pcc_lib_law_new(&law, n_from(100000), i);
			any_path(&path);
		}
		if (!below(50))
			any_path(&path);
		if (!below(100))
			pcc_lib_law_back_off(&law, path.floor);
		if (!below(100))
			pcc_lib_law_restart(&law);
		if (!below(20))
			pcc_lib_law_start(&law, path.floor);
		pcc_lib_law_next(&law, &path, &slot);
		if (below(2))
			pcc_lib_law_next(&law, &path, &slot);
		any_report(&report);
		pcc_lib_law_ends_early(&law, &program, &path, &report);
		pcc_lib_law_on_report(&law, &program, &path, &slot, &report);
		judged += law.state == PCC_PROBING;
		if (law.state == PCC_PROBING && slot.trial >= 0 &&
		    (!n_finite(law.rate) || !n_above(law.rate, N_ZERO))) {
			printf("report %llu: a rate of %016llx\n", (unsigned long long)i,
			       (unsigned long long)law.rate);
			return 1;
		}
	}
	printf("%llu reports, %llu of them while probing\n", (unsigned long long)reports,
	       (unsigned long long)judged);
	if (storm_of_samples(reports * 5) || storm_of_texts(reports))
		return 1;
	return judged < reports / 10 || judged > reports / 100 * 98;
}
