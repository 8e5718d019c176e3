/* server.c - libh2o set up, and the way in: from libh2o's request to struct bw_req on a fiber.
 *
 *   libh2o, guard  ->  on_req: refused? full?  ->  copy the head, canonical path  ->  serve on a fiber
 *                         |                              | not a path: 400
 *                         +-> 400 413 414 417 431 501 503, answered here, connection closed
 *
 * Everything of the request is copied into its arena at once, except a body, which stays in libh2o's
 * buffer and is read by copying. Headers that are hop by hop, that a proxy in front would set (those
 * of trusted_proxies have been read by then), or that alias others by an underscore are not copied.
 *
 * Owns: libh2o's configuration and context (process lifetime). Runs in: the loop's stack.
 * Fails with: fatal at start. Tests: tests/unit/gateway/http_test.c, tests/conformance/edge.rows. */
#include "http/internal.h"

#include "path.h"
#include "proxies.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define REQ_TIMEOUT_MS  3600000 /* the sweep in conns.c is what limits */
#define SPOOL_THRESHOLD (1024 * 1024)
#define LEAVE_IDLE_US   5000000
#define LAST_MS         2000 /* at the end, for connections to close and fibers to unwind */

struct http_server http_server;

/* Not for servlets: hop by hop, or said by a proxy we do not trust. */
static const struct bw_str dropped[] = {
	{ "connection", 10 },
	{ "keep-alive", 10 },
	{ "proxy-connection", 16 },
	{ "te", 2 },
	{ "trailer", 7 },
	{ "transfer-encoding", 17 },
	{ "upgrade", 7 },
	{ "http2-settings", 14 },
	{ "proxy-authorization", 19 },
	{ "proxy-authenticate", 18 },
	{ "forwarded", 9 },
	{ "x-real-ip", 9 },
};
static const struct bw_str dropped_prefixes[] = { { "x-forwarded-", 12 }, { "x-boardwalk-", 12 } };

static bool is_dropped(const h2o_iovec_t *name)
{
	if (memchr(name->base, '_', name->len) != NULL)
		return true;
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (dropped[i].n == name->len && memcmp(dropped[i].p, name->base, name->len) == 0)
			return true;
	if (name->base[0] != 'x')
		return false;
	for (size_t i = 0; i < sizeof(dropped_prefixes) / sizeof(dropped_prefixes[0]); i++)
		if (name->len > dropped_prefixes[i].n &&
		    memcmp(dropped_prefixes[i].p, name->base, dropped_prefixes[i].n) == 0)
			return true;
	return false;
}

static struct bw_str put(char **to, const char *p, size_t n)
{
	struct bw_str s = { *to, n };

	memcpy(*to, p, n);
	(*to)[n] = 0;
	*to += n + 1;
	return s;
}

/* Names (libh2o made them lower case) and values, in one piece of memory. */
static void copy_headers(struct bw_req *req, const h2o_req_t *h2o)
{
	const h2o_headers_t *in = &h2o->headers;
	size_t               octets = 0;
	char                *to;

	for (size_t i = 0; i < in->size; i++)
		octets += in->entries[i].name->len + in->entries[i].value.len + 2;
	req->headers = arena_alloc(&req->arena, (in->size + 1) * sizeof(*req->headers));
	to = arena_alloc(&req->arena, octets);
	for (size_t i = 0; i < in->size; i++) {
		const h2o_header_t   *h = &in->entries[i];
		struct bw_res_header *copy = &req->headers[req->n_headers];

		if (is_dropped(h->name))
			continue;
		copy->name = put(&to, h->name->base, h->name->len);
		copy->value = put(&to, h->value.base, h->value.len);
		req->n_headers++;
	}
	/* libh2o takes Host out; servlets expect to find it. */
	if (req->host.p != NULL)
		req->headers[req->n_headers++] =
			(struct bw_res_header){ BW_STR("host"), req->host };
}

static void set_id(struct bw_req *req)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t          id = http_server.next_id++;

	req->id = id;
	for (int i = 15; i >= 0; i--, id >>= 4)
		req->id_text[i] = hex[id & 15];
}

/* What every request has, refused or not. */
static struct bw_req *new_request(h2o_req_t *h2o)
{
	struct bw_str      method = { h2o->input.method.base, h2o->input.method.len };
	struct bw_req     *req = request_new();
	const struct conn *c = conn_of(h2o);

