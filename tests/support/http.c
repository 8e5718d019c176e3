/* http.c - the tests' HTTP client.
 *
 * Owns: a connection and the bodies it hands out. Runs in: tests. Fails with: abort, or status 0.
 * Tests: tests/system. */
#include "http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

__attribute__((noreturn)) static void give_up(const char *what)
{
	perror(what);
	abort();
}

bool http_try_open(struct http *http, unsigned port)
{
	const struct timeval patience = { .tv_sec = 10 };
	struct sockaddr_in   to = {
		  .sin_family = AF_INET,
		  .sin_port = htons((unsigned short)port),
		  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1;

	http->have = 0;
	http->reset = false;
	http->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (http->fd < 0)
		give_up("socket");
	setsockopt(http->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(http->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(http->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(http->fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return true;
	http_close(http);
	return false;
}

void http_open(struct http *http, unsigned port)
{
	if (!http_try_open(http, port))
		give_up("connect");
}

void http_close(struct http *http)
{
	if (http->fd >= 0)
		close(http->fd);
	http->fd = -1;
}

bool http_send(struct http *http, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(http->fd, bytes, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		bytes += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* More octets behind those in the buffer. False at the connection's end. */
static bool fill(struct http *http)
{
	ssize_t n;

	if (http->have == sizeof(http->buf))
		give_up("a head or a chunk longer than the buffer");
	do
		n = recv(http->fd, http->buf + http->have, sizeof(http->buf) - http->have, 0);
	while (n < 0 && errno == EINTR);
	http->reset = n < 0;
	if (n <= 0)
		return false;
	http->have += (size_t)n;
	return true;
}

static void drop(struct http *http, size_t n)
{
	memmove(http->buf, http->buf + n, http->have - n);
	http->have -= n;
}

/* How many octets lead up to and include end; 0 at the connection's end. */
static size_t read_until(struct http *http, const char *end)
{
	char *at;

	while ((at = memmem(http->buf, http->have, end, strlen(end))) == NULL)
		if (!fill(http))
			return 0;
	return (size_t)(at - http->buf) + strlen(end);
}

static void append(struct http_response *r, const char *bytes, size_t n)
{
	r->body = realloc(r->body, r->size + n + 1);
	if (r->body == NULL)
		give_up("realloc");
	memcpy(r->body + r->size, bytes, n);
	r->size += n;
	r->body[r->size] = '\0';
}

/* n octets of body. False if the connection ends before. */
static bool read_octets(struct http *http, struct http_response *r, size_t n)
{
	while (n > 0) {
		size_t part;

		if (http->have == 0 && !fill(http))
			return false;
		part = http->have < n ? http->have : n;
		append(r, http->buf, part);
		drop(http, part);
		n -= part;
	}
	return true;
}

static bool read_chunks(struct http *http, struct http_response *r)
{
	for (;;) {
		size_t line = read_until(http, "\r\n"), n;

		if (line == 0 || !isxdigit((unsigned char)http->buf[0]))
			return false;
		n = strtoul(http->buf, NULL, 16);
		drop(http, line);
		if (n > 0 && !read_octets(http, r, n))
			return false;
		line = read_until(http, "\r\n");
		if (line == 0)
			return false;
		drop(http, line);
		if (n == 0)
			return true;
	}
}

static bool read_body(struct http *http, struct http_response *r)
{
	const char *length = http_field(r, "Content-Length");

	if (length != NULL)
		return read_octets(http, r, strtoul(length, NULL, 10));
	if (http_field(r, "Transfer-Encoding") != NULL)
		return read_chunks(http, r);
	do {
		append(r, http->buf, http->have);
		http->have = 0;
	} while (fill(http));
	return !http->reset;
}

void http_read(struct http *http, bool no_body, struct http_response *ret)
{
	size_t n = read_until(http, "\r\n\r\n");
	int    status = 0;

	*ret = (struct http_response){ 0 };
	append(ret, "", 0);
	if (n == 0)
		return;
	if (n >= sizeof(ret->head))
		give_up("a head longer than the response holds");
	memcpy(ret->head, http->buf, n);
	drop(http, n);
	if (sscanf(ret->head, "HTTP/1.%*1[01] %3d", &status) != 1)
		return;
	if (status == 100) {
		http_response_done(ret);
		http_read(http, no_body, ret);
		return;
	}
	if (no_body || status == 204 || status == 304 || read_body(http, ret))
		ret->status = status;
}

void http_response_done(struct http_response *response)
{
	free(response->body);
	response->body = NULL;
}

const char *http_field(const struct http_response *response, const char *name)
{
	static __thread char value[8192];
	size_t               n = strlen(name);

	for (const char *line = strstr(response->head, "\r\n"); line != NULL && line[2] != '\r';
	     line = strstr(line + 2, "\r\n"))
		if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':') {
			const char *from = line + 3 + n;

			from += strspn(from, " \t");
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(from, "\r"), from);
			return value;
		}
	return NULL;
}

char *http_basic(const char *credentials)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = credentials != NULL ? strlen(credentials) : 0;
	char  *text = malloc(4 * n / 3 + 64), *out = text;

	if (text == NULL)
		give_up("malloc");
	*out = '\0';
	if (credentials == NULL)
		return text;
	out += sprintf(out, "Authorization: Basic ");
	for (size_t i = 0; i < n; i += 3) {
		unsigned bits = 0;

		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < n ? (unsigned char)credentials[i + k] : 0);
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = i + 1 < n ? digits[bits >> 6 & 63] : '=';
		*out++ = i + 2 < n ? digits[bits & 63] : '=';
	}
	strcpy(out, "\r\n");
	return text;
}

void http_ask(struct http *http, const char *method, const char *path, const char *credentials,
              struct http_response *ret)
{
	char *basic = http_basic(credentials), *request;
	int   n = asprintf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", method, path,
	                   basic);

	if (n < 0)
		give_up("asprintf");
	http_send(http, request, (size_t)n);
	http_read(http, strcmp(method, "HEAD") == 0, ret);
	free(request);
	free(basic);
}

void http_ask_once(unsigned port, const char *method, const char *path, const char *credentials,
                   struct http_response *ret)
{
	struct http http;

	*ret = (struct http_response){ 0 };
	if (!http_try_open(&http, port)) {
		append(ret, "", 0);
		return;
	}
	http_ask(&http, method, path, credentials, ret);
	http_close(&http);
}
