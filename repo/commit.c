/* commit.c - a list of changes from question to answer.
 *
 *      commits_ask                        .--------- rolled back: again ---------.
 *          |                              v                                      |
 *          `--> QUEUED --connection--> APPLYING --facts--> judged --fine--> FINISHING --> SETTLING
 *                  ^                      |                  |  |               |             |
 *                  |                      |        refused --'  |               |             |
 *                  `--- entries loaded --- BEHIND <--- newer ---'               v             v
 *                                                                            answered      answered
 *
 * APPLYING makes the changes in a transaction and says what was found; who asks is judged by that,
 * against the entries of the transaction's generation or later ones; FINISHING checks types and commits.
 * Two round trips, whatever the list's length. What was rolled back has written nothing, and is tried
 * again if that may help. Once COMMIT has been sent its outcome may stay unknown (the connection is
 * lost): then, too, everything that it could have changed is forgotten here. A commit that changed
 * entries or super types is answered when these have been loaded: what a read shows that begins after
 * the answer is judged by them.
 *
 * Owns: commits from question to answer. Runs in: repo's loop. Fails with: BW_ECONFLICT, BW_ENOTFOUND,
 * BW_EFORBIDDEN, BW_ECONTENT, BW_ECONTENTSIZE, BW_EBUSY, BW_ETIME, BW_EIO; BW_EGONE: PostgreSQL is away,
 * the outcome may be unknown. Logs what PostgreSQL refuses for no reason of the content's.
 * Tests: tests/unit/repo/commit_test.c, tests/conformance/commit. */
#include "commit_impl.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

#define RETRY_S 1u

/* ---- the end ---- */

static const char *reason_of(int err)
{
	switch (err) {
	case BW_EGONE:
		return "PostgreSQL is away; what was under way may have been written";
	case BW_EBUSY:
		return "too much is being written";
	case BW_ETIME:
		return "PostgreSQL took too long; nothing was written";
	default:
		return "PostgreSQL refused a commit";
	}
}

static void answer(struct commit *c, int err, const char *text)
{
	struct wire_chan   *chan = c->asker->chan;
	Bw__Wire__Committed m = BW__WIRE__COMMITTED__INIT;
	uint64_t            types, acl;

	if (err != BW_OK) {
		wire_fail(chan, &c->q, err, err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0, text);
		return;
	}
	resources_counters(c->owner->r, &types, &acl);
	m.changed = c->changed;
	wire_answer(chan, &c->q, types, acl, &m.base);
}

void commit_end(struct commit *c, int err, const char *text)
{
	if (c->asker != NULL) {
		answer(c, err, text != NULL ? text : reason_of(err));
		LIST_REMOVE(c, with_asker);
	}
	c->owner->n_waiting--;
	c->owner->n_octets -= c->list.size;
	principals_unref(c->who);
	buf_done(&c->json);
	buf_done(&c->unseen);
	buf_done(&c->hidden);
	buf_done(&c->displaced);
	free(c->relax);
	free(c);
}

/* ---- what it has changed ---- */

static struct bw_str parent_of(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return (struct bw_str){ path.p,
		                slash == NULL || slash == path.p ? 1 : (size_t)(slash - path.p) };
}

static void forget_one(struct resources *r, const struct change *ch, bool spread)
{
	switch (ch->kind) {
	case CHANGE_MOVE:
		resources_changed(r, ch->path, true);
		resources_changed(r, ch->name, true);
		break;
	case CHANGE_COPY:
		resources_changed(r, ch->name, true);
		break;
	case CHANGE_CREATE: /* also what is below: that nothing was there is known no more */
	case CHANGE_REMOVE:
	case CHANGE_RESTORE:
		resources_changed(r, ch->path, true);
		break;
	case CHANGE_ORDER:
		if (spread)
			resources_changed(r, parent_of(ch->path), true);
		resources_changed(r, ch->path, false);
		break;
	default:
		resources_changed(r, ch->path, false);
	}
}

static void forget_changed(struct commit *c)
{
	struct change ch;
	struct bw_str path;
	size_t        at = 0;

	while (changes_next(&c->list, &at, &ch))
		forget_one(c->owner->r, &ch, c->spread);
	for (at = 0; at < buf_size(&c->displaced); at += path.n + 1) {
		path = bw_str((const char *)buf_data(&c->displaced) + at);
		resources_changed(c->owner->r, path, true);
	}
}

static bool has_super_type(const struct change *ch)
{
	const uint8_t      *at = ch->props;
	struct change_value value;
	struct bw_str       name;

	for (unsigned i = 0; i < ch->n_props; i++) {
		change_next_prop(&at, &name, &value);
		if (bw_str_eq(name, BW_STR("sling:resourceSuperType")))
			return true;
	}
	return false;
}

