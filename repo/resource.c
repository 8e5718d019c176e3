/* resource.c - resolves, reads and lists resources for somebody.
 *
 * Each question is a small function over the cache that either ends it or names what it lacks; then
 * the question waits for that fetch and the function runs again from its start.
 * Owns: the cache, the entries, the type graph, the connection for reads, questions that wait. Runs
 * in: repo's loop. Fails with: BW_ENOTFOUND (also for what may not be read: the same octets),
 * BW_EGONE, BW_EBUSY, BW_ETIME, BW_EIO. Logs nothing.
 * Tests: tests/unit/repo/resource_test.c, tests/unit/repo/cut.rows. */
#include "fetch.h"
#include "encode.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <stdlib.h>
#include <utf8proc.h>
#include <wire/record.h>

#define MAX_READS   4096u /* statements in flight */
#define MAX_ROUNDS  1024u /* of one question; a list has one per page */
#define MAX_PATH    2048u
#define MAX_NAME    255u
#define MAX_LEVELS  64u
#define RETRY_S     1u
#define PAGE_OCTETS (WIRE_FRAME_MAX - 64u) /* records of one answer */

enum outcome { ENDED, WAITS };

/* ---- ends ---- */

static void end(struct resources *r, struct ask *ask)
{
	buf_done(&ask->records);
	if (!ask->on_heap)
		return;
	if (ask->asker != NULL)
		LIST_REMOVE(ask, with_asker);
	principals_unref(ask->question.who);
	r->n_waiting--;
	free(ask);
}

static enum outcome fail(struct resources *r, struct ask *ask, int err)
{
	static const char *const reasons[] = {
		[-BW_ENOTFOUND] = "not found",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many reads are waiting for PostgreSQL",
		[-BW_ETIME] = "PostgreSQL took too long",
		[-BW_EIO] = "PostgreSQL refused a read",
	};
	unsigned retry = err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0;

	wire_fail(ask->asker->chan, &ask->question.q, err, retry, reasons[-err]);
	end(r, ask);
	return ENDED;
}

static size_t put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

static enum outcome answer_found(struct resources *r, struct ask *ask, const struct cache_entry *e,
                                 size_t resolved, uint64_t allowed)
{
	const uint8_t *record = e->record;
	size_t         n_record = e->n_record, n = 0;
	uint8_t        head[24];

	if (!(allowed & ACL_READ_PROPERTIES) && e->props_at < e->n_record) {
		buf_clear(&r->scratch);
		encode_stripped(&r->scratch, e->record, e->props_at);
		record = buf_data(&r->scratch);
		n_record = buf_size(&r->scratch);
	}
	head[n++] = 1 << 3; /* ResourceFound.resolved */
	n += put_varint(head + n, resolved);
	head[n++] = 2 << 3 | 2; /* ResourceFound.record */
	n += put_varint(head + n, n_record);
	wire_answer_raw(ask->asker->chan, &ask->question.q, r->types_counter, r->acl_counter, head, n,
	                record, n_record);
	end(r, ask);
	return ENDED;
}

static enum outcome answer_page(struct resources *r, struct ask *ask, unsigned count, bool more,
                                const uint8_t *records, size_t n_records)
{
	uint8_t head[24];
	size_t  n = 0;

	head[n++] = 1 << 3; /* ResourcePage.more */
	head[n++] = more;
	head[n++] = 2 << 3; /* ResourcePage.count */
	n += put_varint(head + n, count);
	head[n++] = 3 << 3 | 2; /* ResourcePage.records */
	n += put_varint(head + n, n_records);
	wire_answer_raw(ask->asker->chan, &ask->question.q, r->types_counter, r->acl_counter, head, n,
	                records, n_records);
	end(r, ask);
	return ENDED;
}

/* ---- waiting ---- */

static struct ask *to_heap(struct resources *r, struct ask *ask)
{
	const struct ask_question *q = &ask->question;
	struct ask                *copy = xmalloc(sizeof(*copy) + q->path.n + q->after.n + 1);

	*copy = *ask;
	copy->on_heap = true;
	memcpy(copy->text, q->path.p, q->path.n);
	copy->question.path.p = copy->text;
	if (q->after.p != NULL) {
		memcpy(copy->text + q->path.n, q->after.p, q->after.n);
		copy->question.after.p = copy->text + q->path.n;
	}
	principals_ref(q->who);
	LIST_INSERT_HEAD(&ask->asker->waiting, copy, with_asker);
	r->n_waiting++;
	return copy;
}

