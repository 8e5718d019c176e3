/* edge.c - the runner of edge.rows: raw octets out, statuses and the connection's end back.
 *
 * The client writes and reads at the same time, as the server may answer and close before it has read
 * everything. Lines are cut where the server's own parser would not help: a status line is counted at
 * the start of a response only, whose body is skipped by its Content-Length. */
#include "edge.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_ROW     4096
#define PATIENCE_MS 5000
#define DRIP_LIMIT  2048 /* longer rows are sent in pieces of a 1,000th instead of single octets */

struct row {
	char   name[64];
	int    status;
	bool   close;
	char  *octets; /* heap */
	size_t n, room;
};

struct answers {
	int  status[8]; /* final ones, in order */
	int  n;
	bool ended; /* the server closed */
};

static void die(const char *what, const char *text)
{
	fprintf(stderr, "edge: %s: %s\n", what, text);
	exit(2);
}

/* ---- rows ---- */

static void put(struct row *r, const char *p, size_t n)
{
	while (r->n + n > r->room) {
		r->room = r->room ? r->room * 2 : 1024;
		r->octets = realloc(r->octets, r->room);
		if (r->octets == NULL)
			die("memory", r->name);
	}
	memcpy(r->octets + r->n, p, n);
	r->n += n;
}

static const char *put_escape(struct row *r, const char *p)
{
	static const char from[] = "rnt0\\p", to[] = "\r\n\t\0\\|";
	const char       *at = strchr(from, *p);
	unsigned          octet;
	char              c;

	if (*p == 'x' && sscanf(p, "x%2x", &octet) == 1) {
		c = (char)octet;
		put(r, &c, 1);
		return p + 3;
	}
	if (*p == 0 || at == NULL)
		die("escape", r->name);
	put(r, &to[at - from], 1);
	return p + 1;
}

/* text up to end, escapes and $P done; {..*n} is handled by the caller. */
static void put_text(struct row *r, const char *p, const char *end, const char *path)
{
	while (p < end) {
		if (*p == '\\') {
			p = put_escape(r, p + 1);
		} else if (p[0] == '$' && p[1] == 'P') {
			put(r, path, strlen(path));
			p += 2;
		} else {
			put(r, p++, 1);
		}
	}
}

static void put_octets(struct row *r, const char *p, const char *path)
{
	while (*p) {
		const char *open = strchr(p, '{'), *star, *close;

		if (open == NULL) {
			put_text(r, p, p + strlen(p), path);
			return;
		}
		put_text(r, p, open, path);
		close = strchr(open, '}');
		star = close;
		while (star != NULL && star > open && *star != '*')
			star--;
		if (star == NULL || star == open)
			die("repetition", r->name);
		for (int i = atoi(star + 1); i > 0; i--)
			put_text(r, open + 1, star, path);
		p = close + 1;
	}
}

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " ");
	for (n = strlen(s); n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\n'); n--)
		s[n - 1] = 0;
	return s;
}

static void parse_row(char *line, const char *path, struct row *ret)
{
	char *fields[4] = { NULL }, *p = line;
	int   n = 0;

	while (n < 4 && p != NULL)
		fields[n++] = strsep(&p, "|");
	if (n != 4 || p != NULL)
		die("row", line);
	*ret = (struct row){ .status = atoi(fields[1]) };
	snprintf(ret->name, sizeof(ret->name), "%s", trim(fields[0]));
	ret->close = strcmp(trim(fields[2]), "close") == 0;
	if (!ret->close && strcmp(trim(fields[2]), "keep") != 0)
		die("close or keep", line);
	put_octets(ret, trim(fields[3]), path);
}

/* ---- the client ---- */

static int connect_to(const char *address, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("address", address);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		die("connect", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Counts the whole responses in text. */
static void count_answers(const char *p, size_t n, struct answers *ret)
{
	const char *end = p + n;

	ret->n = 0;
	while (p < end) {
		const char *body = memmem(p, (size_t)(end - p), "\r\n\r\n", 4), *length;
		int         status;
		size_t      size = 0;

		if (body == NULL || sscanf(p, "HTTP/1.1 %d ", &status) != 1 || ret->n == 8)
			return;
		body += 4;
		length = strcasestr(p, "\r\ncontent-length:");
		if (length != NULL && length < body)
			size = strtoul(length + 17, NULL, 10);
		if ((size_t)(end - body) < size)
			return;
		if (status >= 200)
			ret->status[ret->n++] = status;
		p = body + size;
	}
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Sends octets in pieces and reads until the server closes or want answers are there. */
static void talk(int fd, const char *octets, size_t n, size_t piece, int want, struct answers *ret)
{
	static char in[262144];
	size_t      have = 0;
	int64_t     end_ms = now_ms() + PATIENCE_MS;

	*ret = (struct answers){ .n = 0 };
	in[0] = 0;
	while (!ret->ended && ret->n < want && now_ms() < end_ms) {
		struct pollfd p = { .fd = fd, .events = (short)(POLLIN | (n > 0 ? POLLOUT : 0)) };
		ssize_t       r;

		if (poll(&p, 1, 100) <= 0)
			continue;
		if (p.revents & POLLIN || !(p.revents & POLLOUT)) {
			r = recv(fd, in + have, sizeof(in) - 1 - have, 0);
			if (r == 0 || (r < 0 && errno != EAGAIN))
				ret->ended = true;
			if (r > 0)
				have += (size_t)r;
			in[have] = 0;
			count_answers(in, have, ret);
			continue;
		}
		r = send(fd, octets, n < piece ? n : piece, MSG_NOSIGNAL);
		if (r > 0) {
			octets += r;
			n -= (size_t)r;
		} else if (r < 0 && errno != EAGAIN) {
			n = 0; /* closed on us: what it said before is still to be read */
		}
	}
}

/* True if the row came out as it says. */
static bool run_row(const struct row *r, const char *address, uint16_t port, const char *path,
                    size_t piece, const char *how)
{
	struct row     all = { .octets = NULL };
	struct answers got;
	char           next[256];
	int            fd = connect_to(address, port);
	bool           ok;

	snprintf(next, sizeof(next), "GET %s HTTP/1.1\r\nHost: next\r\n\r\n", path);
	put(&all, r->octets, r->n);
	put(&all, next, strlen(next));
	talk(fd, all.octets, all.n, piece, r->close ? 8 : 2, &got);
	close(fd);
	free(all.octets);
	ok = got.n == (r->close ? 1 : 2) && got.status[0] == r->status && got.ended == r->close &&
	     (r->close || got.status[1] == 200);
	if (!ok)
		fprintf(stderr, "edge: %s (%s): wanted %d and %s; got %d answers (%d, %d), %s\n",
		        r->name, how, r->status, r->close ? "close" : "keep", got.n, got.status[0],
		        got.status[1], got.ended ? "closed" : "open");
	return ok;
}

struct edge_result edge_run(const char *address, uint16_t port, const char *file, const char *path)
{
	struct edge_result result = { 0, 0 };
	char               line[MAX_ROW];
	FILE              *f = fopen(file, "r");

	if (f == NULL)
		die(file, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL) {
		struct row r;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		parse_row(line, path, &r);
		result.failed += !run_row(&r, address, port, path, r.n + 256, "at once");
		result.failed += !run_row(&r, address, port, path,
		                          r.n > DRIP_LIMIT ? r.n / 1000 : 1, "drop by drop");
		result.rows += 2;
		free(r.octets);
	}
	fclose(f);
	return result;
}
