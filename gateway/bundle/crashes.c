/* What a bundle's crash costs.
 *
 *    before it serves (the mark says start, init)           three times: it is refused
 *    while serving (the signal handler left a subject)     this worker's successor does not run
 *                                                          that: 1 s, 2 s ... 64 s
 *
 * A subject is a pattern, a mounted servlet or a preprocessor, in whose place 503 is answered, or an
 * error page, in whose place the built-in one is shown, or a listener, which is not told.
 *
 * A crash is forgotten after ten minutes without another one. Limits are per worker: while one
 * answers 503, the others serve; whoever sends the request that crashes meets them too, and each
 * has its own limit then.
 *
 * Owns: one record per bundle that crashed (process lifetime). Runs in: the parent. Logs: each
 * crash that it can name. Tests: tests/unit/gateway/crashes_test.c. */
#include "crashes.h"

#include "mark.h"
#include "shared.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CRASHES 3u
#define FORGET_US   600000000u
#define FIRST_US    1000000u
#define MAX_SHIFT   6u /* 64 s */

/* Of the settings' bundles; changes.c counts those of installed ones. */
struct culprit {
	struct culprit *next;
	char           *name; /* symbolic name, or a file whose constructors crash */
	unsigned        crashes;
	uint64_t        crashed_us;
	char           *reason; /* why it is refused; NULL: it is not */
	bool            untold;
};

static struct culprit *culprits;

/* ---- while serving ---- */

/* The one of that subject, a free one, or the one that is out of date the longest. */
static struct shared_limit *limit_for(struct shared_worker *w, const char *subject)
{
	struct shared_limit *oldest = &w->limits[0];

	for (size_t i = 0; i < SHARED_LIMITS; i++) {
		struct shared_limit *l = &w->limits[i];

		if (strcmp(l->subject, subject) == 0)
			return l;
		if (l->crashed_us < oldest->crashed_us)
			oldest = l;
	}
	memset(oldest, 0, sizeof(*oldest));
	return oldest;
}

static void limit(struct shared_worker *w, uint32_t index)
{
	char                 subject[SHARED_SUBJECT_MAX];
	uint64_t             now_us = clock_mono_us();
	struct shared_limit *l;
	unsigned             shift;

	/* The worker wrote it, and it may have been anything by then. */
	memcpy(subject, w->crash_subject, sizeof(subject));
	subject[sizeof(subject) - 1] = 0;
	l = limit_for(w, subject);
	memcpy(l->subject, subject, sizeof(subject));
	if (now_us - l->crashed_us > FORGET_US)
		l->crashes = 0;
	shift = l->crashes < MAX_SHIFT ? l->crashes : MAX_SHIFT;
	l->crashes++;
	l->crashed_us = now_us;
	l->until_us = now_us + (FIRST_US << shift);
	atomic_fetch_add(&w->crashes, 1);
	log_error(0, "worker %u crashed while serving %s (%u in a row): it is not run for %u s",
	          index, subject, l->crashes, 1u << shift);
}

/* ---- outside of a request ---- */

static struct culprit *culprit_get(const char *name)
{
	struct culprit *c = culprits;

	while (c && strcmp(c->name, name) != 0)
		c = c->next;
	if (c)
		return c;
	c = xcalloc(1, sizeof(*c));
	c->name = xstrdup(name);
	c->next = culprits;
	culprits = c;
	return c;
}

/* Takes reason, heap. */
static void refuse(struct culprit *c, char *reason)
{
	c->reason = reason;
	c->untold = true;
	log_error(0, "bundle %s is refused: it %s", c->name, c->reason);
}

static void blame(struct culprit *c, const char *how, unsigned most)
{
	uint64_t now_us = clock_mono_us();

	if (now_us - c->crashed_us > FORGET_US)
		c->crashes = 0;
	c->crashed_us = now_us;
	if (++c->crashes < most || c->reason)
		return;
	refuse(c, c->crashes == 1 ? xstrdup(how)
	                          : xasprintf("%s, %u times in a row", how, c->crashes));
}

/* ---- the entries ---- */

bool crashes_note(struct shared_worker *w, uint32_t index, uint64_t *ret_generation, char *how,
                  size_t n)
{
	uint32_t phase = atomic_load(&w->mark.phase);
	char     name[sizeof(w->mark.bundle)];

	*ret_generation = w->mark.generation;
	memcpy(name, w->mark.bundle, sizeof(name));
	name[sizeof(name) - 1] = 0;
	if (phase != MARK_NONE) {
		snprintf(how, n, "crashed in %s", mark_phase_text(phase));
		log_error(0, "worker %u: bundle %s, generation %llu: it %s", index, name,
		          (unsigned long long)*ret_generation, how);
	}
	/* One that dies at its end was all right as long as it served. */
	if (phase != MARK_NONE && phase <= MARK_INIT && *ret_generation == 0)
		blame(culprit_get(name), how, MAX_CRASHES);
	if (w->crash_subject[0] != 0)
		limit(w, index);
	w->crash_subject[0] = 0;
	atomic_store(&w->mark.phase, MARK_NONE);
	return phase != MARK_NONE && phase <= MARK_INIT;
}

bool crashes_fail(const char *name, const char *why, unsigned tries)
{
	struct culprit *c = culprit_get(name);

	if (!c->reason)
		blame(c, why, tries);
	return c->reason != NULL;
}

bool crashes_untold(const char **ret_name, const char **ret_reason)
{
	for (const struct culprit *c = culprits; c; c = c->next)
		if (c->untold) {
			*ret_name = c->name;
			*ret_reason = c->reason;
			return true;
		}
	return false;
}

void crashes_told(const char *name)
{
	culprit_get(name)->untold = false;
}

static bool has_row(const struct bundle_row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return true;
	return false;
}

struct bundle_list crashes_list(const struct bundle_list *installed)
{
	size_t             n = installed->n, n_culprits = 0;
	struct bundle_row *rows;

	for (const struct culprit *c = culprits; c; c = c->next)
		n_culprits++;
	rows = xcalloc(n + n_culprits + 1, sizeof(*rows));
	if (n > 0)
		memcpy(rows, installed->rows, n * sizeof(*rows));
	for (const struct culprit *c = culprits; c; c = c->next)
		if (c->reason && !has_row(rows, n, c->name))
			rows[n++] = (struct bundle_row){ .name = c->name,
				                         .state = BUNDLE_REFUSED,
				                         .reason = c->reason };
	return (struct bundle_list){ rows,
		                     n,
		                     { installed->remembered[0], installed->remembered[1] } };
}

void crashes_list_done(struct bundle_list *list)
{
	free((void *)(uintptr_t)list->rows);
	*list = (struct bundle_list){ .n = 0 };
}

void crashes_done(void)
{
	while (culprits) {
		struct culprit *c = culprits;

		culprits = c->next;
		free(c->name);
		free(c->reason);
		free(c);
	}
}
