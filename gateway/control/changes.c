/* changes.c - one change of the installed bundles at a time, in two phases over all workers.
 *
 * The first worker tries alone: a bundle that crashes in its start or init then takes one worker's
 * requests with it and not everybody's.
 *
 * Owns: the inventory, and the change in work. Runs in: the gateway's parent; nothing here waits.
 * Fails with: a reason for whoever asked, also logged.
 * Tests: tests/unit/gateway/control_test.c, tests/system/bundle_test.c. */
#include "control/changes.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <base/symbolic.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>

#define ANSWER_MS  10000u    /* for a worker to prepare, or to publish */
#define DECIDE_US  10000000u /* for the asker, between both */
#define MAX_REASON 512u

enum state { IDLE, TRYING, PREPARING, PREPARED, PUBLISHING };

struct changes {
	struct crew         *crew;
	struct changes_hooks hooks;
	struct inventory     inventory;

	enum state         state;
	enum bundle_action action;
	char              *name; /* of the change in work, and what follows as well */
	uint64_t           generation;
	uint32_t           tried;              /* the worker that prepared it first */
	char               reason[MAX_REASON]; /* the first failure; "": none */
	struct round       round, drop;
	bool               dropping; /* `drop` is on its way, maybe still of the last change */
	uint64_t           due_us;   /* PREPARED: when the store decides */
	changes_cb         cb;
	void              *asker; /* NULL: gone */
};

/* ---- a change -------------------------------------------------------------------------------- */

static const char *const actions[] = {
	[BUNDLE_INSTALL] = "install", [BUNDLE_UPDATE] = "update",       [BUNDLE_START] = "start",
	[BUNDLE_STOP] = "stop",       [BUNDLE_UNINSTALL] = "uninstall",
};

static void add_word(struct buf *words, const char *word)
{
	buf_append(words, word, strlen(word) + 1);
}

static void add_number(struct buf *words, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	add_word(words, text);
}

/* Refused is refused for workers that start: one that has run all the time may have it started. */
static void put_prepare(const struct changes *c, struct buf *words)
{
	const struct inventory_item *i = inventory_find(&c->inventory, c->name);
	bool restarts = c->action == BUNDLE_START && i != NULL && i->refused != NULL;

	buf_init(words);
	add_word(words, "bundle.prepare");
	add_word(words, actions[restarts ? BUNDLE_UPDATE : c->action]);
	add_word(words, c->name);
	add_number(words, c->generation);
	if (c->action != BUNDLE_STOP && c->action != BUNDLE_UNINSTALL) {
		char *file = store_file(c->inventory.folder, c->name, c->generation);

		add_word(words, file);
		free(file);
	}
}

static void put_decision(const struct changes *c, const char *verb, struct buf *words)
{
	buf_init(words);
	add_word(words, verb);
	add_number(words, c->generation);
}

static void tell_asker(struct changes *c, const char *reason)
{
	void *asker = c->asker;

	if (asker != NULL)
		c->cb(asker, reason);
}

/* The change in work is over, one way or the other. */
static void finish(struct changes *c)
{
	c->state = IDLE;
	free(c->name);
	c->name = NULL;
	c->asker = NULL;
}

static void ignore_answer(struct round *r, const struct crew_answer *a)
{
	(void)r;
	(void)a;
}

static void on_dropped(struct round *r)
{
	struct changes *c = (struct changes *)((char *)r - offsetof(struct changes, drop));

	c->dropping = false;
}

/* Whoever failed has dropped it already; an order to drop what is not prepared does nothing. Nobody
 * waits for this: what a worker is told next comes behind it. */
static void drop_everywhere(struct changes *c)
{
	struct buf words;

	if (c->dropping)
		crew_forget(c->crew, &c->drop);
	c->dropping = true;
	c->drop = (struct round){ .on_answer = ignore_answer, .on_end = on_dropped };
	put_decision(c, "bundle.drop", &words);
	crew_begin(c->crew, &c->drop, ANSWER_MS);
	crew_ask_all(c->crew, &c->drop, &words);
	buf_done(&words);
	crew_asked(c->crew, &c->drop);
}

