/* events.c - from journal rows to events in the queues of those who want them.
 *
 * The rows of a commit become one event a path (Apache Sling: added is stronger than changed,
 * removed stronger than both), in the order of paths. What was removed and added again has changed,
 * and so may have everything below it.
 * Owns: patterns and queues. Runs in: repo's loop. Fails with: nothing; a queue that is full
 * becomes a RESYNC. Logs that, once per overflow. Tests: tests/unit/repo/events_test.c,
 * tests/conformance/events. */
#include "events.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>
#include <wire/event.h>

#define MAX_WATCH     4096u
#define ANSWER_OCTETS (WIRE_FRAME_MAX - 2 * EVENT_MAX_OCTETS)
#define KEPT_OCTETS   65536u /* of an empty queue */

struct events {
	const char *node;
	TAILQ_HEAD(, event_asker) askers;
	struct buf scratch; /* the event that is being told */
};

struct events *events_new(const char *node)
{
	struct events *ev = xcalloc(1, sizeof(*ev));

	ev->node = node;
	TAILQ_INIT(&ev->askers);
	buf_init(&ev->scratch);
	return ev;
}

void events_free(struct events *ev)
{
	if (ev == NULL)
		return;
	buf_done(&ev->scratch);
	free(ev);
}

bool events_are_wanted(const struct events *ev)
{
	const struct event_asker *a;

	TAILQ_FOREACH (a, &ev->askers, link)
		if (buf_size(&a->patterns) > 0)
			return true;
	return false;
}

/* ---- those who ask ---- */

void event_asker_init(struct event_asker *a, struct events *ev, struct wire_chan *chan)
{
	*a = (struct event_asker){ .events = ev, .chan = chan, .last = SIZE_MAX };
	buf_init(&a->patterns);
	buf_init(&a->queue);
	TAILQ_INSERT_TAIL(&ev->askers, a, link);
}

void event_asker_gone(struct event_asker *a)
{
	TAILQ_REMOVE(&a->events->askers, a, link);
	buf_done(&a->patterns);
	buf_done(&a->queue);
}

bool events_subscribe(struct event_asker *a, const Bw__Wire__EventSubscribe *m)
{
	const uint8_t *p = m->patterns.data;
	size_t         n = m->patterns.len, at = 0;
	unsigned       count = 0, interests;
	struct bw_str  pattern;
	bool           bad;

	while (event_next_pattern(p, n, &at, &interests, &pattern, &bad))
		count++;
	if (bad || count != m->count || count > EVENT_MAX_PATTERNS)
		return false;
	buf_clear(&a->patterns);
	buf_append(&a->patterns, p, n);
	return true;
}

/* As many of those that wait as fit into one answer. */
static void answer(struct event_asker *a)
{
	Bw__Wire__Events m = BW__WIRE__EVENTS__INIT;
	const uint8_t   *p = buf_data(&a->queue);
	size_t           n = buf_size(&a->queue), at = 0;
	struct event     e;

	while (at < n && at < ANSWER_OCTETS && m.count < a->max) {
		if (event_get(p + at, n - at, &e) != BW_OK)
			fatalx("a queued event is malformed");
		at += e.size;
		m.count++;
	}
	m.events = (ProtobufCBinaryData){ at, (uint8_t *)p };
	a->watching = false;
	wire_answer(a->chan, &a->watch, 0, 0, &m.base);
	buf_consume(&a->queue, at);
	if (at == n && a->queue.cap > KEPT_OCTETS)
		buf_done(&a->queue);
}

bool events_watch(struct event_asker *a, const struct wire_question *q,
                  const Bw__Wire__EventWatch *m)
{
	if (a->watching || m->max < 1 || m->max > MAX_WATCH)
		return false;
	a->watching = true;
	a->watch = *q;
	a->max = m->max;
	if (buf_size(&a->queue) > 0)
		answer(a);
	return true;
}

static void answer_all(struct events *ev)
{
	struct event_asker *a, *next;

	for (a = TAILQ_FIRST(&ev->askers); a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		if (a->watching && buf_size(&a->queue) > 0)
			answer(a);
	}
}

/* ---- queues ---- */

static void put_resync(struct event_asker *a)
{
	struct event resync = { .kind = EVENT_RESYNC, .flags = EVENT_LAST };

	buf_clear(&a->queue);
	a->last = SIZE_MAX;
	event_end(&a->queue, event_begin(&a->queue, &resync));
}

void events_resync(struct events *ev)
{
	struct event_asker *a;

	TAILQ_FOREACH (a, &ev->askers, link)
		if (buf_size(&a->patterns) > 0)
			put_resync(a);
	answer_all(ev);
}

static bool wants(const struct event_asker *a, const struct event *e)
{
	struct bw_str pattern;
	unsigned      interests;
	size_t        at = 0;
	bool          bad;

	while (event_next_pattern(buf_data(&a->patterns), buf_size(&a->patterns), &at, &interests,
	                          &pattern, &bad))
		if (event_is_wanted(interests, pattern, e))
			return true;
	return false;
}

/* The event in scratch, to all who want it. */
static void put(struct events *ev, const struct event *e)
{
	const struct buf   *bytes = &ev->scratch;
	struct event_asker *a;

	TAILQ_FOREACH (a, &ev->askers, link) {
		if (!wants(a, e))
			continue;
		if (buf_size(&a->queue) + buf_size(bytes) > EVENTS_MAX_QUEUE) {
			log_warning(0, "a gateway worker does not take its events: they become one "
			               "RESYNC");
			put_resync(a);
		}
		a->last = buf_size(&a->queue);
		buf_append(&a->queue, buf_data(bytes), buf_size(bytes));
	}
}