/* Whether a change bears on the super types that are held in memory. */
static bool bears_on_types(const struct type_graph *types, const struct change *ch)
{
	if (!type_is_below_search_path(types, ch->path) &&
	    ((ch->kind != CHANGE_MOVE && ch->kind != CHANGE_COPY) ||
	     !type_is_below_search_path(types, ch->name)))
		return false;
	switch (ch->kind) {
	case CHANGE_CREATE:
		return has_super_type(ch);
	case CHANGE_SET:
	case CHANGE_UNSET:
		return bw_str_eq(ch->name, BW_STR("sling:resourceSuperType"));
	case CHANGE_REMOVE:
	case CHANGE_MOVE:
	case CHANGE_COPY:
	case CHANGE_RESTORE:
		return true;
	default:
		return false;
	}
}

static bool has_changed_types(struct commit *c)
{
	const struct type_graph *types = resources_types(c->owner->r);
	struct change            ch;
	size_t                   at = 0;

	while (changes_next(&c->list, &at, &ch))
		if (bears_on_types(types, &ch))
			return true;
	return false;
}

/* ---- waiting for what is loaded ---- */

static bool has_what_it_waits_for(const struct commit *c)
{
	return acl_generation(resources_acl(c->owner->r)) >= c->generation &&
	       journal_types_loaded(c->owner->journal) >= c->types;
}

static void pause_for_loading(struct commit *c, enum commit_state state)
{
	c->state = state;
	TAILQ_INSERT_TAIL(&c->owner->pausing, c, next);
}

static void on_loaded(void *arg)
{
	struct commits *c = arg;
	struct commit  *commit, *next;

	for (commit = TAILQ_FIRST(&c->pausing); commit != NULL; commit = next) {
		next = TAILQ_NEXT(commit, next);
		if (!has_what_it_waits_for(commit))
			continue;
		TAILQ_REMOVE(&c->pausing, commit, next);
		if (commit->state == COMMIT_BEHIND)
			commit_queue(commit);
		else
			commit_end(commit, BW_OK, NULL);
	}
	for (commit = TAILQ_FIRST(&c->pausing); commit != NULL; commit = TAILQ_NEXT(commit, next))
		if (acl_generation(resources_acl(c->r)) < commit->generation)
			journal_want_entries(c->journal);
}

static void settle(struct commit *c)
{
	journal_ring(c->owner->journal);
	if (has_changed_types(c))
		c->types = journal_want_types(c->owner->journal);
	if (acl_generation(resources_acl(c->owner->r)) < c->generation)
		journal_want_entries(c->owner->journal);
	if (has_what_it_waits_for(c))
		commit_end(c, BW_OK, NULL);
	else
		pause_for_loading(c, COMMIT_SETTLING);
}

/* ---- the transaction ---- */

static void on_rolled_back(void *arg, int err, const struct pg_rows *rows,
                           const struct pg_failure *why)
{
	(void)arg; /* if this fails the connection is lost, and the transaction with it */
	(void)err;
	(void)rows;
	(void)why;
}

/* Whatever follows on this connection stands behind it. */
static void roll_back(struct commit *c)
{
	const struct pg_step step = { COMMIT_ROLLBACK, NULL };

	(void)pg_batch(c->conn->pg, &step, 1, on_rolled_back, NULL);
	commit_release(c);
}

static void again(struct commit *c, int err)
{
	if (++c->attempts < COMMIT_MAX_ATTEMPTS)
		commit_queue(c);
	else
		commit_end(c, err, NULL);
}

/* Nothing was written. */
static void on_refused(struct commit *c, int err, const struct pg_failure *why)
{
	bool may_help = commit_failure(err, why, &err);
	bool is_content = err == BW_ECONTENT || err == BW_ECONTENTSIZE || err == BW_ECONFLICT;

	roll_back(c);
	/* A rule was broken by a change, but perhaps one before it is not even permitted. */
	if (is_content && c->state == COMMIT_APPLYING && !c->careful)
		c->careful = may_help = true;
	if (may_help) {
		again(c, err);
		return;
	}
	if (err == BW_EIO || err == BW_ETIME)
		log_warning(c->q.request, "a commit of %u changes failed: %s (%s)", c->list.n,
		            why->text, why->state);
	commit_end(c, err, is_content ? why->text : NULL);
}

/* The connection is lost, whatever it was doing. */
static void on_lost(struct commit *c)
{
	commit_release(c);
	commit_end(c, BW_EGONE, NULL);
}

static void on_finished(void *arg, int err, const struct pg_rows *rows,
                        const struct pg_failure *why)
{
	struct commit *c = arg;

	if (err == BW_EGONE) {
		forget_changed(c);
		on_lost(c);
	} else if (err != BW_OK) {
		on_refused(c, err, why);
	} else {
		c->generation = pg_int(rows, 0, 0);
		forget_changed(c);
		commit_release(c);
		settle(c);
	}
}

