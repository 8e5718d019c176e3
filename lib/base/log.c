/* log.c - makes the lines; log_ring.c carries them.
 *
 * Owns: the process's name, number and level; two buffers of each thread. Runs in: any thread, also on
 * a fiber's small stack; not in a signal handler. Fails with: nothing; lost lines are counted.
 * Tests: tests/unit/base/log_test.c. */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log_ring.h"

enum {
	LOG_TEXT_MAX = 2048,
	LOG_HEAD_MAX = 192,
	/* Below PIPE_BUF, so that a line is never mixed with those of another process. */
	LOG_TEXT_LINE_MAX = 4000,
};

static struct {
	const char    *process; /* static text */
	enum log_level max;
} settings = { .process = "boot", .max = LOG_LEVEL_INFO };

/* A line being built; text that no longer fits is cut. */
struct line {
	size_t n;
	char   bytes[LOG_TEXT_LINE_MAX];
};

void log_init(const char *process, enum log_level max)
{
	settings.process = process;
	settings.max = max;
	log_ring_init();
}

bool log_enabled(enum log_level level)
{
	return level <= settings.max;
}

static const char *level_name(enum log_level level)
{
	switch (level) {
	case LOG_LEVEL_ERROR:
		return "error";
	case LOG_LEVEL_WARNING:
		return "warning";
	case LOG_LEVEL_INFO:
		return "info";
	case LOG_LEVEL_DEBUG:
		return "debug";
	}
	return "unknown";
}

/* Days since 1970 to a date of the Gregorian calendar, by eras of 400 years that begin in March.
 * gmtime_r takes a lock of libc, which a fork may have left held. */
static void set_date(struct tm *t, uint64_t days)
{
	uint64_t z = days + 719468, era = z / 146097, day_of_era = z % 146097;
	uint64_t year =
		(day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	uint64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * day_of_year + 2) / 153;

	t->tm_mday = (int)(day_of_year - (153 * month + 2) / 5 + 1);
	t->tm_mon = (int)(month < 10 ? month + 3 : month - 9); /* 1..12 here */
	t->tm_year = (int)(year + era * 400 + (t->tm_mon <= 2 ? 1 : 0));
}

static void add_head(struct line *l, enum log_level level, uint64_t request)
{
	uint64_t  now = clock_real_us(), second = now / 1000000;
	struct tm t;
	int       n;

	set_date(&t, second / 86400);
	n = snprintf(l->bytes, LOG_HEAD_MAX,
	             "%04d-%02d-%02dT%02u:%02u:%02u.%06uZ level=%s process=%s pid=%d", t.tm_year,
	             t.tm_mon, t.tm_mday, (unsigned)(second / 3600 % 24),
	             (unsigned)(second / 60 % 60), (unsigned)(second % 60),
	             (unsigned)(now % 1000000), level_name(level), settings.process, (int)getpid());
	l->n = n < LOG_HEAD_MAX ? (size_t)n : LOG_HEAD_MAX - 1;
	if (request != 0)
		l->n += (size_t)snprintf(l->bytes + l->n, LOG_HEAD_MAX, " request=%016llx",
		                         (unsigned long long)request);
}

/* Octets of the well-formed UTF-8 sequence at p; 0 if there is none, or it is a control. */
static size_t printable_utf8(const unsigned char *p, size_t n)
{
	size_t   len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t code = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
	size_t   i;

	if (p[0] >= 0xf8 || (p[0] >= 0x80 && p[0] < 0xc2) || len > n)
		return 0;
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3fu);
	}
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
	    (code >= 0xd800 && code < 0xe000) || code > 0x10ffff || (len == 3 && code < 0x800) ||
	    (len == 4 && code < 0x10000))
		return 0;
	return len;
}

