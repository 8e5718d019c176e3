/* resource.c - resolves and reads resources for somebody; its lists are in children.c.
 *
 * Each question is a small function over the cache that either ends it or names what it lacks; then
 * the question waits for that fetch and the function runs again from its start.
 * Owns: the cache, the entries, the type graph, the connection for reads, questions that wait. Runs
 * in: repo's loop. Fails with: BW_ENOTFOUND (also for what may not be read: the same octets),
 * BW_EGONE, BW_EBUSY, BW_ETIME, BW_EIO. Logs nothing.
 * Tests: tests/unit/repo/resource_test.c, tests/unit/repo/cut.rows. */
#include "fetch.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <stdlib.h>
#include <wire/record.h>

#define MAX_READS  4096u /* statements in flight */
#define MAX_ROUNDS 1024u /* of one question; a list has one per page */

/* ---- RESOURCE_GET ---- */

static enum ask_step get(struct resources *r, struct ask *ask)
{
	struct cache_entry *e;
	uint64_t            allowed;

	if (ask_need(r, ask, ask->question.path, &e) == ASK_OVER)
		return ASK_OVER;
	allowed = e != NULL ? ask_look(r, ask, e) : 0;
	if (allowed == 0)
		return ask_fail(r, ask, BW_ENOTFOUND);
	return ask_answer_found(r, ask, e, ask->question.path.n, allowed);
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

	return dot != NULL && dot != path.p ? (struct bw_str){ path.p, (size_t)(dot - path.p) }
	                                    : BW_ABSENT;
}

/* All that is not known of the cuts from this one on, in one statement. */
static enum ask_step fetch_cuts(struct resources *r, struct ask *ask, struct bw_str cut,
                                unsigned left)
{
	struct bw_str paths[FETCH_MAX_PATHS];
	struct fetch *f = NULL;
	unsigned      n = 0;
	int           err;

	for (; cut.p != NULL && left > 0; cut = next_cut(cut), left--) {
		struct cache_entry *e = cache_find(r->cache, cut);

		if (ask_is_known(r, e) || !ask_is_path(cut))
			continue;
		f = e != NULL ? fetch_of(e, false, 0, 0) : NULL;
		if (f == NULL)
			paths[n++] = cut;
		else if (n == 0)
			return ask_wait(r, ask,
			                f); /* whoever comes first decides what is needed next */
	}
	err = fetch_resources(r, paths, n, &f);
	return err == BW_OK ? ask_wait(r, ask, f) : ask_fail(r, ask, err);
}

static enum ask_step resolve(struct resources *r, struct ask *ask)
{
	struct bw_str cut = first_cut(ask->question.path);
	unsigned      left = FETCH_MAX_PATHS; /* a path with more dots ends here */

	for (; cut.p != NULL && left > 0; cut = next_cut(cut), left--) {
		struct cache_entry *e =
			left == FETCH_MAX_PATHS
				? cache_find_hashed(r->cache, cut, ask->question.hash)
				: cache_find(r->cache, cut);
		uint64_t allowed;

		if (!ask_is_known(r, e)) {
			if (ask_is_path(cut))
				return fetch_cuts(r, ask, cut, left);
			continue;
		}
		allowed = ask_look(r, ask, e);
		if (allowed != 0)
			return ask_answer_found(r, ask, e, cut.n, allowed);
	}
	return ask_fail(r, ask, BW_ENOTFOUND);
}

/* ---- BLOB_READ ---- */

static bool has_value(const struct record *record, const struct record_prop *prop,
                      struct bw_str value)
{
	for (unsigned i = 0; i < prop->n; i++)
		if (bw_str_eq(record_value(record, prop, i), value))
			return true;
	return false;
}

static enum ask_step blob(struct resources *r, struct ask *ask)
{
	struct ask_question question = ask->question;
	struct asker       *asker = ask->asker;
	struct cache_entry *e;
	struct record       record;
	struct record_prop  prop;

	if (ask_need(r, ask, question.path, &e) == ASK_OVER)
		return ASK_OVER;
	if (e == NULL || ask_look(r, ask, e) == 0 ||
	    record_get(e->record, e->n_record, &record) != BW_OK ||
	    !record_prop(&record, question.property, &prop) || prop.type != BW_VALUE_BINARY ||
	    !ask_may_read_property(r, ask, e, question.property))
		return ask_fail(r, ask, BW_ENOTFOUND);
	if (!has_value(&record, &prop, question.value))
		return ask_fail(r, ask, BW_ECONFLICT);
	question.on_blob(asker, &question);
	ask_end(r, ask);
	return ASK_OVER;
}

/* ---- questions ---- */

bool resources_are_current(const struct resources *r, uint64_t now_us)
{
	return r->current && now_us <= r->vouched_until_us;
}

