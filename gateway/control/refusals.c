/* refusals.c - the parent's part of what refusals.h says.
 *
 * Owns: the round in which workers are told. Runs in: the gateway's parent. Fails with: the end of a worker
 * that cannot be told; its successor starts with the list as it then is.
 * Tests: tests/unit/gateway/refusals_test.c, tests/system/bundle_test.c. */
#include "control/refusals.h"

#include "bundle/crashes.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS  10000u
#define MAX_REASON 256u

struct refusals {
	struct crew          *crew;
	struct changes       *changes;
	struct refusals_hooks hooks;
	struct round          round;
	bool                  asking;
};

/* ---- what a worker says -------------------------------------------------------------------------- */

/* The next word; NULL: there is none. What a worker says ends with a NUL. */
static const char *next_word(const char **at, const char *end)
{
	const char *word = *at;

	if (word >= end)
		return NULL;
	*at += strlen(word) + 1;
	return word;
}

/* Workers are not trusted with what ends up on a terminal. */
static void clean(const char *text, char ret[MAX_REASON])
{
	size_t n = strnlen(text, MAX_REASON - 1);

	for (size_t i = 0; i < n; i++)
		ret[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	ret[n] = '\0';
}

bool refusals_hear(struct refusals *r, const char *words, size_t n, enum refusals_others others)
{
	/* The third is after 0.3 s, the fifth after 1.5. */
	static const unsigned tries[] = {
		[REFUSALS_NOBODY] = 1, [REFUSALS_PREDECESSOR] = 3, [REFUSALS_OTHERS] = 5
	};
	const char *end = words + n, *name, *number, *reason;
	bool        may_serve = true, refused;

	while ((name = next_word(&words, end)) != NULL &&
	       (number = next_word(&words, end)) != NULL &&
	       (reason = next_word(&words, end)) != NULL) {
		uint64_t generation = strtoull(number, NULL, 10);
		char     text[MAX_REASON];

		clean(reason, text);
		refused = generation != 0 ? inventory_fail_start(changes_inventory(r->changes),
		                                                 generation, text, tries[others])
		                          : crashes_fail(name, text, tries[others]);
		may_serve = may_serve && refused;
	}
	return may_serve;
}

/* ---- what the workers are told ------------------------------------------------------------------- */

static void on_answer(struct round *round, const struct crew_answer *a)
{
	struct refusals *r = (struct refusals *)((char *)round - offsetof(struct refusals, round));

	if (!a->ok && crew_pid(r->crew, a->worker) > 0)
		r->hooks.abort_worker(r->hooks.arg, a->worker, "it does not refuse a bundle");
}

static void on_end(struct round *round)
{
	struct refusals *r = (struct refusals *)((char *)round - offsetof(struct refusals, round));

	r->asking = false;
}

static void tell(struct refusals *r, const char *name, const char *reason)
{
	static const char verb[] = "bundle.refuse";
	struct buf        words;

	r->asking = true;
	r->round = (struct round){ .on_answer = on_answer, .on_end = on_end };
	buf_init(&words);
	buf_append(&words, verb, sizeof(verb));
	buf_append(&words, name, strlen(name) + 1);
	buf_append(&words, reason, strlen(reason) + 1);
	crew_begin(r->crew, &r->round, ANSWER_MS);
	crew_ask_all(r->crew, &r->round, &words);
	crew_asked(r->crew, &r->round);
	buf_done(&words);
}

/* None in the middle of a change, which would be in the workers' way, and may be what makes it good again. */
void refusals_tend(struct refusals *r)
{
	struct inventory_item *item = inventory_untold(changes_inventory(r->changes));
	const char            *name, *reason;

	if (r->asking || !changes_is_idle(r->changes))
		return;
	if (item != NULL) {
		item->untold = false;
		tell(r, item->name, item->refused);
	} else if (crashes_untold(&name, &reason)) {
		crashes_told(name);
		if (inventory_find(changes_inventory(r->changes), name) == NULL)
			tell(r, name, reason);
	}
}

struct refusals *refusals_new(struct crew *crew, struct changes *changes,
                              const struct refusals_hooks *hooks)
{
	struct refusals *r = xcalloc(1, sizeof(*r));

	r->crew = crew;
	r->changes = changes;
	r->hooks = *hooks;
	return r;
}

void refusals_free(struct refusals *r)
{
	free(r);
}