/* How the octet or sequence at p stands between quotes; sets *taken. out has room for 4. */
static size_t escape(char *out, const unsigned char *p, size_t n, size_t *taken)
{
	static const char hex[] = "0123456789abcdef";
	size_t            len = printable_utf8(p, n);
	char              letter = 0;

	*taken = len > 0 ? len : 1;
	if (len > 0 && *p != '"' && *p != '\\') {
		memcpy(out, p, len);
		return len;
	}
	switch (*p) {
	case '"':
	case '\\':
		letter = (char)*p;
		break;
	case '\n':
		letter = 'n';
		break;
	case '\r':
		letter = 'r';
		break;
	case '\t':
		letter = 't';
		break;
	}
	out[0] = '\\';
	if (letter != 0) {
		out[1] = letter;
		return 2;
	}
	out[1] = 'x';
	out[2] = hex[*p >> 4];
	out[3] = hex[*p & 15];
	return 4;
}

/* ` name="text"`; what was cut shows as "...". Room is kept for the quote and the end of the line, and
 * a field of which nothing would fit is left out. */
static void add_field(struct line *l, const char *name, const char *text, size_t n, bool is_cut)
{
	const size_t reserved = sizeof("...\"\n");
	size_t       i = 0, taken, n_name = strlen(name);
	char         out[4];

	if (l->n + n_name + 3 + reserved > sizeof(l->bytes))
		return;
	l->bytes[l->n++] = ' ';
	memcpy(l->bytes + l->n, name, n_name);
	l->n += n_name;
	memcpy(l->bytes + l->n, "=\"", 2);
	l->n += 2;
	while (i < n) {
		size_t len = escape(out, (const unsigned char *)text + i, n - i, &taken);

		if (l->n + len + reserved > sizeof(l->bytes)) {
			is_cut = true;
			break;
		}
		memcpy(l->bytes + l->n, out, len);
		l->n += len;
		i += taken;
	}
	if (is_cut) {
		memcpy(l->bytes + l->n, "...", 3);
		l->n += 3;
	}
	l->bytes[l->n++] = '"';
}

static void end_line(struct line *l)
{
	l->bytes[l->n++] = '\n';
}

static void add_text(struct line *l, const char *text, size_t n, bool is_cut)
{
	add_field(l, "msg", text, n, is_cut);
	end_line(l);
}

/* The buffers are the thread's: on the stack, each fiber that ever logged would hold two pages more. */
void log_printf(enum log_level level, uint64_t request, const char *format, ...)
{
	static __thread char        text[LOG_TEXT_MAX];
	static __thread struct line line;
	va_list                     ap;
	int                         n;

	if (!log_enabled(level))
		return;
	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	add_head(&line, level, request);
	if (n < 0)
		add_text(&line, format, strlen(format), true);
	else if ((size_t)n < sizeof(text))
		add_text(&line, text, (size_t)n, false);
	else
		add_text(&line, text, sizeof(text) - 1, true);
	log_ring_put(STDERR_FILENO, line.bytes, line.n);
}

void log_event(uint64_t request, const char *event, const struct log_field *fields, size_t n)
{
	static __thread struct line line;

	add_head(&line, LOG_LEVEL_INFO, request);
	line.n += (size_t)snprintf(line.bytes + line.n, LOG_HEAD_MAX, " event=%.64s", event);
	for (size_t i = 0; i < n; i++)
		add_field(&line, fields[i].name, fields[i].value, fields[i].n, false);
	end_line(&line);
	log_ring_put(STDERR_FILENO, line.bytes, line.n);
}

static void tell_dropped(uint64_t lost, uint64_t total)
{
	struct line line;
	char        text[128];
	int n = snprintf(text, sizeof(text), "%llu log lines were lost, %llu since the start",
	                 (unsigned long long)lost, (unsigned long long)total);

	add_head(&line, LOG_LEVEL_WARNING, 0);
	add_text(&line, text, (size_t)n, false);
	log_ring_write_now(STDERR_FILENO, line.bytes, line.n);
}

void log_start(void)
{
	log_ring_start(tell_dropped);
}

void log_stop(void)
{
	log_ring_stop();
}

void log_line(int fd, const char *line, size_t n)
{
	log_ring_put(fd, line, n);
}

uint64_t log_dropped(void)
{
	return log_ring_dropped();
}
