/* raw.c - the bare libh2o handler that everything is measured against: one process, one thread, no
 * guard, no coroutine, no log. It answers every request with the same status line, header lines and
 * number of octets as the gateway answers a cell, so that what is left between the two is our work.
 *
 * Owns: one listening socket. Runs in: its own process, until a signal ends it.
 * Fails with: a line on stderr and status 1. Tests: the bench itself compares the header names. */
#include <h2o.h>

#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct answer {
	int         status;
	const char *reason;
	h2o_iovec_t body, type;
};

static struct answer    answer = { .status = 200, .reason = "OK" };
static h2o_globalconf_t config;
static h2o_context_t    context;
static h2o_accept_ctx_t accept_ctx;

static int on_req(h2o_handler_t *self, h2o_req_t *req)
{
	static h2o_generator_t generator;

	(void)self;
	req->res.status = answer.status;
	req->res.reason = answer.reason;
	req->res.content_length = answer.body.len;
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
	               answer.type.base, answer.type.len);
	h2o_add_header_by_str(&req->pool, &req->res.headers, H2O_STRLIT("x-request-id"), 0, NULL,
	                      H2O_STRLIT("0123456789abcdef"));
	h2o_start_response(req, &generator);
	if (h2o_memis(req->method.base, req->method.len, H2O_STRLIT("HEAD")))
		h2o_send(req, NULL, 0, H2O_SEND_STATE_FINAL);
	else
		h2o_send(req, &answer.body, 1, H2O_SEND_STATE_FINAL);
	return 0;
}

static void on_accept(h2o_socket_t *listener, const char *err)
{
	h2o_socket_t *sock;

	if (err == NULL && (sock = h2o_evloop_socket_accept(listener)) != NULL)
		h2o_accept(&accept_ctx, sock);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons(port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int                on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || listen(fd, 4096) != 0) {
		perror("raw: listen");
		exit(1);
	}
	return fd;
}

static void serve(int fd)
{
	h2o_hostconf_t *host;
	h2o_pathconf_t *path;
	h2o_socket_t   *listener;

	h2o_config_init(&config);
	config.server_name = h2o_iovec_init(H2O_STRLIT("Boardwalk"));
	host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
	path = h2o_config_register_path(host, "/", 0);
	h2o_create_handler(path, sizeof(h2o_handler_t))->on_req = on_req;
	h2o_context_init(&context, h2o_evloop_create(), &config);
	accept_ctx = (h2o_accept_ctx_t){ .ctx = &context, .hosts = config.hosts };
	listener = h2o_evloop_socket_create(context.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
	h2o_socket_read_start(listener, on_accept);
	for (;;)
		h2o_evloop_run(context.loop, INT32_MAX);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "status", required_argument, NULL, 's' },
		{ "reason", required_argument, NULL, 'r' },
		{ "body", required_argument, NULL, 'b' },
		{ "type", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	const char *body = "Hello World", *type = "text/plain;charset=utf-8";
	int         port = 8090, listener, c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			port = atoi(optarg);
			break;
		case 's':
			answer.status = atoi(optarg);
			break;
		case 'r':
			answer.reason = optarg;
			break;
		case 'b':
			body = optarg;
			break;
		case 't':
			type = optarg;
			break;
		default:
			fputs("usage: raw [--port N] [--status N] [--reason TEXT] [--body TEXT]"
			      " [--type TYPE]\n",
			      stderr);
			return 2;
		}
	}
	if (port < 1 || port > 65535 || answer.status < 200 || answer.status > 599) {
		fputs("raw: port 1..65535, status 200..599\n", stderr);
		return 2;
	}
	answer.body = h2o_iovec_init(body, strlen(body));
	answer.type = h2o_iovec_init(type, strlen(type));
	signal(SIGPIPE, SIG_IGN);
	listener = listen_on((uint16_t)port);
	puts("listening");
	fflush(stdout);
	serve(listener);
	return 0;
}
