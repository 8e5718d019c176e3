/* load.h - many keep-alive clients in one thread, each asking its questions in turn and checking the
 * body of every answer. For tests that kill things under load: what counts is what each client saw. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_question {
	const char *request; /* the whole request, ends with an empty line */
	const char *body;    /* what a 200 must carry, exactly; NULL: anything */
};

#define LOAD_MAX_QUESTIONS 8u
#define LOAD_BUCKET_MS     100u
#define LOAD_BUCKETS       6000u /* ten minutes */

/* What clients saw. A copy taken in a tick, compared with a later one, tells of the time between. */
struct load_counts {
	uint64_t by_status[600];
	uint64_t wrong_bodies; /* a 200 with another body than its question's */
	uint64_t malformed;    /* an answer that is no HTTP/1.1 */
	uint64_t closed;       /* questions whose connection ended instead of an answer */
	uint64_t refused;      /* connections that could not be made */
	uint64_t stuck;        /* neither within the time */
	uint64_t slowest_ms;
	uint64_t bad_of_question[LOAD_MAX_QUESTIONS]; /* all but a 200 with the right body */
};

struct load_client_counts {
	uint64_t ok, bad, slowest_ms;
};

struct load {
	/* set before */
	uint16_t port;
	unsigned n_clients;
	unsigned n_idle; /* so many keep a connection and ask nothing; may be changed in a tick */
	const struct load_question *questions; /* client i begins with question i % n_questions */
	size_t                      n_questions;
	unsigned answer_within_ms; /* an answer or the end of the connection; else stuck */
	/* Called about every 10 ms with the milliseconds since the start; true ends the run. */
	bool (*tick)(void *arg, uint64_t now_ms);
	void *arg;

	/* found */
	struct load_counts counts;
	unsigned           ok_in_bucket[LOAD_BUCKETS]; /* 200s per LOAD_BUCKET_MS since the start */
	unsigned bad_in_bucket[LOAD_BUCKETS]; /* other answers, lost and refused connections */
	struct load_client_counts *of_client; /* heap, n_clients; free with load_done */
	uint64_t                   started_us;
};

void load_run(struct load *load);
void load_done(struct load *load);
/* All answers that are neither 200 nor 502, 503, 504. */
uint64_t load_other(const struct load_counts *counts);
/* What went wrong between two times since the start. */
uint64_t load_bad(const struct load *load, uint64_t from_ms, uint64_t to_ms);
/* The end of the last bucket before until with something bad in it, from a time on; from_ms: none. */
uint64_t load_last_bad(const struct load *load, uint64_t from_ms, uint64_t until_ms);
/* 200s per second between two times since the start. */
double load_rate(const struct load *load, uint64_t from_ms, uint64_t to_ms);
