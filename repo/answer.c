/* answer.c - what repo agrees to do: find, read, list, search and change resources for the bearer of a
 * handle; keep sessions for whoever knows the hash of their ids.
 *
 * The gateway is not believed: what a request may see hangs on its handle alone, and that is
 * checked for each message: the MAC (wrong: the connection ends), the connection, the expiry, the
 * number.
 * Owns: the sockets, the handles per connection. Runs in: repo's loop. Logs: each refused handle,
 * once, with its reason; connections. Tests: tests/unit/repo/answer_test.c. */
#include "answer.h"
#include "handles.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/server.h>

/* The permit table. All else from the gateway closes its connection. */
static const enum wire_id permit[] = {
	WIRE_RESOURCE_RESOLVE,
	WIRE_RESOURCE_GET,
	WIRE_RESOURCE_CHILDREN,
	WIRE_RESOURCE_COMMIT,
	WIRE_HANDLE_CLOSE,
	WIRE_SESSION_LOAD,
	WIRE_SESSION_CREATE,
	WIRE_SESSION_SET,
	WIRE_SESSION_ADD,
	WIRE_SESSION_TIMEOUT,
	WIRE_SESSION_INVALIDATE,
	WIRE_SESSION_CHANGE_ID,
	WIRE_SESSION_RELEASE,
	WIRE_SESSION_WATCH,
	WIRE_SEARCH,
	WIRE_BLOB_WRITE,
	WIRE_BLOB_READ,
	WIRE_VERSION_LIST,
	WIRE_VERSION_GET,
	WIRE_NAMESPACE_FIND,
	WIRE_ACCESS_LIST,
	WIRE_ACCESS_ASK,
	WIRE_EVENT_SUBSCRIBE,
	WIRE_EVENT_WATCH,
	WIRE_CACHE_FIGURES,
	WIRE_NONE,
};

#define BATCH 64u

struct answers {
	struct wire_server      *server;
	struct answer_parts      parts;
	struct principals_table *principals;
	struct handle_keys      *keys;
	uint64_t                 now_us; /* CLOCK_BOOTTIME of this batch; 0: not read yet */
	bool                     is_draining;
	/* Questions of the read that is being handed over, all of one connection. */
	struct ask_question batch[BATCH];
	unsigned            n_batch;
};

/* One gateway worker. */
struct conn {
	struct wire_conn       base;
	struct handles         handles;
	struct asker           asker;
	struct session_asker   session_asker;
	struct commit_asker    commit_asker;
	struct search_asker    search_asker;
	struct blob_asker      blob_asker;
	struct event_asker     event_asker;
	struct version_asker   version_asker;
	struct namespace_asker namespace_asker;
};

static struct answers *answers_of(const struct conn *c)
{
	return wire_server_owner(c->base.server);
}

/* ---- handles ---- */

static uint64_t now_us(struct answers *a)
{
	if (a->now_us == 0)
		a->now_us = clock_boot_us();
	return a->now_us;
}

static void refuse(struct conn *c, const struct wire_question *q, uint64_t sequence, int err)
{
	const char *text = wire_err_text(err);

	log_info(q->request, "handle %llu on connection %llu refused: %s",
	         (unsigned long long)sequence, (unsigned long long)c->base.id, text);
	wire_fail(c->base.chan, q, err, err == BW_EBUSY ? 1 : 0, text);
}

/* Nothing that auth has made: whoever sends it is no gateway of ours. Frees c. */
static void hang_up(struct conn *c, const struct wire_question *q, const char *what)
{
	char reason[80];

	snprintf(reason, sizeof(reason), "%s (request %016llx)", what,
	         (unsigned long long)q->request);
	wire_chan_close(c->base.chan, reason);
}

/* A key that we have not heard of may be one that auth signs with since a moment ago. */
static bool is_genuine(struct answers *a, const ProtobufCBinaryData *given, struct handle *ret)
{
	if (!handle_keys_has(a->keys, given->data, given->len))
		handle_keys_follow(a->keys);
	return handle_get(given->data, given->len, a->keys->keys, a->keys->n, ret) == BW_OK;
}

