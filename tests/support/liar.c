/* liar.c - speaks the gateway's side of the wire by hand (liar.h).
 *
 * Owns: two sockets. Runs in: a test's process. Fails with: abort() where the test itself is at
 * fault. */
#include "liar.h"
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <wire/record.h>

#define PATIENCE_S 5

static void give_up(const char *what)
{
	fprintf(stderr, "liar: %s: %s\n", what, strerror(errno));
	abort();
}

/* Everything a connect is judged by: the peer sees the user of that moment (SO_PEERCRED), the
 * folder of the socket sees the group. */
static void become(const char *user)
{
	struct passwd *pw = getpwnam(user);

	if (!pw || setegid(pw->pw_gid) != 0 || seteuid(pw->pw_uid) != 0)
		give_up(user);
}

static int connect_as(const char *path, const char *user)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval     patience = { .tv_sec = PATIENCE_S };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool               root = geteuid() == 0;

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		give_up(path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (user && root)
		become(user);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		if (errno != ECONNREFUSED && errno != ENOENT)
			give_up(path);
		close(fd);
		fd = -1;
	}
	if (user && root && (seteuid(0) != 0 || setegid(0) != 0))
		give_up("root");
	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0)
		give_up("setsockopt");
	return fd;
}

/* ---- frames ---- */

void liar_send_octets(int fd, const void *octets, size_t n)
{
	const char *p = octets;

	while (n > 0) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return; /* hung up; the next read says so */
		p += sent;
		n -= (size_t)sent;
	}
}

void liar_send(const struct liar *l, int fd, unsigned id, uint32_t call, unsigned flags,
               const void *payload, size_t n, size_t length)
{
	struct wire_frame f = {
		.length = (uint32_t)(length == SIZE_MAX ? n : length),
		.call = call,
		.request = l->request,
		.id = id,
		.flags = flags,
	};
	uint8_t header[WIRE_HEADER];

	wire_header_put(header, &f);
	liar_send_octets(fd, header, sizeof(header));
	liar_send_octets(fd, payload, n);
}

static int read_all(int fd, uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t got = recv(fd, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return BW_ETIME;
		if (got <= 0)
			return BW_EGONE;
		p += got;
		n -= (size_t)got;
	}
	return BW_OK;
}

void liar_take(const struct liar *l, int fd, struct liar_answer *ret)
{
	enum wire_peer from = fd == l->auth ? WIRE_AUTH : WIRE_REPO;

	ret->m.u = NULL;
	ret->size = 0;
	ret->err = read_all(fd, ret->bytes, WIRE_HEADER);
	if (ret->err != BW_OK)
		return;
	if (wire_header_get(ret->bytes, from, WIRE_GATEWAY, &ret->f) != BW_OK) {
		fprintf(stderr, "liar: a malformed frame\n");
		abort();
	}
	ret->err = read_all(fd, ret->bytes + WIRE_HEADER, ret->f.length);
	if (ret->err != BW_OK)
		return;
	ret->size = WIRE_HEADER + ret->f.length;
	if (wire_message_get(&ret->f, &ret->m) != BW_OK) {
		fprintf(stderr, "liar: a malformed %s\n", wire_row(ret->f.id)->name);
		abort();
	}
	if (ret->f.id == WIRE_FAILED)
		ret->err = ret->m.u->failed.code;
}

static void send_message(const struct liar *l, int fd, enum wire_id id, uint32_t call,
                         const ProtobufCMessage *m)
{
	uint8_t payload[32768];
	size_t  n = protobuf_c_message_get_packed_size(m);

	if (n > sizeof(payload)) {
		errno = EMSGSIZE;
		give_up("message");
	}
	protobuf_c_message_pack(m, payload);
	liar_send(l, fd, id, call, WIRE_END, payload, n, SIZE_MAX);
}

void liar_ask(struct liar *l, int fd, enum wire_id id, const ProtobufCMessage *m,
              struct liar_answer *ret)
{
	send_message(l, fd, id, ++l->call, m);
	liar_take(l, fd, ret);
	if (ret->m.u && ret->f.call != l->call) {
		fprintf(stderr, "liar: an answer to call %u instead of %u\n", ret->f.call, l->call);
		abort();
	}
}

/* ---- connections ---- */

static bool greet(struct liar *l, int fd, struct bw_str channel, uint8_t ret_channel[16])
{
	Bw__Wire__Hello     m = BW__WIRE__HELLO__INIT;
	struct liar_answer *a = malloc(sizeof(*a));
	bool                ok;

	if (!a)
		give_up("malloc");
	m.wire_version = WIRE_VERSION;
	m.build = (ProtobufCBinaryData){ 4, (uint8_t *)"liar" };
	m.channel = (ProtobufCBinaryData){ channel.n, (uint8_t *)channel.p };
	send_message(l, fd, WIRE_HELLO, 0, &m.base);
	liar_take(l, fd, a);
	ok = a->m.u && a->f.id == WIRE_HELLO;
	if (ok && ret_channel && a->m.u->hello.channel.len == 16)
		memcpy(ret_channel, a->m.u->hello.channel.data, 16);
	free(a);
	return ok;
}

bool liar_open_auth(struct liar *l, const char *auth_socket, const char *user)
{
	if (l->auth >= 0)
		close(l->auth);
	l->auth = connect_as(auth_socket, user);
	return l->auth >= 0 && greet(l, l->auth, (struct bw_str){ (char *)l->channel, 16 }, NULL);
}

