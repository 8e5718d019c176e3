/* Snapshots: finding in one, and letting go of it.
 *
 * Runs in: the worker's thread; the last unref calls bundle code (destroy, release), which may
 * register services. Tests: tests/unit/whiteboard/snapshot_test.c, tests/conformance. */
#include "snapshot.h"

#include <stdlib.h>

bool snapshot_contains(const struct snapshot_context *c, struct bw_str path,
                       struct bw_str *ret_rest)
{
	size_t n = c->path.n;

	/* Whole segments only: /foo takes /foo and /foo/x, not /foox. */
	if (n > path.n || memcmp(c->path.p, path.p, n) != 0 || (n < path.n && path.p[n] != '/'))
		return false;
	*ret_rest = (struct bw_str){ path.p + n, path.n - n };
	return true;
}

bool snapshot_find(const struct snapshot *s, struct bw_str path, struct snapshot_hit *ret)
{
	for (size_t i = 0; i < s->n_contexts; i++) {
		const struct snapshot_context *c = s->contexts[i];
		struct bw_str                  rest;
		const void                    *found;

		if (c->is_empty || !snapshot_contains(c, path, &rest))
			continue;
		found = match_find(&c->table, rest);
		if (found) {
			*ret = (struct snapshot_hit){ c, found, rest };
			return true;
		}
	}
	return false;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
	s->refs++;
	return s;
}

void snapshot_unref(struct snapshot *s)
{
	if (!s || --s->refs > 0)
		return;
	for (size_t i = s->n_bindings; i > 0; i--) {
		if (s->bindings[i - 1]->kind == READING_LISTENER)
			continue;
		binding_unref(s->bindings[i - 1]);
		s->bindings[i - 1] = NULL;
	}
	/* Listeners hear of a context's end after everything in it has ended, the best ranked first. */
	for (size_t i = 0; i < s->n_bindings; i++)
		binding_unref(s->bindings[i]);
	for (size_t i = 0; i < s->n_held; i++)
		context_unref(s->held[i]);
	context_unref(s->server);
	for (size_t i = 0; i < s->n_failures; i++)
		reading_unref(s->failures[i].reading);
	free(s->bindings);
	free(s->failures);
	arena_done(&s->arena);
	free(s);
}