/* The principals that a message speaks for, or NULL: then it has been dealt with. given: the whole
 * handle, which is opened, or absent. */
static struct principals *speaker(struct conn *c, const struct wire_question *q,
                                  const ProtobufCBinaryData *given, uint64_t sequence)
{
	struct answers    *a = answers_of(c);
	struct principals *who = NULL;
	struct handle      handle;
	int                err;

	if (given == NULL) {
		err = handles_use(&c->handles, sequence, now_us(a), &who);
	} else if (!is_genuine(a, given, &handle)) {
		hang_up(c, q, "malformed handle or wrong MAC");
		return NULL;
	} else if (handle.sequence != sequence) {
		hang_up(c, q, "handle with another number than its message");
		return NULL;
	} else {
		err = handles_open(&c->handles, &handle, c->base.channel, now_us(a), &who);
	}
	if (err != BW_OK)
		refuse(c, q, sequence, err);
	return who;
}

/* ---- messages ---- */

static struct bw_str str_of(const ProtobufCBinaryData *b)
{
	return (struct bw_str){ (const char *)b->data, b->len };
}

static void drop_batch(struct answers *a)
{
	for (unsigned i = 0; i < a->n_batch; i++)
		principals_unref(a->batch[i].who);
	a->n_batch = 0;
}

static void ask_batch(struct conn *c)
{
	struct answers *a = answers_of(c);

	resources_ask(a->parts.resources, &c->asker, a->batch, a->n_batch);
	drop_batch(a);
}

static void ask(struct conn *c, const struct wire_question *q, enum ask_kind kind,
                const ProtobufCBinaryData *handle, uint64_t sequence, struct ask_question *question)
{
	struct answers *a = answers_of(c);

	question->kind = kind;
	question->q = *q;
	question->now_us = now_us(a);
	question->who = speaker(c, q, handle, sequence);
	if (question->who == NULL)
		return;
	if (a->is_draining) {
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
		return;
	}
	resources_expect(a->parts.resources, question);
	/* Its handle may be closed by a later message of this read. */
	principals_ref(question->who);
	a->batch[a->n_batch++] = *question;
	if (a->n_batch == BATCH)
		ask_batch(c);
}

static void on_resource_resolve(struct conn *c, const struct wire_question *q,
                                const Bw__Wire__ResourceResolve *m)
{
	struct ask_question question = { .path = str_of(&m->path) };

	ask(c, q, ASK_RESOLVE, m->has_handle ? &m->handle : NULL, m->sequence, &question);
}

static void on_resource_get(struct conn *c, const struct wire_question *q,
                            const Bw__Wire__ResourceGet *m)
{
	struct ask_question question = { .path = str_of(&m->path) };

	ask(c, q, ASK_GET, m->has_handle ? &m->handle : NULL, m->sequence, &question);
}

static void on_resource_children(struct conn *c, const struct wire_question *q,
                                 const Bw__Wire__ResourceChildren *m)
{
	struct ask_question question = {
		.path = str_of(&m->path),
		.after = m->has_after ? str_of(&m->after) : BW_ABSENT,
		.max = m->max,
	};

	if (m->max < 1 || m->max > 256)
		hang_up(c, q, "RESOURCE_CHILDREN asks for none or too many");
	else
		ask(c, q, ASK_CHILDREN, m->has_handle ? &m->handle : NULL, m->sequence, &question);
}

static void on_access_list(struct conn *c, const struct wire_question *q,
                           const Bw__Wire__AccessList *m)
{
	struct ask_question question = { .path = str_of(&m->path) };

	ask(c, q, ASK_LIST, m->has_handle ? &m->handle : NULL, m->sequence, &question);
}

static void on_access_ask(struct conn *c, const struct wire_question *q,
                          const Bw__Wire__AccessAsk *m)
{
	struct ask_question question = { .path = str_of(&m->path),
		                         .after = str_of(&m->privileges) };

	ask(c, q, ASK_GRANTED, m->has_handle ? &m->handle : NULL, m->sequence, &question);
}