bool liar_open(struct liar *l, const char *repo_socket, const char *auth_socket, const char *user)
{
	*l = (struct liar){ .repo = -1, .auth = -1 };
	l->repo = connect_as(repo_socket, user);
	if (l->repo < 0 || !greet(l, l->repo, BW_STR(""), l->channel))
		return false;
	return !auth_socket || liar_open_auth(l, auth_socket, user);
}

void liar_close(struct liar *l)
{
	if (l->repo >= 0)
		close(l->repo);
	if (l->auth >= 0)
		close(l->auth);
	l->repo = l->auth = -1;
}

/* ---- auth ---- */

static ProtobufCBinaryData text(const char *s)
{
	return (ProtobufCBinaryData){ strlen(s), (uint8_t *)s };
}

static int ask_handle(struct liar *l, enum wire_id id, const ProtobufCMessage *m,
                      struct liar_handle *ret)
{
	struct liar_answer             *a = malloc(sizeof(*a));
	const Bw__Wire__ResolverHandle *h;
	int                             err;

	if (!a)
		give_up("malloc");
	liar_ask(l, l->auth, id, m, a);
	err = a->err;
	if (err == BW_OK) {
		h = &a->m.u->resolver_handle;
		snprintf(ret->user, sizeof(ret->user), "%.*s", (int)h->user.len,
		         (char *)h->user.data);
		memcpy(ret->bytes, h->handles.data, h->handles.len);
		ret->n = h->handles.len;
		ret->sequence = handle_sequence(ret->bytes);
	}
	free(a);
	return err;
}

int liar_login(struct liar *l, const char *user, const char *password, struct liar_handle *ret)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = text(user);
	m.password = text(password);
	return ask_handle(l, WIRE_AUTHENTICATE_BASIC, &m.base, ret);
}

int liar_guest(struct liar *l, struct liar_handle *ret)
{
	Bw__Wire__AuthenticateAnonymous m = BW__WIRE__AUTHENTICATE_ANONYMOUS__INIT;

	m.count = 1;
	return ask_handle(l, WIRE_AUTHENTICATE_ANONYMOUS, &m.base, ret);
}

int liar_service(struct liar *l, const char *bundle, const char *subservice,
                 struct liar_handle *ret)
{
	Bw__Wire__AuthenticateService m = BW__WIRE__AUTHENTICATE_SERVICE__INIT;

	m.bundle = text(bundle);
	m.has_subservice = subservice != NULL;
	if (subservice)
		m.subservice = text(subservice);
	m.count = 1;
	return ask_handle(l, WIRE_AUTHENTICATE_SERVICE, &m.base, ret);
}

/* ---- repo ---- */

void liar_get(struct liar *l, const struct liar_handle *h, bool whole, const char *path,
              struct liar_answer *ret)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	m.has_handle = whole;
	m.handle = (ProtobufCBinaryData){ h->n, (uint8_t *)h->bytes };
	m.sequence = h->sequence;
	m.path = text(path);
	liar_ask(l, l->repo, WIRE_RESOURCE_GET, &m.base, ret);
}

void liar_resolve(struct liar *l, const struct liar_handle *h, bool whole, const char *path,
                  struct liar_answer *ret)
{
	Bw__Wire__ResourceResolve m = BW__WIRE__RESOURCE_RESOLVE__INIT;

	m.has_handle = whole;
	m.handle = (ProtobufCBinaryData){ h->n, (uint8_t *)h->bytes };
	m.sequence = h->sequence;
	m.path = text(path);
	liar_ask(l, l->repo, WIRE_RESOURCE_RESOLVE, &m.base, ret);
}

void liar_children(struct liar *l, const struct liar_handle *h, bool whole, const char *path,
                   struct liar_answer *ret)
{
	Bw__Wire__ResourceChildren m = BW__WIRE__RESOURCE_CHILDREN__INIT;

	m.has_handle = whole;
	m.handle = (ProtobufCBinaryData){ h->n, (uint8_t *)h->bytes };
	m.sequence = h->sequence;
	m.max = 256;
	m.path = text(path);
	liar_ask(l, l->repo, WIRE_RESOURCE_CHILDREN, &m.base, ret);
}

void liar_handle_close(struct liar *l, uint64_t sequence)
{
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;

	m.sequence = sequence;
	send_message(l, l->repo, WIRE_HANDLE_CLOSE, 0, &m.base);
}

/* ---- answers ---- */

bool liar_same(const struct liar_answer *a, const struct liar_answer *b)
{
	return a->err == b->err && a->size == b->size && a->size >= WIRE_HEADER &&
	       memcmp(a->bytes, b->bytes, 4) == 0 &&
	       memcmp(a->bytes + 8, b->bytes + 8, a->size - 8) == 0;
}

const char *liar_property(const struct liar_answer *a, const char *name)
{
	struct record      r;
	struct record_prop prop;

	if (!a->m.u || a->f.id != WIRE_RESOURCE_FOUND ||
	    record_get(a->m.u->resource_found.record.data, a->m.u->resource_found.record.len, &r) !=
	            BW_OK)
		return NULL;
	return record_prop(&r, bw_str(name), &prop) ? record_value(&r, &prop, 0).p : NULL;
}
