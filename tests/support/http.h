/* http.h - a small blocking HTTP/1.1 client on a raw socket, for tests that want to see the octets.
 *
 * Whatever cannot be done ends the test with a line on stderr and abort(), except where an answer
 * says otherwise. An answer that does not come within ten seconds counts as "connection closed". */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct http { /* one connection, kept alive until it is closed */
	int    fd;
	bool   reset; /* it ended, and not in good order */
	size_t have;  /* octets read beyond the last response */
	char   buf[64 * 1024];
};

struct http_response {
	int    status;          /* 0: the connection ended, or was reset, before a whole response */
	char   head[16 * 1024]; /* status line and fields as they came, NUL-terminated */
	char  *body;            /* heap, NUL-terminated behind size */
	size_t size;
};

void http_open(struct http *http, unsigned port); /* 127.0.0.1 */
bool http_try_open(struct http *http, unsigned port);
void http_close(struct http *http); /* may be called twice */
/* Octets as they are. False if the other side has closed. */
bool http_send(struct http *http, const char *bytes, size_t n);
/* The next response; body by Content-Length, chunks, or the connection's end. no_body: of a HEAD.
 * Owned: http_response_done. */
void http_read(struct http *http, bool no_body, struct http_response *ret);
void http_response_done(struct http_response *response);
/* Request and response. credentials: "user:password", NULL for none. */
void http_ask(struct http *http, const char *method, const char *path, const char *credentials,
              struct http_response *ret);
/* The same on a connection of its own. */
void http_ask_once(unsigned port, const char *method, const char *path, const char *credentials,
                   struct http_response *ret);
/* The value of a field, without the blanks around it; NULL if there is none. Borrowed until the next
 * call. */
const char *http_field(const struct http_response *response, const char *name);
/* "Authorization: Basic ...\r\n" in heap memory; "" for NULL. */
char *http_basic(const char *credentials);