static void on_resource_commit(struct conn *c, const struct wire_question *q,
                               const Bw__Wire__ResourceCommit *m)
{
	struct answers    *a = answers_of(c);
	struct principals *who;
	struct changes     list;

	if (changes_get(m->changes.data, m->changes.len, &list) != BW_OK) {
		hang_up(c, q, "malformed list of changes");
		return;
	}
	who = speaker(c, q, m->has_handle ? &m->handle : NULL, m->sequence);
	if (who == NULL)
		return;
	if (a->is_draining)
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
	else
		commits_ask(a->parts.commits, &c->commit_asker, q, who, &list);
}

static void on_handle_close(struct conn *c, const Bw__Wire__HandleClose *m)
{
	handles_close(&c->handles, m->sequence);
}

static void on_search(struct conn *c, const struct wire_question *q, const Bw__Wire__Search *m)
{
	struct answers    *a = answers_of(c);
	struct principals *who;

	who = speaker(c, q, m->has_handle ? &m->handle : NULL, m->sequence);
	if (who == NULL)
		return;
	if (a->is_draining)
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
	else if (!searches_ask(a->parts.searches, &c->search_asker, q, who, str_of(&m->terms)))
		hang_up(c, q, "malformed question for a search");
}

static void on_session(struct conn *c, const struct wire_question *q, const struct wire_message *m)
{
	struct answers *a = answers_of(c);

	if (!a->is_draining) {
		if (!sessions_ask(a->parts.sessions, &c->session_asker, q, m))
			hang_up(c, q, "malformed question about a session");
	} else if (wire_row(q->id)->answer != WIRE_NONE) {
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
	}
}

static void on_blob_write(struct conn *c, const struct wire_question *q,
                          const Bw__Wire__BlobWrite *m)
{
	struct answers    *a = answers_of(c);
	struct principals *who = speaker(c, q, m->has_handle ? &m->handle : NULL, m->sequence);

	if (who == NULL)
		return;
	if (a->is_draining)
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
	else if (!blobs_write(a->parts.blobs, &c->blob_asker, q, who, m))
		hang_up(c, q, "malformed BLOB_WRITE");
}

static void on_blob_found(struct asker *asker, const struct ask_question *question)
{
	struct conn            *c = (struct conn *)((char *)asker - offsetof(struct conn, asker));
	const struct blob_range range = { question->value, question->offset, question->max };

	blobs_read(answers_of(c)->parts.blobs, &c->blob_asker, &question->q, &range);
}

static void on_version_blob(struct conn *c, const struct wire_question *q,
                            const Bw__Wire__BlobRead *m);

static void on_blob_read(struct conn *c, const struct wire_question *q, const Bw__Wire__BlobRead *m)
{
	struct ask_question question = {
		.path = str_of(&m->path),
		.property = str_of(&m->property),
		.value = str_of(&m->value),
		.offset = m->offset,
		.max = m->max,
		.on_blob = on_blob_found,
	};

	if (m->max < 1 || m->max > BLOB_MAX_OCTETS)
		hang_up(c, q, "BLOB_READ asks for none or too many");
	else if (m->has_version)
		on_version_blob(c, q, m);
	else
		ask(c, q, ASK_BLOB, m->has_handle ? &m->handle : NULL, m->sequence, &question);
}

static void on_version(struct conn *c, const struct wire_question *q,
                       const struct version_question *question, const ProtobufCBinaryData *handle,
                       uint64_t sequence)
{
	struct answers    *a = answers_of(c);
	struct principals *who = speaker(c, q, handle, sequence);

	if (who == NULL)
		return;
	if (a->is_draining || !resources_are_current(a->parts.resources, now_us(a)))
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping, or knows no news");
	else
		versions_ask(a->parts.versions, &c->version_asker, q, who, question);
}

static void on_version_list(struct conn *c, const struct wire_question *q,
                            const Bw__Wire__VersionList *m)
{
	const struct version_question question = {
		.kind = VERSION_LIST,
		.path = str_of(&m->path),
		.name = m->has_after ? str_of(&m->after) : BW_ABSENT,
		.max = m->max,
	};

	if (m->max < 1 || m->max > VERSION_PAGE)
		hang_up(c, q, "VERSION_LIST asks for none or too many");
	else
		on_version(c, q, &question, m->has_handle ? &m->handle : NULL, m->sequence);
}

