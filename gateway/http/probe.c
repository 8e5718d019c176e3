/* probe.c - is the guard in force? Whether libh2o calls our parser or its own is decided by the dynamic
 * linker, from symbol visibility, link order and how the library was built; so this does not look at
 * symbols but sends two bad requests through libh2o, over a socket pair, and sees what arrives.
 *
 * Owns: nothing that outlives the call. Runs in: the worker, at start. Fails with: fatalx.
 * Tests: tests/unit/gateway/guard_test.c and guard_hidden_test.c. */
#include "http/internal.h"

#include <base/fatal.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROBE_TURNS 100

static enum { NOTHING, REFUSED, LET_THROUGH } arrived;

static int on_probe(h2o_handler_t *self, h2o_req_t *h2o)
{
	static h2o_generator_t generator;

	(void)self;
	arrived = guard_refusal(h2o) != NULL ? REFUSED : LET_THROUGH;
	h2o->http1_is_persistent = 0;
	h2o->res.status = 400;
	h2o->res.content_length = 0;
	h2o_start_response(h2o, &generator);
	h2o_send(h2o, NULL, 0, H2O_SEND_STATE_FINAL);
	return 0;
}

static void probe(h2o_context_t *context, h2o_globalconf_t *config, const char *request)
{
	h2o_accept_ctx_t accept = { .ctx = context, .hosts = config->hosts };
	int              pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
	    write(pair[0], request, strlen(request)) < 0)
		fatal("guard: probe");
	arrived = NOTHING;
	h2o_accept(&accept, h2o_evloop_socket_create(context->loop, pair[1],
	                                             H2O_SOCKET_FLAG_IS_ACCEPTED_CONNECTION));
	for (int i = 0; i < PROBE_TURNS && arrived == NOTHING; i++)
		h2o_evloop_run(context->loop, 10);
	if (arrived != REFUSED)
		fatalx("guard: not in force: libh2o took a malformed request; refusing to start");
	close(pair[0]);
	while (!h2o_linklist_is_empty(&context->http1._conns))
		h2o_evloop_run(context->loop, 10);
}

void guard_probe(h2o_loop_t *loop)
{
	h2o_globalconf_t config;
	h2o_context_t    context;
	h2o_hostconf_t  *host;

	h2o_config_init(&config);
	config.http1.upgrade_to_http2 = 0;
	host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("probe")), 65535);
	h2o_create_handler(h2o_config_register_path(host, "/", 0), sizeof(h2o_handler_t))->on_req =
		on_probe;
	h2o_context_init(&context, loop, &config);
	probe(&context, &config,
	      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n"
	      "Content-Length: 5\r\n\r\nhello");
	probe(&context, &config,
	      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	      "0x5\r\nhello\r\n0\r\n\r\n");
	server_dispose_context(&context);
	h2o_config_dispose(&config);
}