/* Marks the last one that each has got of this commit. */
static void end_commit(struct events *ev)
{
	struct event_asker *a;

	TAILQ_FOREACH (a, &ev->askers, link) {
		if (a->last != SIZE_MAX)
			event_set_last(buf_data(&a->queue) + a->last);
		a->last = SIZE_MAX;
	}
}

/* ---- one commit ---- */

/* What a row says of the path that is told. */
struct part {
	struct bw_str           path;
	enum event_kind         kind;
	const struct event_row *row; /* its address orders the parts of a path */
};

static struct bw_str parent_of(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return (struct bw_str){ path.p, slash == path.p ? 1 : (size_t)(slash - path.p) };
}

/* False: the row is no event. */
static bool part_of(const struct event_row *row, struct part *ret)
{
	*ret = (struct part){ row->path, EVENT_CHANGED, row };
	if (bw_str_eq(row->kind, BW_STR("ACL")))
		return false;
	if (row->of_file || bw_str_eq(row->kind, BW_STR("ORDERED")))
		ret->path = parent_of(row->path);
	else if (bw_str_eq(row->kind, BW_STR("ADDED")))
		ret->kind = EVENT_ADDED;
	else if (bw_str_eq(row->kind, BW_STR("REMOVED")))
		ret->kind = EVENT_REMOVED;
	return true;
}

static int compare_paths(struct bw_str a, struct bw_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int    diff = memcmp(a.p, b.p, n);

	return diff != 0 ? diff : (a.n > b.n) - (a.n < b.n);
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int                diff = compare_paths(x->path, y->path);

	return diff != 0 ? diff : (x->row > y->row) - (x->row < y->row);
}

static int compare_names(const void *a, const void *b)
{
	return compare_paths(*(const struct bw_str *)a, *(const struct bw_str *)b);
}

/* Appends the names of a row to n that are there; more than max: max + 1. */
static unsigned split_names(struct bw_str joined, struct bw_str *names, unsigned n, unsigned max)
{
	while (joined.n > 0 && n <= max) {
		const char *end = memchr(joined.p, '\n', joined.n);
		size_t      size = end != NULL ? (size_t)(end - joined.p) : joined.n;

		if (n < max)
			names[n] = (struct bw_str){ joined.p, size };
		n++;
		joined.p += size + (end != NULL);
		joined.n -= size + (end != NULL);
	}
	return n;
}

/* The names that all parts of a path name together, once each; none if one of them names none, or
 * they are too many. */
static void put_names(struct buf *out, size_t at, const struct part *parts, size_t n_parts)
{
	struct bw_str names[EVENT_MAX_NAMES];
	unsigned      n = 0;
	size_t        octets = 0;

	for (size_t i = 0; i < n_parts; i++) {
		if (parts[i].row->names.n == 0)
			return;
		n = split_names(parts[i].row->names, names, n, EVENT_MAX_NAMES);
		octets += parts[i].row->names.n;
	}
	if (n > EVENT_MAX_NAMES || octets > EVENT_MAX_OCTETS / 2)
		return;
	qsort(names, n, sizeof(names[0]), compare_names);
	for (unsigned i = 0; i < n; i++)
		if (i == 0 || !bw_str_eq(names[i - 1], names[i]))
			event_put_name(out, at, names[i]);
}

static void tell_path(struct events *ev, const struct part *parts, size_t n)
{
	const struct event_row *row = parts[0].row;
	const struct part      *first = NULL, *last = NULL; /* that were not CHANGED */
	struct event e = { .kind = EVENT_CHANGED, .path = parts[0].path, .user = row->principal };
	size_t       at;

	for (size_t i = 0; i < n; i++) {
		if (parts[i].kind == EVENT_CHANGED)
			continue;
		first = first != NULL ? first : &parts[i];
		last = &parts[i];
	}
	if (last != NULL && last->kind == EVENT_REMOVED) {
		e.kind = EVENT_REMOVED;
		e.flags = EVENT_SUBTREE;
	} else if (last != NULL) {
		e.kind = first->kind == EVENT_ADDED ? EVENT_ADDED : EVENT_CHANGED;
		e.from = last->row->from;
		e.flags = e.kind == EVENT_CHANGED || e.from.n > 0 ? EVENT_SUBTREE : 0;
	}
	if (!bw_str_eq(row->node, bw_str(ev->node)))
		e.flags |= EVENT_EXTERNAL;
	buf_clear(&ev->scratch);
	at = event_begin(&ev->scratch, &e);
	if (last == NULL)
		put_names(&ev->scratch, at, parts, n);
	event_end(&ev->scratch, at);
	put(ev, &e);
}

static void tell_commit(struct events *ev, const struct event_row *rows, size_t n)
{
	struct part *parts = xcalloc(n, sizeof(*parts));
	size_t       n_parts = 0, end;

	for (size_t i = 0; i < n; i++)
		n_parts += part_of(&rows[i], &parts[n_parts]);
	qsort(parts, n_parts, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < n_parts; i = end) {
		for (end = i + 1; end < n_parts && bw_str_eq(parts[i].path, parts[end].path);)
			end++;
		tell_path(ev, parts + i, end - i);
	}
	free(parts);
	end_commit(ev);
}

void events_tell(struct events *ev, const struct event_row *rows, size_t n)
{
	size_t end;

	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && bw_str_eq(rows[i].commit, rows[end].commit);)
			end++;
		tell_commit(ev, rows + i, end - i);
	}
	answer_all(ev);
}