static enum outcome wait_for(struct resources *r, struct ask *ask, struct fetch *f)
{
	fetch_join(f, ask->on_heap ? ask : to_heap(r, ask));
	return WAITS;
}

/* ---- what is known ---- */

static bool is_known(const struct resources *r, const struct cache_entry *e)
{
	return e != NULL && (e->state == CACHE_MISSING ||
	                     (e->state == CACHE_RESOURCE && e->types == type_loads(r->types)));
}

static const struct acl_scope *scope_of(struct resources *r, struct cache_entry *e)
{
	if (e->acl != acl_loads(r->acl)) {
		e->scope = acl_scope_of(r->acl, (struct bw_str){ e->path, e->path_n });
		e->acl = acl_loads(r->acl);
	}
	return e->scope;
}

/* The bits on an entry that is known, 0 if it is not there or may not be read. */
static uint64_t look(struct resources *r, struct ask *ask, struct cache_entry *e)
{
	uint64_t allowed;

	if (!e->used)
		e->used = true;
	if (e->state != CACHE_RESOURCE)
		return 0;
	allowed = acl_allowed(r->acl, scope_of(r, e), ask->question.who);
	return allowed & ACL_READ_NODES ? allowed : 0;
}

static bool is_utf8(struct bw_str s)
{
	utf8proc_int32_t c;

	for (size_t i = 0; i < s.n;) {
		utf8proc_ssize_t n = utf8proc_iterate((const uint8_t *)s.p + i, (utf8proc_ssize_t)(s.n - i), &c);

		if (n <= 0)
			return false;
		i += (size_t)n;
	}
	return true;
}

/* Whether a resource could have this path. Others are not looked for: they do not exist, PostgreSQL
 * would refuse their octets, and the cache hangs its entries by their segments. */
static bool is_path(struct bw_str path)
{
	unsigned levels = 0;
	size_t   n = 0;

	if (path.n == 0 || path.n > MAX_PATH || path.p[0] != '/')
		return false;
	for (size_t i = 1; i < path.n; i++) {
		if (path.p[i] == '\0')
			return false;
		if (path.p[i] != '/') {
			n++;
			continue;
		}
		if (n == 0 || n > MAX_NAME || ++levels > MAX_LEVELS)
			return false;
		n = 0;
	}
	return (n > 0 || path.n == 1) && n <= MAX_NAME && levels < MAX_LEVELS && is_utf8(path);
}

/* Makes *ret known: an entry, or NULL for what cannot exist. */
static enum outcome need(struct resources *r, struct ask *ask, struct bw_str path,
                         struct cache_entry **ret)
{
	struct cache_entry *e = cache_find(r->cache, path);
	struct fetch       *f;
	int                 err;

	*ret = e;
	if (is_known(r, e))
		return ENDED;
	*ret = NULL;
	if (!is_path(path))
		return ENDED;
	f = e != NULL ? fetch_of(e, false, 0, 0) : NULL;
	if (f == NULL && (err = fetch_resources(r, &path, 1, &f)) != BW_OK) {
		fail(r, ask, err);
		return WAITS; /* for nothing: it has ended */
	}
	return wait_for(r, ask, f);
}

/* ---- RESOURCE_GET ---- */

static enum outcome get(struct resources *r, struct ask *ask)
{
	struct cache_entry *e;
	uint64_t            allowed;

	if (need(r, ask, ask->question.path, &e) == WAITS)
		return WAITS;
	allowed = e != NULL ? look(r, ask, e) : 0;
	if (allowed == 0)
		return fail(r, ask, BW_ENOTFOUND);
	return answer_found(r, ask, e, ask->question.path.n, allowed);
}

/* ---- RESOURCE_RESOLVE ---- */