static void on_version_get(struct conn *c, const struct wire_question *q,
                           const Bw__Wire__VersionGet *m)
{
	const struct version_question question = {
		.kind = VERSION_NODE,
		.path = str_of(&m->path),
		.name = str_of(&m->version),
		.below = m->has_below ? str_of(&m->below) : BW_ABSENT,
	};

	on_version(c, q, &question, m->has_handle ? &m->handle : NULL, m->sequence);
}

static void on_version_blob_found(struct version_asker *asker, const struct wire_question *q,
                                  const struct blob_range *range)
{
	struct conn *c = (struct conn *)((char *)asker - offsetof(struct conn, version_asker));

	blobs_read(answers_of(c)->parts.blobs, &c->blob_asker, q, range);
}

static void on_version_blob(struct conn *c, const struct wire_question *q,
                            const Bw__Wire__BlobRead *m)
{
	const struct version_question question = {
		.kind = VERSION_BLOB,
		.path = str_of(&m->path),
		.name = str_of(&m->version),
		.below = m->has_below ? str_of(&m->below) : BW_ABSENT,
		.property = str_of(&m->property),
		.range = { str_of(&m->value), m->offset, m->max },
		.on_blob = on_version_blob_found,
	};

	on_version(c, q, &question, m->has_handle ? &m->handle : NULL, m->sequence);
}

static void on_namespace_find(struct conn *c, const struct wire_question *q,
                              const Bw__Wire__NamespaceFind *m)
{
	struct answers *a = answers_of(c);

	if (speaker(c, q, m->has_handle ? &m->handle : NULL, m->sequence) == NULL)
		return;
	if (a->is_draining)
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
	else
		namespace_find(a->parts.resources, &c->namespace_asker, q, str_of(&m->uri));
}

static void on_event_subscribe(struct conn *c, const struct wire_question *q,
                               const Bw__Wire__EventSubscribe *m)
{
	if (!events_subscribe(&c->event_asker, m))
		hang_up(c, q, "malformed EVENT_SUBSCRIBE");
}

static void on_cache_figures(struct conn *c, const struct wire_question *q)
{
	Bw__Wire__CacheState     m = BW__WIRE__CACHE_STATE__INIT;
	struct resources_figures f;

	if (answers_of(c)->is_draining) {
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
		return;
	}
	resources_figures(answers_of(c)->parts.resources, &f);
	m.bytes = f.bytes;
	m.max_bytes = f.max_bytes;
	m.entries = f.entries;
	m.hits = f.hits;
	m.misses = f.misses;
	m.evictions = f.evictions;
	m.stale = f.stale;
	wire_answer(c->base.chan, q, 0, 0, &m.base);
}

static void on_event_watch(struct conn *c, const struct wire_question *q,
                           const Bw__Wire__EventWatch *m)
{
	if (answers_of(c)->is_draining)
		wire_fail(c->base.chan, q, BW_EGONE, 1, "repo is stopping");
	else if (!events_watch(&c->event_asker, q, m))
		hang_up(c, q, "EVENT_WATCH asks for none or too many, or twice");
}

static void on_message(struct wire_conn *base, const struct wire_question *q,
                       struct wire_message *m)
{
	struct conn *c = (struct conn *)base;

