/* Who looks inside while things change.
 *
 *   W w:        watches the change count; with init=, does that when it is told for the first time
 *   told w      a step: goes on when w was told of the change count of now
 *   whole       takes a snapshot, and notes in calls: if it is torn: it has to be whole JSON in which each
 *               thing that is registered has one record, and each other one has one at most
 *   whole=2     how many snapshots were taken so
 *
 * Tests: O.rows. */
#include "actions.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- watchers ---- */

static void on_changed(void *self, int64_t count)
{
	struct thing *t = thing_of(self);
	bool          first = t->told == 0;

	t->told = count;
	if (first && t->on_init)
		script_run(t->on_init, t, NULL, NULL);
}

const struct bw_runtime_watcher watcher_type = { .size = sizeof(watcher_type),
	                                         .changed = on_changed };

bool things_is_told(const char *label)
{
	return things_find(label)->told == bw_runtime_change_count();
}

/* ---- snapshots ---- */

/* Its braces outside of strings close. */
static bool is_closed(struct bw_str json)
{
	long depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < json.n; i++) {
		char c = json.p[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '['))
			depth++;
		else if (!quoted && (c == '}' || c == ']') && --depth == 0)
			return i + 1 == json.n;
	}
	return false;
}

static unsigned count_records(struct bw_str json, int64_t id)
{
	char        key[64];
	size_t      n = (size_t)snprintf(key, sizeof(key), "\"serviceId\":%lld", (long long)id);
	const char *at = json.p, *end = json.p + json.n;
	unsigned    count = 0;

	while ((at = memmem(at, (size_t)(end - at), key, n)) != NULL) {
		at += n;
		count += at < end && !isdigit((unsigned char)*at);
	}
	return count;
}

static void look(void *arg, struct bw_str json)
{
	bool ok = is_closed(json);

	for (const struct thing *t = things.list; ok && t; t = t->next) {
		unsigned n = t->id ? count_records(json, t->id) : 0;

		/* One that is being registered has no id yet; one that is leaving may be there still. */
		ok = t->id && t->service ? n == 1 : n <= 1;
	}
	*(bool *)arg = ok;
}

static int do_whole(struct action *x)
{
	bool ok = false;

	(void)x;
	bw_runtime_snapshot(look, &ok);
	things.whole++;
	if (!ok)
		things_log(&things.calls, "torn");
	return BW_OK;
}

const struct word watching_words[] = { { "whole", do_whole }, { NULL, NULL } };