/* First: the path without slashes at its end. */
static struct bw_str first_cut(struct bw_str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

/* Then again and again: what stands before the last dot, wherever that is; absent at the end. */
static struct bw_str next_cut(struct bw_str path)
{
	const char *dot = memrchr(path.p, '.', path.n);

	return dot != NULL && dot != path.p ? (struct bw_str){ path.p, (size_t)(dot - path.p) } : BW_ABSENT;
}

/* All that is not known of the cuts from this one on, in one statement. */
static enum outcome fetch_cuts(struct resources *r, struct ask *ask, struct bw_str cut, unsigned left)
{
	struct bw_str paths[FETCH_MAX_PATHS];
	struct fetch *f = NULL;
	unsigned      n = 0;
	int           err;

	for (; cut.p != NULL && left > 0; cut = next_cut(cut), left--) {
		struct cache_entry *e = cache_find(r->cache, cut);

		if (is_known(r, e) || !is_path(cut))
			continue;
		f = e != NULL ? fetch_of(e, false, 0, 0) : NULL;
		if (f == NULL)
			paths[n++] = cut;
		else if (n == 0)
			return wait_for(r, ask, f); /* whoever comes first decides what is needed next */
	}
	err = fetch_resources(r, paths, n, &f);
	return err == BW_OK ? wait_for(r, ask, f) : fail(r, ask, err);
}

static enum outcome resolve(struct resources *r, struct ask *ask)
{
	struct bw_str cut = first_cut(ask->question.path);
	unsigned      left = FETCH_MAX_PATHS; /* a path with more dots ends here */

	for (; cut.p != NULL && left > 0; cut = next_cut(cut), left--) {
		struct cache_entry *e = cache_find(r->cache, cut);
		uint64_t            allowed;

		if (!is_known(r, e)) {
			if (is_path(cut))
				return fetch_cuts(r, ask, cut, left);
			continue;
		}
		allowed = look(r, ask, e);
		if (allowed != 0)
			return answer_found(r, ask, e, cut.n, allowed);
	}
	return fail(r, ask, BW_ENOTFOUND);
}

/* ---- RESOURCE_CHILDREN ---- */

static void look_up_scopes(struct resources *r, struct cache_entry *parent, struct cache_page *page)
{
	const struct acl_scope *scope = scope_of(r, parent);

	if (page->acl == acl_loads(r->acl))
		return;
	for (unsigned i = 0; i < page->n + page->more; i++) {
		struct record record;

		if (record_get(page->records + page->at[i], page->at[i + 1] - page->at[i], &record) != BW_OK)
			fatalx("a cached record is malformed");
		page->scopes[i] = acl_scope_of_child(r->acl, scope, record.path);
	}
	page->acl = acl_loads(r->acl);
}

static bool is_readable(struct resources *r, const struct ask *ask, const struct cache_page *page,
                        unsigned i)
{
	return acl_allowed(r->acl, page->scopes[i], ask->question.who) & ACL_READ_NODES;
}

/* Takes the page's readable children. True: the answer is complete. */
static bool take_page(struct resources *r, struct ask *ask, const struct cache_page *page)
{
	for (unsigned i = 0; i < page->n; i++) {
		uint32_t n = page->at[i + 1] - page->at[i];

		if (!is_readable(r, ask, page, i))
			continue;
		if (ask->count == ask->question.max || buf_size(&ask->records) + n > PAGE_OCTETS) {
			ask->more = true;
			return true;
		}
		buf_append(&ask->records, page->records + page->at[i], n);
		ask->count++;
	}
	ask->position = page->last_position;
	ask->id = page->last_id;
	if (page->more && ask->count == ask->question.max && is_readable(r, ask, page, page->n)) {
		ask->more = true;
		return true;
	}
	return !page->more;
}

/* Whether the page is the answer, as it stands: all of it, from the first to the last. */
static bool is_whole(struct resources *r, const struct ask *ask, const struct cache_page *page)
{
	if (ask->count > 0 || page->more || page->n > ask->question.max || page->at[page->n] > PAGE_OCTETS)
		return false;
	for (unsigned i = 0; i < page->n; i++)
		if (!is_readable(r, ask, page, i))
			return false;
	return true;
}

/* From where to list: behind the child `after`, which must be readable, like the parent. */
static enum outcome begin(struct resources *r, struct ask *ask)
{
	const struct ask_question *q = &ask->question;
	struct cache_entry        *e;
	struct bw_str              path;
	enum outcome               outcome;

	if (q->after.p == NULL || ask->begun)
		return ENDED;
	if (q->after.n == 0 || q->after.n > MAX_NAME || memchr(q->after.p, '/', q->after.n) != NULL) {
		fail(r, ask, BW_ENOTFOUND);
		return WAITS;
	}
	buf_clear(&r->scratch);
	buf_append(&r->scratch, q->path.p, q->path.n > 1 ? q->path.n : 0);
	buf_append(&r->scratch, "/", 1);
	buf_append(&r->scratch, q->after.p, q->after.n);
	path = (struct bw_str){ (char *)buf_data(&r->scratch), buf_size(&r->scratch) };
	outcome = need(r, ask, path, &e);
	if (outcome == WAITS)
		return WAITS;
	if (e == NULL || look(r, ask, e) == 0) {
		fail(r, ask, BW_ENOTFOUND);
		return WAITS;
	}
	ask->begun = true;
	ask->position = e->position;
	ask->id = e->id;
	return ENDED;
}

static enum outcome list(struct resources *r, struct ask *ask)
{
	struct cache_entry *parent;
	struct cache_page  *page;
	struct fetch       *f;
	int                 err;

	if (need(r, ask, ask->question.path, &parent) == WAITS)
		return WAITS;
	if (parent == NULL || look(r, ask, parent) == 0)
		return fail(r, ask, BW_ENOTFOUND);
	if (begin(r, ask) == WAITS)
		return WAITS;
	for (;;) {
		page = cache_find_page(parent, ask->position, ask->id);
		if (page == NULL || page->types != type_loads(r->types))
			break;
		look_up_scopes(r, parent, page);
		if (is_whole(r, ask, page))
			return answer_page(r, ask, page->n, false, page->records, page->at[page->n]);
		if (take_page(r, ask, page))
			return answer_page(r, ask, ask->count, ask->more, buf_data(&ask->records),
			                   buf_size(&ask->records));
	}
	f = fetch_of(parent, true, ask->position, ask->id);
	if (f == NULL && (err = fetch_page(r, parent, ask->position, ask->id, &f)) != BW_OK)
		return fail(r, ask, err);
	return wait_for(r, ask, f);
}

/* ---- questions ---- */

static void run(struct resources *r, struct ask *ask)
{
	if (!r->current)
		fail(r, ask, BW_EGONE);
	else if (ask->rounds++ == MAX_ROUNDS)
		fail(r, ask, BW_EBUSY);
	else if (ask->question.kind == ASK_RESOLVE)
		resolve(r, ask);
	else if (ask->question.kind == ASK_GET)
		get(r, ask);
	else
		list(r, ask);
}

void resources_ask(struct resources *r, struct asker *asker, const struct ask_question *question)
{
	struct ask ask = { .question = *question, .asker = asker };

	run(r, &ask);
}

void ask_again(struct resources *r, struct ask *ask, int err)
{
	if (ask->asker == NULL)
		end(r, ask);
	else if (err != BW_OK)
		fail(r, ask, err);
	else
		run(r, ask);
}

unsigned resources_waiting(const struct resources *r)
{
	return r->n_waiting;
}

void asker_init(struct asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->waiting);
}

