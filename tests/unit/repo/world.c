/* world.c - see world.h. */
#include "world.h"
#include <base/clock.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

static char  apps[] = "/apps/", libs[] = "/libs/";
static char *search_path[] = { apps, libs };

unsigned world_search_timeout_ms = 60000;

/* ---- repo ---- */

static void on_want_entries(void *arg)
{
	journal_want_entries(((struct world *)arg)->journal);
}

static void on_current(void *arg)
{
	((struct world *)arg)->times_current++;
}

void world_begin(struct world *w, size_t cache_bytes)
{
	char *conninfo;

	*w = (struct world){ 0 };
	cr_assert(sodium_init() >= 0);
	log_init("repo", LOG_LEVEL_WARNING);
	w->server = test_postgres_new();
	w->loop = ev_loop_new(EVFLAG_AUTO);
	w->key.id = 7;
	randombytes_buf(w->key.key, sizeof(w->key.key));
	snprintf(w->socket, sizeof(w->socket), "%s/repo.sock", test_postgres_dir(w->server));
	w->listener = unix_listen(w->socket, 0600, 16);
	cr_assert(w->listener >= 0, "%s: %s", w->socket, strerror(errno));
	conninfo = strdup(test_postgres_conninfo(w->server, "boardwalk_repo"));
	w->resources = resources_new(w->loop, &(struct resources_settings){
						      .conninfo = conninfo,
						      .statement_timeout_ms = 5000,
						      .cache_bytes = cache_bytes,
						      .search_path = search_path,
						      .n_search_path = 2,
						      .want_entries = on_want_entries,
						      .on_current = on_current,
						      .arg = w,
					      });
	w->events = events_new("here");
	w->journal = journal_new(w->loop,
	                         &(struct journal_settings){ .conninfo = conninfo,
	                                                     .statement_timeout_ms = 5000,
	                                                     .interval_ms = 150,
	                                                     .search_path = search_path,
	                                                     .n_search_path = 2 },
	                         w->resources, w->events);
	w->sessions = sessions_new(w->loop, conninfo, 5000);
	w->searches = searches_new(w->loop,
	                           &(struct searches_settings){
					   .conninfo = conninfo,
					   .connections = 2,
					   .timeout_ms = world_search_timeout_ms,
					   .search_path = search_path,
					   .n_search_path = 2,
				   },
	                           w->resources);
	w->commits = commits_new(w->loop, &(struct commits_settings){ conninfo, 5000, "here" },
	                         w->resources, w->journal);
	w->blobs = blobs_new(w->loop, conninfo, 5000);
	w->versions = versions_new(w->resources);
	free(conninfo);
	w->keys = (struct handle_keys){ .keys = { w->key }, .n = 1 };
	w->answers =
		answers_new(w->loop, w->listener, (uid_t)-1, &w->keys,
	                    &(struct answer_parts){ w->resources, w->sessions, w->commits, w->blobs,
	                                            w->searches, w->events, w->versions });
	world_until(w, w->times_current == 1 && commits_are_up(w->commits) &&
	                       sessions_are_up(w->sessions) && blobs_are_up(w->blobs));
}

void world_end(struct world *w)
{
	answers_drain(w->answers);
	commits_free(w->commits);
	blobs_free(w->blobs);
	versions_free(w->versions);
	journal_free(w->journal);
	searches_free(w->searches);
	resources_free(w->resources);
	sessions_free(w->sessions);
	answers_free(w->answers);
	events_free(w->events);
	ev_loop_destroy(w->loop);
	close(w->listener);
	unlink(w->socket);
	test_postgres_free(w->server);
}

static void on_tick(struct ev_loop *loop, ev_timer *t, int events)
{
	(void)t;
	(void)events;
	ev_break(loop, EVBREAK_ONE);
}

void world_turn(struct world *w)
{
	ev_timer tick;

	ev_timer_init(&tick, on_tick, 0.02, 0.);
	ev_timer_start(w->loop, &tick);
	ev_run(w->loop, EVRUN_ONCE);
	ev_timer_stop(w->loop, &tick);
}

/* ---- a gateway worker ---- */

static void on_hello(struct wire_chan *ch, struct bw_str channel)
{
	struct client *c = wire_chan_owner(ch);

	cr_assert_eq(channel.n, sizeof(c->channel));
	memcpy(c->channel, channel.p, channel.n);
	c->open = true;
}