static void run(struct resources *r, struct ask *ask)
{
	if (!resources_are_current(r, ask->question.now_us))
		ask_fail(r, ask, BW_EGONE);
	else if (ask->rounds++ == MAX_ROUNDS)
		ask_fail(r, ask, BW_EBUSY);
	else if (ask->question.kind == ASK_RESOLVE)
		resolve(r, ask);
	else if (ask->question.kind == ASK_GET)
		get(r, ask);
	else if (ask->question.kind == ASK_CHILDREN)
		ask_children(r, ask);
	else if (ask->question.kind == ASK_LIST)
		ask_list(r, ask);
	else if (ask->question.kind == ASK_GRANTED)
		ask_granted(r, ask);
	else
		blob(r, ask);
}

void resources_expect(struct resources *r, struct ask_question *q)
{
	q->hash = cache_hash(r->cache, q->kind == ASK_RESOLVE ? first_cut(q->path) : q->path);
	cache_prefetch(r->cache, q->hash, 1);
}

void resources_ask(struct resources *r, struct asker *asker, const struct ask_question *questions,
                   unsigned n)
{
	r->asked += n;
	for (unsigned pass = 2; n > 1 && pass <= 3; pass++)
		for (unsigned i = 0; i < n; i++)
			cache_prefetch(r->cache, questions[i].hash, pass);
	for (unsigned i = 0; i < n; i++) {
		struct ask ask = { .question = questions[i], .asker = asker };

		run(r, &ask);
	}
}

void ask_again(struct resources *r, struct ask *ask, int err)
{
	ask->question.now_us = clock_boot_us();
	if (ask->asker == NULL)
		ask_end(r, ask);
	else if (err != BW_OK)
		ask_fail(r, ask, err);
	else
		run(r, ask);
}

void resources_figures(const struct resources *r, struct resources_figures *ret)
{
	*ret = (struct resources_figures){
		.bytes = cache_bytes(r->cache),
		.max_bytes = r->settings.cache_bytes,
		.entries = cache_entries(r->cache),
		.hits = r->asked - r->missed,
		.misses = r->missed,
		.evictions = cache_evictions(r->cache),
		.stale = r->stale,
	};
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
	r->owes_current = current && !pg_is_up(r->reads);
	if (current && !r->owes_current)
		r->settings.on_current(r->settings.arg);
	else if (!current)
		fetch_release_held(r, BW_EGONE);
}

void resources_changed(struct resources *r, struct bw_str path, bool subtree)
{
	if (type_is_below_search_path(r->types, path))
		r->types_counter++;
	cache_invalidate(r->cache, path, subtree);
}

void resources_counters(const struct resources *r, uint64_t *ret_types, uint64_t *ret_acl)
{
	*ret_types = r->types_counter;
	*ret_acl = r->acl_counter;
}

void resources_on_loaded(struct resources *r, struct loaded_watch *w, void (*loaded)(void *arg),
                         void *arg)
{
	*w = (struct loaded_watch){ .loaded = loaded, .arg = arg };
	LIST_INSERT_HEAD(&r->watches, w, next);
}

void resources_off_loaded(struct loaded_watch *w)
{
	LIST_REMOVE(w, next);
}

static void tell_loaded(struct resources *r)
{
	struct loaded_watch *w;

	LIST_FOREACH (w, &r->watches, next)
		w->loaded(w->arg);
}

void resources_vouch_until(struct resources *r, uint64_t until_us)
{
	r->vouched_until_us = until_us;
}

unsigned resources_connection(const struct resources *r)
{
	return pg_is_up(r->reads) ? pg_connection(r->reads) : 0;
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
	tell_loaded(r);
}

void resources_want_entries(struct resources *r)
{
	r->settings.want_entries(r->settings.arg);
}

void resources_types_loaded(struct resources *r)
{
	r->types_counter++;
	tell_loaded(r);
}

/* ---- life ---- */

static void on_up(struct pg *reads)
{
	struct resources *r = pg_owner(reads);

	if (!r->owes_current)
		return;
	r->owes_current = false;
	r->settings.on_current(r->settings.arg);
}

struct resources *resources_new(struct ev_loop *loop, const struct resources_settings *settings)
{
	static const struct pg_ops ops = { on_up, NULL, NULL };
	struct resources          *r = xcalloc(1, sizeof(*r));

	r->settings = *settings;
	r->cache = cache_new(settings->cache_bytes);
	r->acl = acl_new();
	acl_compose(r->acl, settings->composition);
	r->types = type_graph_new(settings->search_path, settings->n_search_path);
	TAILQ_INIT(&r->held);
	buf_init(&r->scratch);
	/* Above every number of an earlier process: what a gateway remembers of it is void. */
	r->types_counter = r->acl_counter = clock_boot_us();
	r->reads = pg_new(loop, settings->conninfo, fetch_statements, fetch_n_statements, NULL,
	                  settings->statement_timeout_ms, MAX_READS, &ops, r);
	pg_go_by_index(r->reads);
	pg_require_schema(r->reads);
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