static void finish(struct commit *c)
{
	const struct pg_param params[] = { { (char *)buf_data(&c->unseen) },
		                           { (char *)buf_data(&c->hidden) } };
	const struct pg_step  steps[] = { { COMMIT_FINISH, params }, { COMMIT_COMMIT, NULL } };

	c->state = COMMIT_FINISHING;
	if (pg_batch(c->conn->pg, steps, 2, on_finished, c) != BW_OK)
		on_lost(c);
}

static void on_applied(void *arg, int err, const struct pg_rows *rows, const struct pg_failure *why)
{
	struct commit      *c = arg;
	enum commit_verdict verdict;

	if (err == BW_EGONE) {
		on_lost(c);
		return;
	}
	if (err != BW_OK) {
		on_refused(c, err, why);
		return;
	}
	verdict = commit_judge(c, rows);
	if (verdict == VERDICT_FINE) {
		finish(c);
		return;
	}
	roll_back(c);
	if (verdict == VERDICT_REFUSED) {
		commit_end(c, c->err, c->text);
	} else if (verdict == VERDICT_AGAIN) {
		(void)commit_text(c); /* of what was text before */
		again(c, BW_EBUSY);
	} else if (++c->attempts < COMMIT_MAX_ATTEMPTS) {
		pause_for_loading(c, COMMIT_BEHIND);
		journal_want_entries(c->owner->journal);
	} else {
		commit_end(c, BW_EBUSY, NULL);
	}
}

void commit_start(struct commit *c)
{
	char                  user[24];
	const struct pg_param params[] = { { (char *)buf_data(&c->json) },
		                           { user },
		                           { c->owner->node },
		                           { c->careful ? "true" : "false" } };
	const struct pg_step  steps[] = {
		 { COMMIT_BEGIN, NULL },
		 { c->has_uploads ? COMMIT_APPLY_BLOBS : COMMIT_APPLY, params },
	};

	c->state = COMMIT_APPLYING;
	snprintf(user, sizeof(user), "%llu", (unsigned long long)c->user);
	if (pg_batch(c->conn->pg, steps, 2, on_applied, c) != BW_OK)
		on_lost(c);
}

/* ---- questions ---- */

void commits_ask(struct commits *owner, struct commit_asker *asker, const struct wire_question *q,
                 struct principals *who, const struct changes *list)
{
	struct commit *c = xcalloc(1, sizeof(*c) + list->size);
	int            err;

	c->owner = owner;
	c->asker = asker;
	c->q = *q;
	c->who = principals_ref(who);
	c->user = principals_user(who);
	memcpy(c->bytes, list->p, list->size);
	c->list = (struct changes){ c->bytes, list->size, list->n };
	buf_init(&c->json);
	buf_init(&c->unseen);
	buf_init(&c->hidden);
	buf_init(&c->displaced);
	LIST_INSERT_HEAD(&asker->waiting, c, with_asker);
	owner->n_waiting++;
	owner->n_octets += list->size;
	err = owner->n_octets > COMMIT_MAX_OCTETS ? BW_EBUSY : commit_text(c);
	if (err == BW_OK)
		commit_queue(c);
	else
		commit_end(c, err, err == BW_EBUSY ? NULL : c->text);
}

unsigned commits_waiting(const struct commits *c)
{
	return c->n_waiting;
}

void commit_asker_init(struct commit_asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->waiting);
}

void commit_asker_gone(struct commit_asker *a)
{
	struct commit *c;

	while ((c = LIST_FIRST(&a->waiting)) != NULL) {
		LIST_REMOVE(c, with_asker);
		c->asker = NULL;
	}
}

struct commits *commits_new(struct ev_loop *loop, const struct commits_settings *settings,
                            struct resources *r, struct journal *journal)
{
	struct commits *c = xcalloc(1, sizeof(*c));

	c->loop = loop;
	c->conninfo = xstrdup(settings->conninfo);
	c->node = xstrdup(settings->node);
	c->timeout_ms = settings->statement_timeout_ms;
	c->r = r;
	c->journal = journal;
	TAILQ_INIT(&c->pausing);
	resources_on_loaded(r, &c->watch, on_loaded, c);
	commit_pool_init(c);
	return c;
}

void commits_free(struct commits *c)
{
	struct commit *commit;

	if (c == NULL)
		return;
	commit_pool_done(c);
	while ((commit = TAILQ_FIRST(&c->pausing)) != NULL) {
		TAILQ_REMOVE(&c->pausing, commit, next);
		commit_end(commit, commit->state == COMMIT_SETTLING ? BW_OK : BW_EGONE, NULL);
	}
	resources_off_loaded(&c->watch);
	free(c->conninfo);
	free(c->node);
	free(c);
}