static void on_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	(void)ch;
	cr_assert_fail("repo asks the gateway: %d", (int)f->id);
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	struct client *c = wire_chan_owner(ch);

	ev_io_stop(c->world->loop, &c->io);
	c->closed = true;
	c->open = false;
	snprintf(c->close_reason, sizeof(c->close_reason), "%s", reason);
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	struct client *c = wire_chan_owner(ch);

	if (flush_soon) {
		c->dirty = true;
		return;
	}
	ev_io_stop(c->world->loop, &c->io);
	ev_io_set(&c->io, wire_chan_fd(ch), EV_READ | (writable ? EV_WRITE : 0));
	ev_io_start(c->world->loop, &c->io);
}

static void on_io(struct ev_loop *loop, ev_io *io, int events)
{
	struct client *c = io->data;

	(void)loop;
	if (events & EV_WRITE) /* one of them a turn, for either may close the channel */
		wire_chan_writable(c->chan);
	else
		wire_chan_readable(c->chan);
}

static void on_flush(struct ev_loop *loop, ev_prepare *p, int events)
{
	struct client *c = p->data;

	(void)loop;
	(void)events;
	if (!c->dirty || c->closed)
		return;
	c->dirty = false;
	wire_chan_flush(c->chan);
}

void client_open(struct world *w, struct client *c)
{
	static const struct wire_chan_ops ops = {
		.on_hello = on_hello,
		.on_frame = on_frame,
		.on_close = on_close,
		.want = on_want,
	};
	int fd = unix_connect(w->socket);

	cr_assert(fd >= 0);
	*c = (struct client){ .world = w, .last_sequence = clock_boot_us() };
	c->chan = wire_chan_new(fd, WIRE_GATEWAY, WIRE_REPO, &ops, c);
	ev_io_init(&c->io, on_io, fd, EV_READ);
	ev_prepare_init(&c->flush, on_flush);
	c->io.data = c->flush.data = c;
	ev_io_start(w->loop, &c->io);
	ev_prepare_start(w->loop, &c->flush);
	wire_hello(c->chan, BW_STR(""));
	world_until(w, c->open);
}

void client_close(struct client *c)
{
	ev_prepare_stop(c->world->loop, &c->flush);
	if (!c->closed)
		wire_chan_close(c->chan, "the test is over");
	wire_chan_free(c->chan);
}

size_t client_handle(struct client *c, enum handle_kind kind, uint64_t user, const uint64_t *groups,
                     uint64_t life_us, uint8_t out[HANDLE_MAX], uint64_t *ret_sequence)
{
	uint64_t      principals[16] = { user << 1 };
	struct handle h = {
		.kind = kind,
		.sequence = ++c->last_sequence,
		.user_id = user,
		.issued_us = clock_boot_us(),
		.n_principals = 1,
	};

	for (; groups != NULL && *groups != 0; groups++)
		principals[h.n_principals++] = *groups << 1 | 1;
	h.expires_us = h.issued_us + life_us;
	memcpy(h.channel, c->channel, sizeof(h.channel));
	*ret_sequence = h.sequence;
	return handle_put(&h, principals, &c->world->key, out);
}

static void on_end(struct wire_call *wire, int err, const struct wire_frame *f)
{
	struct call *call = (struct call *)wire;

	cr_assert(!call->ended, "a call ends twice");
	call->ended = true;
	call->err = err;
	if (f == NULL)
		return;
	call->types = f->types;
	call->acl = f->acl;
	call->n = f->length;
	call->answer = malloc(f->length + 1);
	memcpy(call->answer, f->payload, f->length);
}

void client_ask(struct client *c, struct call *call, enum wire_id id, const ProtobufCMessage *m)
{
	static uint64_t request;

	*call = (struct call){ .call = { .on_end = on_end } };
	cr_assert_eq(wire_call(c->chan, &call->call, id, ++request, m), BW_OK);
}

static ProtobufCBinaryData bytes(struct bw_str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)s.p };
}

void client_resolve(struct client *c, struct call *call, const uint8_t *handle, size_t n_handle,
                    uint64_t sequence, struct bw_str path)
{
	Bw__Wire__ResourceResolve m = BW__WIRE__RESOURCE_RESOLVE__INIT;

	m.has_handle = n_handle > 0;
	m.handle = (ProtobufCBinaryData){ n_handle, (uint8_t *)handle };
	m.sequence = sequence;
	m.path = bytes(path);
	client_ask(c, call, WIRE_RESOURCE_RESOLVE, &m.base);
}

