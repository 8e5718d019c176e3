/* Making an unpublished generation ready.
 *
 * "As if the old ones were not there" is meant literally: the snapshot is built from all readings
 * but theirs, so that neither generation shadows the other, a context of the new one gets what is
 * bound to it, and what only the old one had shadowed is initialised too. What others' objects make
 * of that is not the new generation's fault: only its own failures count.
 *
 * Owns: the stage's readings and snapshot. Runs in: the loop's stack; calls bundle code, which may
 * register services (the whiteboard keeps them back meanwhile). Fails with: false and a reason.
 * Tests: tests/unit/whiteboard/generations_test.c. */
#include "stage.h"

#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>

/* Ranking order; equal readings do not exist. */
static void insert(struct reading **list, size_t *n, struct reading *r)
{
	size_t i = (*n)++;

	for (; i > 0 && reading_compare(r, list[i - 1]) < 0; i--)
		list[i] = list[i - 1];
	list[i] = r;
}

static bool is_own(const struct stage *st, const struct reading *r)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->readings[i] == r)
			return true;
	return false;
}

/* NULL, or the first of the new objects that could not be had. */
static const struct binding *find_failed(const struct stage *st)
{
	for (size_t i = 0; i < st->snapshot->n_bindings; i++) {
		const struct binding *b = st->snapshot->bindings[i];

		if (b->failure != FAILURE_NONE && is_own(st, b->reading))
			return b;
	}
	return NULL;
}

static const struct reading *find_not_gettable(const struct stage *st)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->readings[i]->not_gettable)
			return st->readings[i];
	return NULL;
}

static bool judge(const struct stage *st, char *reason, size_t size)
{
	const struct binding *failed = find_failed(st);
	const struct reading *context = find_not_gettable(st);

	if (failed && failed->failure == FAILURE_INIT)
		snprintf(reason, size, "cannot initialise %s", failed->reading->note);
	else if (failed)
		snprintf(reason, size, "gives no object for %s", failed->reading->note);
	else if (context)
		snprintf(reason, size, "gives no helper for %s", context->note);
	return !failed && !context;
}

bool stage_build(struct stage *st, struct reading *const *there, size_t n_there,
                 struct bw_service *const *services, size_t n, const struct bw_bundle *from,
                 char *reason, size_t size)
{
	struct reading **all = xcalloc(n_there + n * READING_ROLES + 1, sizeof(struct reading *));
	size_t           n_all = 0;

	st->readings = xcalloc(n * READING_ROLES + 1, sizeof(struct reading *));
	st->n = 0;
	for (size_t i = 0; i < n_there; i++)
		if (!from || there[i]->bundle != from)
			all[n_all++] = reading_ref(there[i]);
	for (size_t i = 0; i < n * READING_ROLES; i++) {
		struct reading *r = reading_new(services[i / READING_ROLES], i % READING_ROLES);

		if (!r)
			continue;
		r->staged = true;
		st->readings[st->n++] = r;
		insert(all, &n_all, reading_ref(r));
	}
	st->snapshot = snapshot_build(all, n_all);
	while (n_all > 0)
		reading_unref(all[--n_all]);
	free(all);
	return judge(st, reason, size);
}

struct reading *stage_take(struct stage *st, const struct bw_service *s)
{
	for (size_t i = 0; i < st->n; i++) {
		struct reading *r = st->readings[i];

		if (!r || r->service != s || !reading_is_current(r, s))
			continue;
		st->readings[i] = NULL;
		r->staged = false;
		r->ranking = service_ranking(s);
		return r;
	}
	return NULL;
}

void stage_done(struct stage *st)
{
	struct stage old = *st;

	/* Bundle code runs below, and may look at the stage again. */
	*st = (struct stage){ NULL, 0, NULL };
	for (size_t i = 0; i < old.n; i++)
		if (old.readings[i])
			binding_retire(old.readings[i]);
	snapshot_unref(old.snapshot);
	for (size_t i = 0; i < old.n; i++)
		reading_unref(old.readings[i]);
	free(old.readings);
}