	set_id(req);
	req->started_us = loop_now_us();
	req->deadline_us = req->started_us + http_server.settings->request_timeout_ms * 1000;
	req->method = bw_str_eq(method, BW_STR("GET")) ? BW_STR("GET") : request_dup(req, method);
	req->head_only = bw_str_eq(req->method, BW_STR("HEAD"));
	req->http10 = h2o->version < 0x101;
	req->management = c->management;
	req->remote_addr = request_dup(req, (struct bw_str){ c->remote, c->n_remote });
	transport_attach(req, h2o);
	return req;
}

/* ---- what a trusted proxy says ---- */

static struct bw_str field(const h2o_headers_t *in, size_t i)
{
	return (struct bw_str){ in->entries[i].value.base, in->entries[i].value.len };
}

static bool is_named(const h2o_headers_t *in, size_t i, struct bw_str name)
{
	const h2o_iovec_t *n = in->entries[i].name;

	return n->len == name.n && memcmp(n->base, name.p, n->len) == 0;
}

/* From the last field upward, as if they were one. */
static struct bw_str client_of(const h2o_headers_t *in)
{
	struct bw_str client = BW_ABSENT;
	bool          all = true;

	for (size_t i = in->size; i-- > 0 && all;)
		if (is_named(in, i, BW_STR("x-forwarded-for")))
			client = proxies_client(http_server.proxies, field(in, i), &all);
	return client;
}

/* Of several fields the last: a proxy that appends does so at the end. */
static struct bw_str last_of(const h2o_headers_t *in, struct bw_str name,
                             struct bw_str (*read)(struct bw_str forwarded))
{
	for (size_t i = in->size; i-- > 0;)
		if (is_named(in, i, name))
			return read(field(in, i));
	return BW_ABSENT;
}

static void take_forwarded(struct bw_req *req, const h2o_headers_t *in)
{
	struct bw_str client = client_of(in);
	struct bw_str scheme = last_of(in, BW_STR("x-forwarded-proto"), proxies_scheme);
	struct bw_str host = last_of(in, BW_STR("x-forwarded-host"), proxies_host);

	if (client.p != NULL)
		req->remote_addr = request_dup(req, client);
	if (scheme.p != NULL)
		req->scheme = scheme;
	if (host.p != NULL)
		req->host = request_dup(req, host);
}

/* False: the target is not a path. */
static bool copy_head(struct bw_req *req, h2o_req_t *h2o)
{
	struct bw_str      target = { h2o->input.path.base, h2o->input.path.len };
	h2o_iovec_t        host = h2o->input.authority;
	struct path_target t;

	target = request_dup(req, target);
	req->uri = target;
	if (path_canonical(&req->arena, target, &t) != BW_OK)
		return false;
	if (t.query.p != NULL)
		((char *)(uintptr_t)t.query.p)[-1] = 0; /* our copy; uri and path end here */
	req->uri = t.uri;
	req->query = t.query;
	req->path = t.path;
	req->params = t.params;
	req->scheme = BW_STR("http");
	if (t.authority.p != NULL)
		req->host =
			request_dup(req, t.authority); /* RFC 9112 3.2.2: Host is ignored then */
	else if (h2o->hostconf == NULL || host.base != h2o->hostconf->authority.hostport.base)
		req->host = request_dup(req, (struct bw_str){ host.base, host.len });
	req->body_in = (const uint8_t *)h2o->entity.base;
	req->body_length = h2o->entity.len;
	if (conn_of(h2o)->is_proxy)
		take_forwarded(req, &h2o->headers);
	copy_headers(req, h2o);
	return true;
}

/* An answer without a servlet. */
static void answer(struct bw_req *req, int status, bool close)
{
	response_builtin_page(req, status);
	transport_answer(req, close);
}

static int on_req(h2o_handler_t *self, h2o_req_t *h2o)
{
	const struct guard_answer *refusal = guard_refusal(h2o);
	struct bw_req             *req = new_request(h2o);

	(void)self;
	loop_active();
	HTTP_COUNT(requests, 1);
	if (refusal != NULL) {
		HTTP_COUNT(refused, 1);
		if (guard_head_refusal(h2o->input.path.base) == NULL)
			copy_head(req,
			          h2o); /* only the body is at fault: the log may say of what */
		log_info(req->id, "refused: %s (from %s)", refusal->why, req->remote_addr.p);
		answer(req, refusal->status, true);
		return 0;
	}
	if (h2o_memis(h2o->input.path.base, h2o->input.path.len, H2O_STRLIT("*")) &&
	    bw_str_eq(req->method, BW_STR("OPTIONS"))) {
		req->uri = BW_STR("*");
		transport_answer(req, false);
		return 0;
	}
	if (!copy_head(req, h2o)) {
		HTTP_COUNT(refused, 1);
		answer(req, 400, true);
		return 0;
	}
	if (http_server.in_requests >= http_server.settings->max_requests) {
		answer(req, 503, false);
		return 0;
	}
	http_server.in_requests++;
	HTTP_COUNT(in_requests, 1);
	if (!request_start(req, http_server.config.serve)) {
		http_server.in_requests--;
		HTTP_COUNT(in_requests, -1);
		answer(req, 503, false);
	}
	return 0;
}