void client_get(struct client *c, struct call *call, const uint8_t *handle, size_t n_handle,
                uint64_t sequence, struct bw_str path)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	m.has_handle = n_handle > 0;
	m.handle = (ProtobufCBinaryData){ n_handle, (uint8_t *)handle };
	m.sequence = sequence;
	m.path = bytes(path);
	client_ask(c, call, WIRE_RESOURCE_GET, &m.base);
}

void client_children(struct client *c, struct call *call, uint64_t sequence, struct bw_str path,
                     struct bw_str after, unsigned max)
{
	Bw__Wire__ResourceChildren m = BW__WIRE__RESOURCE_CHILDREN__INIT;

	m.sequence = sequence;
	m.path = bytes(path);
	m.has_after = after.p != NULL;
	m.after = bytes(after);
	m.max = max;
	client_ask(c, call, WIRE_RESOURCE_CHILDREN, &m.base);
}

void client_handle_close(struct client *c, uint64_t sequence)
{
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;

	m.sequence = sequence;
	cr_assert_eq(wire_send(c->chan, WIRE_HANDLE_CLOSE, 1, &m.base), BW_OK);
}

void call_wait(struct world *w, struct call *call)
{
	world_until(w, call->ended);
}

void call_done(struct call *call)
{
	free(call->answer);
	call->answer = NULL;
}

uint64_t client_login(struct client *c, enum handle_kind kind, uint64_t user,
                      const uint64_t *groups)
{
	uint8_t     handle[HANDLE_MAX];
	uint64_t    sequence;
	size_t      n = client_handle(c, kind, user, groups, HANDLE_LIFE_US, handle, &sequence);
	struct call call;

	client_get(c, &call, handle, n, sequence, BW_STR("/"));
	call_wait(c->world, &call);
	cr_assert(call.err == BW_OK || call.err == BW_ENOTFOUND || call.err == BW_EGONE, "%d",
	          call.err);
	call_done(&call);
	return sequence;
}

int client_read(struct client *c, uint64_t sequence, const char *path, struct call *call,
                struct record *ret)
{
	struct wire_message      m;
	const struct wire_frame *f;
	const uint8_t           *record;

	client_get(c, call, NULL, 0, sequence, bw_str(path));
	call_wait(c->world, call);
	if (call->err != BW_OK)
		return call->err;
	f = &(struct wire_frame){ .id = WIRE_RESOURCE_FOUND,
		                  .length = (uint32_t)call->n,
		                  .payload = call->answer };
	cr_assert_eq(wire_message_get(f, &m), BW_OK);
	cr_assert_eq(m.u->resource_found.resolved, strlen(path));
	/* Fields point into the payload. */
	record = m.u->resource_found.record.data;
	cr_assert_eq(record_get(record, m.u->resource_found.record.len, ret), BW_OK);
	return BW_OK;
}

char *client_property(struct client *c, uint64_t sequence, const char *path, const char *name)
{
	struct call        call;
	struct record      r;
	struct record_prop prop;
	char              *text = NULL;
	int                err = client_read(c, sequence, path, &call, &r);

	if (err == BW_OK && record_prop(&r, bw_str(name), &prop))
		text = strdup(record_value(&r, &prop, 0).p);
	call_done(&call);
	return text != NULL ? text : strdup("?");
}

void client_settle(struct client *c, uint64_t as_admin)
{
	static unsigned marker;

	/* Twice: what the first news have led to, loading super types, is answered before the
	 * second. */
	for (int i = 0; i < 2; i++) {
		char wanted[16], *seen = client_property(c, as_admin, "/", "marker");

		free(seen); /* "/" is cached now: only the journal can bring another value */
		snprintf(wanted, sizeof(wanted), "%u", ++marker);
		test_postgres_sql(c->world->server,
		                  "SELECT repo.property_set('/', 'marker', '{\"s\":\"%s\"}')",
		                  wanted);
		test_postgres_sql(c->world->server, "NOTIFY boardwalk_repo");
		for (bool settled = false; !settled;) {
			world_turn(c->world);
			seen = client_property(c, as_admin, "/", "marker");
			settled = strcmp(seen, wanted) == 0;
			free(seen);
		}
	}
}