static void fail(struct changes *c)
{
	char reason[MAX_REASON];

	strcpy(reason, c->reason);
	log_error(0, "%s of bundle %s, generation %" PRIu64 ", is given up: %s", actions[c->action],
	          c->name, c->generation, reason);
	inventory_fail(&c->inventory, c->name, c->generation, reason);
	drop_everywhere(c);
	tell_asker(c, reason);
	finish(c);
}

/* Workers are not trusted with what ends up on a terminal. */
static void take_failure(struct changes *c, const struct crew_answer *a)
{
	char reason[MAX_REASON];

	snprintf(reason, sizeof(reason), "worker %u: it %.*s", a->worker,
	         a->n < MAX_REASON ? (int)a->n : (int)MAX_REASON, a->text);
	for (char *p = reason; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	if (c->reason[0] == '\0')
		strcpy(c->reason, reason);
	if (a->silent)
		c->hooks.abort_worker(c->hooks.arg, a->worker, reason);
}

static struct changes *of_round(struct round *r)
{
	return (struct changes *)((char *)r - offsetof(struct changes, round));
}

static void on_prepared(struct round *r, const struct crew_answer *a)
{
	if (!a->ok)
		take_failure(of_round(r), a);
}

static void decide_by_store(struct changes *c);

static void on_all_prepared(struct round *r)
{
	struct changes *c = of_round(r);

	if (c->reason[0] != '\0') {
		fail(c);
		return;
	}
	c->state = PREPARED;
	c->due_us = clock_mono_us() + DECIDE_US;
	if (c->asker == NULL)
		decide_by_store(c);
	else
		tell_asker(c, NULL);
}

static void on_tried(struct round *r)
{
	struct changes *c = of_round(r);
	struct buf      words;

	if (c->reason[0] != '\0') {
		fail(c);
		return;
	}
	c->state = PREPARING;
	c->round = (struct round){ .on_answer = on_prepared, .on_end = on_all_prepared };
	put_prepare(c, &words);
	crew_begin(c->crew, &c->round, ANSWER_MS);
	for (uint32_t i = 0; i < crew_size(c->crew); i++)
		if (crew_pid(c->crew, i) > 0 && i != c->tried)
			crew_ask(c->crew, &c->round, i, &words);
	buf_done(&words);
	crew_asked(c->crew, &c->round);
}

static const char *check(const struct changes *c, enum bundle_action action, const char *name,
                         uint64_t generation)
{
	const struct inventory_item *i;

	if (c->inventory.folder == NULL)
		return "this gateway has no store of bundles";
	if (c->state != IDLE)
		return "another change is in work";
	if (!symbolic_name_ok(name) || generation == 0)
		return "no name, or no generation";
	i = inventory_find(&c->inventory, name);
	if (action == BUNDLE_INSTALL && i != NULL)
		return "it is installed already";
	if (action == BUNDLE_UPDATE) /* one of the settings can be updated, too: workers know */
		return NULL;
	if (action != BUNDLE_INSTALL && i == NULL)
		return "it is not installed";
	if (action == BUNDLE_START && !i->stopped && i->refused == NULL)
		return "it is started already";
	if (action == BUNDLE_STOP && i->stopped)
		return "it is stopped already";
	return NULL;
}

static uint32_t first_running(const struct changes *c)
{
	uint32_t i = 0;

	while (i < crew_size(c->crew) && crew_pid(c->crew, i) == 0)
		i++;
	return i;
}

const char *changes_prepare(struct changes *c, enum bundle_action action, const char *name,
                            uint64_t generation, changes_cb cb, void *asker)
{
	const char *reason = check(c, action, name, generation);
	uint32_t    first = first_running(c);
	struct buf  words;

	if (reason != NULL)
		return reason;
	if (first == crew_size(c->crew))
		return "no worker runs";
	c->state = TRYING;
	c->action = action;
	c->name = xstrdup(name);
	c->generation = generation;
	c->tried = first;
	c->reason[0] = '\0';
	c->cb = cb;
	c->asker = asker;
	c->round = (struct round){ .on_answer = on_prepared, .on_end = on_tried };
	put_prepare(c, &words);
	crew_begin(c->crew, &c->round, ANSWER_MS);
	crew_ask(c->crew, &c->round, first, &words);
	buf_done(&words);
	crew_asked(c->crew, &c->round);
	return NULL;
}

/* ---- the decision ------------------------------------------------------------------------------ */

/* A worker that does not even answer this is replaced, by one that starts with the new list. */
static void on_published(struct round *r, const struct crew_answer *a)
{
	struct changes *c = of_round(r);

	if (a->silent)
		c->hooks.abort_worker(c->hooks.arg, a->worker, "it does not publish a change");
}

static void on_all_published(struct round *r)
{
	struct changes *c = of_round(r);

	log_info(0, "%s of bundle %s, generation %" PRIu64 ": done", actions[c->action], c->name,
	         c->generation);
	tell_asker(c, NULL);
	finish(c);
}

static void publish(struct changes *c)
{
	struct buf words;

	inventory_apply(&c->inventory, c->action, c->name, c->generation);
	c->state = PUBLISHING;
	c->round = (struct round){ .on_answer = on_published, .on_end = on_all_published };
	put_decision(c, "bundle.publish", &words);
	crew_begin(c->crew, &c->round, ANSWER_MS);
	crew_ask_all(c->crew, &c->round, &words);
	buf_done(&words);
	crew_asked(c->crew, &c->round);
}

static bool is_in_store(const struct changes *c)
{
	struct store               s;
	const struct store_bundle *b;
	char                       err[MAX_REASON];
	bool                       is;

	if (!store_read(c->inventory.folder, &s, err, sizeof(err))) {
		log_error(0, "%s", err);
		return false;
	}
	b = store_find(&s, c->name);
	if (c->action == BUNDLE_UNINSTALL)
		is = b == NULL;
	else if (c->action == BUNDLE_STOP)
		is = b != NULL && b->stopped;
	else
		is = b != NULL && !b->stopped && b->generation == c->generation;
	store_done(&s);
	return is;
}

static void decide_by_store(struct changes *c)
{
	if (is_in_store(c)) {
		log_warning(0, "who asked for a change of bundle %s is gone; the store has it",
		            c->name);
		publish(c);
		return;
	}
	strcpy(c->reason, "who asked for it did not finish it");
	fail(c);
}

static bool is_deciding(const struct changes *c, const void *asker)
{
	return c->state == PREPARED && c->asker == asker;
}

const char *changes_publish(struct changes *c, changes_cb cb, void *asker)
{
	if (!is_deciding(c, asker))
		return "nothing is prepared";
	if (!is_in_store(c))
		return "the store does not say so";
	c->cb = cb;
	publish(c);
	return NULL;
}

const char *changes_drop(struct changes *c, void *asker)
{
	if (!is_deciding(c, asker))
		return "nothing is prepared";
	c->asker = NULL; /* it knows */
	strcpy(c->reason, "it was called off");
	fail(c);
	return NULL;
}

void changes_asker_left(struct changes *c, void *asker)
{
	if (c->state == IDLE || c->asker != asker)
		return;
	c->asker = NULL;
	if (c->state == PREPARED)
		decide_by_store(c);
}

bool changes_hold_starts(const struct changes *c)
{
	return c->state == TRYING || c->state == PREPARING || c->state == PREPARED;
}

bool changes_is_idle(const struct changes *c)
{
	return c->state == IDLE;
}

uint64_t changes_tend(struct changes *c, uint64_t now_us, uint64_t limit_us)
{
	if (c->state != PREPARED)
		return limit_us;
	if (c->due_us > now_us)
		return c->due_us - now_us < limit_us ? c->due_us - now_us : limit_us;
	c->asker = NULL;
	decide_by_store(c);
	return limit_us;
}

struct inventory *changes_inventory(struct changes *c)
{
	return &c->inventory;
}

struct changes *changes_new(struct crew *crew, const char *folder,
                            const struct changes_hooks *hooks)
{
	struct changes *c = xcalloc(1, sizeof(*c));

	c->crew = crew;
	c->hooks = *hooks;
	inventory_read(&c->inventory, folder != NULL && *folder != '\0' ? folder : NULL);
	return c;
}

void changes_free(struct changes *c)
{
	inventory_done(&c->inventory);
	free(c->name);
	free(c);
}