static void configure(void)
{
	const struct gateway_settings *s = http_server.settings;
	h2o_globalconf_t              *g = &http_server.global;
	h2o_hostconf_t                *host;

	h2o_config_init(g);
	g->server_name = h2o_iovec_init(NULL, 0); /* transport.c says it */
	g->http1.req_timeout = REQ_TIMEOUT_MS;
	g->http1.upgrade_to_http2 = 0;
	g->max_request_entity_size = SIZE_MAX - 1; /* the guard is what limits */
	host = h2o_config_register_host(g, h2o_iovec_init(H2O_STRLIT("default")), 65535);
	h2o_create_handler(h2o_config_register_path(host, "/", 0), sizeof(h2o_handler_t))->on_req =
		on_req;
	h2o_socket_buffer_mmap_settings.threshold = SPOOL_THRESHOLD;
	if (s->spool != NULL && s->spool[0] != 0 &&
	    (size_t)snprintf(h2o_socket_buffer_mmap_settings.fn_template, FILENAME_MAX,
	                     "%s/body.XXXXXX", s->spool) >= FILENAME_MAX)
		fatalx("gateway.spool is too long");
}

static void trust_proxies(const struct gateway_settings *s)
{
	char err[512];

	if (s->trusted_proxies.n == 0)
		return;
	http_server.proxies = proxies_new(&s->trusted_proxies, err, sizeof(err));
	if (http_server.proxies == NULL)
		fatalx("gateway.trusted_proxies: %s", err);
}

void http_init(const struct http_config *config)
{
	const struct gateway_settings *s = config->settings;
	h2o_evloop_t                  *loop;

	memset(&http_server, 0, sizeof(http_server));
	http_server.config = *config;
	http_server.settings = s;
	if (getrandom(&http_server.next_id, sizeof(http_server.next_id), 0) !=
	    sizeof(http_server.next_id))
		fatal("getrandom");
	trust_proxies(s);
	guard_init(s->max_head, s->max_target, s->max_body);
	loop = loop_init(s->spin_us, config->shared);
	guard_probe(loop);
	configure();
	h2o_context_init(&http_server.context, loop, &http_server.global);
	http_server.accept = (h2o_accept_ctx_t){ .ctx = &http_server.context,
		                                 .hosts = http_server.global.hosts };
	accesslog_init(s->access_log);
	conns_init();
	transport_init();
}

bool http_run(void)
{
	uint64_t end_us;

	if (http_server.config.public_fd >= 0)
		conns_listen(http_server.config.public_fd, false);
	if (http_server.config.management_fd >= 0)
		conns_listen(http_server.config.management_fd, true);
	while (!http_server.stopping)
		loop_turn();
	/* A connection that is being answered says "close" and ends with the answer. */
	while (!http_server.at_once && (conns_open() > 0 || http_server.in_requests > 0)) {
		conns_close_idle(http_server.idle_us);
		loop_turn();
	}
	conns_close();
	end_us = loop_now_us() + LAST_MS * 1000;
	while ((conns_open() > 0 || http_server.in_requests > 0) && loop_now_us() < end_us)
		loop_turn();
	return conns_open() == 0 && http_server.in_requests == 0;
}

void http_listen(int fd)
{
	conns_listen(fd, false);
}

void http_unlisten(int fd)
{
	conns_unlisten(fd);
}

void http_stop(void)
{
	if (http_server.stopping && http_server.idle_us == 0)
		http_server.at_once = true;
	http_server.stopping = true;
	http_server.idle_us = 0;
	conns_stop_accepting();
}

void http_leave(void)
{
	if (http_server.stopping)
		return;
	http_server.stopping = true;
	http_server.idle_us = LEAVE_IDLE_US;
	conns_stop_accepting();
}

void server_dispose_context(h2o_context_t *context)
{
	h2o_multithread_queue_t *queue = context->queue;

	h2o_context_dispose(context);
	free(queue); /* libh2o 2.2.5 takes it apart and leaves the memory */
}

void http_done(void)
{
	transport_done();
	conns_done();
	accesslog_done();
	server_dispose_context(&http_server.context);
	h2o_config_dispose(&http_server.global);
	proxies_free(http_server.proxies);
	loop_done();
	request_pool_done();
}
