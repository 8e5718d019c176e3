/* porter.c - tells each worker which public sockets it accepts from: its own, and those of whoever is not
 * OPEN. The whole list each time, so that no order depends on the one before.
 *
 * For a moment two workers accept from the same socket: each connection goes to one of them.
 *
 * Owns: what each worker was told. Runs in: the gateway's parent. Fails with: the end of a worker that
 * does not answer. Tests: tests/unit/gateway/porter_test.c, tests/system/crash_test.c. */
#include "control/porter.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 10000u

enum place_state { ABSENT, STARTED, UP, OPEN };

struct place {
	struct round     round; /* first: its address is the place's */
	struct porter   *porter;
	enum place_state state;
	bool             stuck;         /* porter_stuck */
	bool             asking, again; /* the round is under way; the list has changed since */
	char            *told;          /* the last list; NULL: none yet */
};

struct porter {
	struct crew        *crew;
	struct porter_hooks hooks;
	struct place       *places; /* one per worker */
	bool                was_open;
};

static uint32_t index_of(const struct place *w)
{
	return (uint32_t)(w - w->porter->places);
}

/* "0,3", heap. */
static char *list_for(const struct porter *p, uint32_t worker)
{
	struct buf list;
	char      *ret;

	buf_init(&list);
	for (uint32_t i = 0; i < crew_size(p->crew); i++)
		if (i == worker || p->places[i].state != OPEN || p->places[i].stuck)
			buf_printf(&list, "%s%u", buf_size(&list) > 0 ? "," : "", i);
	ret = xasprintf("%.*s", (int)buf_size(&list), (const char *)buf_data(&list));
	buf_done(&list);
	return ret;
}

static void tell_all(struct porter *p);

static void on_answer(struct round *r, const struct crew_answer *a)
{
	struct place  *w = (struct place *)r;
	struct porter *p = w->porter;

	if (crew_pid(p->crew, a->worker) == 0)
		return; /* porter_ended follows */
	if (!a->ok) {
		p->hooks.abort_worker(p->hooks.arg, a->worker,
		                      "it does not say from which sockets it accepts");
		return;
	}
	if (w->state != UP)
		return;
	w->state = OPEN;
	p->was_open = true;
	tell_all(p);
}

static void tell(struct place *w);

static void on_end(struct round *r)
{
	struct place *w = (struct place *)r;

	w->asking = false;
	if (w->again)
		tell(w);
}

static void ask(struct place *w, const char *list)
{
	static const char verb[] = "accept";
	struct crew      *crew = w->porter->crew;
	struct buf        words;

	w->asking = true;
	w->round = (struct round){ .on_answer = on_answer, .on_end = on_end };
	buf_init(&words);
	buf_append(&words, verb, sizeof(verb));
	buf_append(&words, list, strlen(list) + 1);
	crew_begin(crew, &w->round, ANSWER_MS);
	crew_ask(crew, &w->round, index_of(w), &words);
	crew_asked(crew, &w->round);
	buf_done(&words);
}

/* One order at a time; what changes meanwhile is told behind its answer. */
static void tell(struct place *w)
{
	uint32_t index = index_of(w);
	char    *list;
	bool     can = w->state >= UP && crew_pid(w->porter->crew, index) > 0;

	w->again = w->asking && can;
	if (w->asking || !can)
		return;
	list = list_for(w->porter, index);
	if (w->told != NULL && strcmp(w->told, list) == 0) {
		free(list);
		return;
	}
	free(w->told);
	w->told = list;
	ask(w, list);
}

static void tell_all(struct porter *p)
{
	for (uint32_t i = 0; i < crew_size(p->crew); i++)
		tell(&p->places[i]);
}

void porter_started(struct porter *p, uint32_t worker)
{
	p->places[worker].state = STARTED;
}

void porter_up(struct porter *p, uint32_t worker)
{
	struct place *w = &p->places[worker];

	if (w->state != STARTED)
		return;
	w->state = UP;
	tell(w);
}

void porter_ended(struct porter *p, uint32_t worker)
{
	struct place *w = &p->places[worker];

	w->state = ABSENT;
	w->stuck = w->again = false;
	free(w->told);
	w->told = NULL;
	tell_all(p);
}

void porter_stuck(struct porter *p, uint32_t worker, bool yes)
{
	if (p->places[worker].stuck == yes)
		return;
	p->places[worker].stuck = yes;
	tell_all(p);
}

bool porter_is_open(const struct porter *p, uint32_t worker)
{
	return p->places[worker].state == OPEN;
}

bool porter_is_any_open(const struct porter *p)
{
	for (uint32_t i = 0; i < crew_size(p->crew); i++)
		if (p->places[i].state == OPEN)
			return true;
	return false;
}

bool porter_was_any_open(const struct porter *p)
{
	return p->was_open;
}

struct porter *porter_new(struct crew *crew, const struct porter_hooks *hooks)
{
	struct porter *p = xcalloc(1, sizeof(*p));

	p->crew = crew;
	p->hooks = *hooks;
	p->places = xcalloc(crew_size(crew), sizeof(*p->places));
	for (uint32_t i = 0; i < crew_size(crew); i++)
		p->places[i].porter = p;
	return p;
}

void porter_free(struct porter *p)
{
	for (uint32_t i = 0; i < crew_size(p->crew); i++)
		free(p->places[i].told);
	free(p->places);
	free(p);
}