void asker_gone(struct asker *a)
{
	struct ask *ask;

	while ((ask = LIST_FIRST(&a->waiting)) != NULL) {
		LIST_REMOVE(ask, with_asker);
		ask->asker = NULL;
	}
}

/* ---- what the journal tells ---- */

void resources_forget_all(struct resources *r)
{
	cache_invalidate_all(r->cache);
}

void resources_set_current(struct resources *r, bool current)
{
	if (r->current == current)
		return;
	r->current = current;
	if (current) {
		r->settings.on_current(r->settings.arg);
		return;
	}
	cache_invalidate_all(r->cache);
	fetch_release_held(r, BW_EGONE);
}

void resources_changed(struct resources *r, struct bw_str path, bool subtree)
{
	if (type_is_below_search_path(r->types, path))
		r->types_counter++;
	cache_invalidate(r->cache, path, subtree);
}

struct acl *resources_acl(struct resources *r)
{
	return r->acl;
}

struct type_graph *resources_types(struct resources *r)
{
	return r->types;
}

void resources_entries_loaded(struct resources *r)
{
	r->acl_counter++;
	fetch_release_held(r, BW_OK);
}

void resources_types_loaded(struct resources *r)
{
	r->types_counter++;
}

/* ---- life ---- */

struct resources *resources_new(struct ev_loop *loop, const struct resources_settings *settings)
{
	static const struct pg_ops ops = { NULL, NULL, NULL };
	struct resources          *r = xcalloc(1, sizeof(*r));

	r->settings = *settings;
	r->cache = cache_new(settings->cache_bytes);
	r->acl = acl_new();
	r->types = type_graph_new(settings->search_path, settings->n_search_path);
	TAILQ_INIT(&r->held);
	buf_init(&r->scratch);
	/* Above every number of an earlier process: what a gateway remembers of it is void. */
	r->types_counter = r->acl_counter = clock_boot_us();
	r->reads = pg_new(loop, settings->conninfo, fetch_statements, fetch_n_statements, NULL,
	                  settings->statement_timeout_ms, MAX_READS, &ops, r);
	return r;
}

void resources_free(struct resources *r)
{
	if (r == NULL)
		return;
	r->current = false;
	pg_free(r->reads);
	fetch_release_held(r, BW_EGONE);
	cache_free(r->cache);
	acl_free(r->acl);
	type_graph_free(r->types);
	buf_done(&r->scratch);
	free(r);
}