	switch (q->id) {
	case WIRE_RESOURCE_RESOLVE:
		on_resource_resolve(c, q, &m->u->resource_resolve);
		break;
	case WIRE_RESOURCE_GET:
		on_resource_get(c, q, &m->u->resource_get);
		break;
	case WIRE_RESOURCE_CHILDREN:
		on_resource_children(c, q, &m->u->resource_children);
		break;
	case WIRE_RESOURCE_COMMIT:
		on_resource_commit(c, q, &m->u->resource_commit);
		break;
	case WIRE_ACCESS_LIST:
		on_access_list(c, q, &m->u->access_list);
		break;
	case WIRE_ACCESS_ASK:
		on_access_ask(c, q, &m->u->access_ask);
		break;
	case WIRE_HANDLE_CLOSE:
		on_handle_close(c, &m->u->handle_close);
		break;
	case WIRE_SEARCH:
		on_search(c, q, &m->u->search);
		break;
	case WIRE_SESSION_LOAD:
	case WIRE_SESSION_CREATE:
	case WIRE_SESSION_SET:
	case WIRE_SESSION_ADD:
	case WIRE_SESSION_TIMEOUT:
	case WIRE_SESSION_INVALIDATE:
	case WIRE_SESSION_CHANGE_ID:
	case WIRE_SESSION_RELEASE:
	case WIRE_SESSION_WATCH:
		on_session(c, q, m);
		break;
	case WIRE_BLOB_WRITE:
		on_blob_write(c, q, &m->u->blob_write);
		break;
	case WIRE_BLOB_READ:
		on_blob_read(c, q, &m->u->blob_read);
		break;
	case WIRE_VERSION_LIST:
		on_version_list(c, q, &m->u->version_list);
		break;
	case WIRE_VERSION_GET:
		on_version_get(c, q, &m->u->version_get);
		break;
	case WIRE_NAMESPACE_FIND:
		on_namespace_find(c, q, &m->u->namespace_find);
		break;
	case WIRE_EVENT_SUBSCRIBE:
		on_event_subscribe(c, q, &m->u->event_subscribe);
		break;
	case WIRE_CACHE_FIGURES:
		on_cache_figures(c, q);
		break;
	case WIRE_EVENT_WATCH:
		on_event_watch(c, q, &m->u->event_watch);
		break;
	default:
		fatalx("message %d is permitted and has no handler", (int)q->id);
	}
}

/* ---- connections ---- */

static int on_open(struct wire_conn *base, struct bw_str channel)
{
	struct conn *c = (struct conn *)base;

	(void)channel;
	handles_init(&c->handles, answers_of(c)->principals);
	asker_init(&c->asker, base->chan);
	session_asker_init(&c->session_asker, base->chan);
	commit_asker_init(&c->commit_asker, base->chan);
	search_asker_init(&c->search_asker, base->chan);
	blob_asker_init(&c->blob_asker, base->chan);
	version_asker_init(&c->version_asker, base->chan);
	namespace_asker_init(&c->namespace_asker, base->chan);
	event_asker_init(&c->event_asker, answers_of(c)->parts.events, base->chan);
	log_info(0, "connection %llu: a gateway worker has greeted", (unsigned long long)base->id);
	return BW_OK;
}

static void on_batch(struct wire_conn *base)
{
	struct conn *c = (struct conn *)base;

	ask_batch(c);
	answers_of(c)->now_us = 0;
}

static void on_close(struct wire_conn *base, const char *reason)
{
	struct conn *c = (struct conn *)base;

	log_info(0, "connection %llu closed: %s", (unsigned long long)base->id, reason);
	drop_batch(answers_of(c)); /* of a read that has not come to its end */
	asker_gone(&c->asker);
	session_asker_gone(&c->session_asker);
	commit_asker_gone(&c->commit_asker);
	search_asker_gone(&c->search_asker);
	blob_asker_gone(&c->blob_asker);
	version_asker_gone(&c->version_asker);
	namespace_asker_gone(&c->namespace_asker);
	event_asker_gone(&c->event_asker);
	handles_done(&c->handles);
	answers_of(c)->now_us = 0;
}

struct answers *answers_new(struct ev_loop *loop, int listener, uid_t gateway,
                            struct handle_keys *keys, const struct answer_parts *parts)
{
	static const struct wire_server_ops ops = {
		.on_open = on_open,
		.on_message = on_message,
		.on_batch = on_batch,
		.on_close = on_close,
		.conn_size = sizeof(struct conn),
	};
	struct answers *a = xcalloc(1, sizeof(*a));

	a->parts = *parts;
	a->keys = keys;
	a->principals = principals_table_new();
	a->server = wire_server_new(loop, listener, WIRE_REPO, permit, true, gateway, &ops, a);
	return a;
}

void answers_drain(struct answers *a)
{
	a->is_draining = true;
}

void answers_free(struct answers *a)
{
	if (a == NULL)
		return;
	wire_server_free(a->server);
	principals_table_free(a->principals);
	free(a);
}
