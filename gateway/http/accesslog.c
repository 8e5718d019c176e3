/* accesslog.c - one line per request, into the log's ring: no system call, no printf.
 *
 *   address - user [30/Nov/2026:16:20:05 +0000] "GET /path HTTP/1.1" 200 11 "referer" "agent" id us
 *
 * That is the Combined format with the request id and the microseconds it took behind it. What comes
 * from the client is escaped: a quote, a backslash, controls and octets above 126 become \xHH, so
 * that no client writes a line of its own. Long values are cut.
 *
 * Owns: the descriptor of the file. Runs in: the loop's stack. Fails with: fatal at start if the file
 * cannot be opened. Tests: tests/unit/gateway/accesslog_test.c. */
#include "http/internal.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define MAX_VALUE 1024 /* octets of one value before escaping */

static int      fd = -1;
static char     stamp[32]; /* " - [..] " of the second it was made in */
static size_t   stamp_n;
static uint64_t stamp_s;

struct line {
	char *p; /* room for all the largest values was made */
};

static void add(struct line *l, const char *p, size_t n)
{
	memcpy(l->p, p, n);
	l->p += n;
}

/* What stands in a line as it is. */
static const bool is_plain[256] = {
	[' ' ... '!'] = true,
	['#' ... '['] = true,
	[']' ... '~'] = true,
};

static void add_value(struct line *l, struct bw_str v)
{
	static const char hex[] = "0123456789abcdef";
	const char       *p = v.p, *end = p + (v.n < MAX_VALUE ? v.n : MAX_VALUE);

	if (v.n == 0)
		*l->p++ = '-';
	while (p < end) {
		unsigned char c = (unsigned char)*p++;

		if (is_plain[c]) {
			*l->p++ = (char)c;
		} else {
			add(l, "\\x", 2);
			*l->p++ = hex[c >> 4];
			*l->p++ = hex[c & 15];
		}
	}
}

static void add_number(struct line *l, uint64_t n)
{
	char  digits[20];
	char *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	add(l, p, (size_t)(digits + sizeof(digits) - p));
}

/* The clock of people, once a second of the monotonic one; the text is in UTC. */
static void add_stamp(struct line *l, uint64_t now_us)
{
	if (now_us / 1000000 != stamp_s || stamp_n == 0) {
		time_t    now = (time_t)(clock_real_us() / 1000000);
		struct tm tm;

		gmtime_r(&now, &tm);
		stamp_n = strftime(stamp, sizeof(stamp), "[%d/%b/%Y:%H:%M:%S +0000]", &tm);
		stamp_s = now_us / 1000000;
	}
	add(l, stamp, stamp_n);
}

void accesslog_write(const struct bw_req *req, int status, uint64_t body)
{
	static char text[6 * 4 * MAX_VALUE +
	                 512]; /* not on the stack, where each page would be probed */
	struct line l = { .p = text };
	uint64_t    now_us;

	if (fd < 0)
		return;
	now_us = clock_mono_us();
	add(&l, req->remote_addr.p, req->remote_addr.n); /* ours, hence clean */
	add(&l, " - ", 3);
	add_value(&l, req->remote_user);
	*l.p++ = ' ';
	add_stamp(&l, now_us);
	add(&l, " \"", 2);
	add_value(&l, req->method);
	*l.p++ = ' ';
	add_value(&l, req->uri);
	if (req->query.p != NULL) {
		*l.p++ = '?';
		if (req->query.n > 0)
			add_value(&l, req->query);
	}
	add(&l, req->http10 ? " HTTP/1.0\" " : " HTTP/1.1\" ", 11);
	add_number(&l, (uint64_t)status);
	*l.p++ = ' ';
	add_number(&l, body);
	add(&l, " \"", 2);
	add_value(&l, request_header(req, "referer"));
	add(&l, "\" \"", 3);
	add_value(&l, request_header(req, "user-agent"));
	add(&l, "\" ", 2);
	add(&l, req->id_text, 16);
	*l.p++ = ' ';
	add_number(&l, now_us - req->started_us);
	*l.p++ = '\n';
	log_line(fd, text, (size_t)(l.p - text));
}

void accesslog_init(const char *file)
{
	if (file == NULL || file[0] == 0)
		return;
	if (strcmp(file, "-") == 0) {
		fd = STDOUT_FILENO;
		return;
	}
	fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (fd < 0)
		fatal("access log %s", file);
}

void accesslog_done(void)
{
	if (fd >= 0 && fd != STDOUT_FILENO)
		close(fd);
	fd = -1;
}
