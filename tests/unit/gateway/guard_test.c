/* gateway/http/guard.c as a function (the rows over sockets are edge_test.c): what is taken out, what
 * Connection comes to, and that every prefix of a head is incomplete and every octet of garbage is
 * survived. */
#include "gateway/http/guard.c"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct parsed {
	int                        n;
	const char                *method, *path;
	size_t                     method_len, path_len;
	int                        minor;
	struct phr_header          headers[MAX_FIELDS];
	size_t                     n_headers;
	const struct guard_answer *refusal;
};

static struct parsed parse(char *text, size_t len, size_t last)
{
	struct parsed p = { .n_headers = MAX_FIELDS };

	p.n = phr_parse_request(text, len, &p.method, &p.method_len, &p.path, &p.path_len, &p.minor,
	                        p.headers, &p.n_headers, last);
	p.refusal = p.n > 0 ? guard_head_refusal(p.path) : NULL;
	return p;
}

static bool has(const struct parsed *p, const char *name, const char *value)
{
	for (size_t i = 0; i < p->n_headers; i++)
		if (is(p->headers[i].name, p->headers[i].name_len, name))
			return value != NULL && p->headers[i].value_len == strlen(value) &&
			       memcmp(p->headers[i].value, value, strlen(value)) == 0;
	return value == NULL;
}

TestSuite(guard);

static void limits(void)
{
	guard_init(32768, 8192, 1000);
}

Test(guard, what_libh2o_sees, .init = limits)
{
	static const struct {
		const char *lines, *name, *value; /* value NULL: not there */
		int         minor;
	} rows[] = {
		{ "Connection: close\r\n", "connection", "close", 1 },
		{ "Connection: Keep-Alive\r\n", "connection", "keep-alive", 1 },
		{ "Connection: keep-alive\r\nConnection: close\r\n", "connection", "close", 1 },
		{ "Connection: X-A ,, close\r\n", "connection", "close", 1 },
		{ "Connection: X-A\r\n", "connection", NULL, 1 },
		{ "Connection: X-A\r\nX-A: 1\r\n", "x-a", NULL, 1 },
		{ "X-A: 1\r\nX-B: 2\r\nConnection: x-a\r\nConnection: x-b\r\n", "x-b", NULL, 1 },
		{ "X-A: 1\r\nConnection: X-AB\r\n", "x-a", "1", 1 },
		{ "Connection: \r\n", "connection", NULL, 1 },
		{ "Upgrade: h2c\r\n", "upgrade", NULL, 1 },
		{ "Expect: 100-Continue\r\n", "expect", "100-Continue", 1 },
		{ "Expect: 100-continue\r\n", "expect", NULL, 0 },
		{ "X: a \t \r\n", "x", "a", 1 },
		{ "Content-Length: 1000\r\n", "content-length", "1000", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		int  n = snprintf(text, sizeof(text), "GET / HTTP/1.%d\r\nHost: a\r\n%s\r\n",
		                  rows[i].minor, rows[i].lines);
		struct parsed p = parse(text, (size_t)n, 0);

		cr_expect(p.n == n && p.refusal == NULL, "%s: %d", rows[i].lines, p.n);
		cr_expect(has(&p, rows[i].name, rows[i].value), "%s", rows[i].lines);
		cr_expect(has(&p, "host", "a"));
	}
}

Test(guard, prefixes_are_incomplete, .init = limits)
{
	char   text[] = "\r\nPOST /a?b HTTP/1.1\r\nHost: a\r\nX: y\r\nContent-Length: 5\r\n\r\n";
	size_t len = sizeof(text) - 1;

	for (size_t n = 1; n <= len; n++) {
		char *copy = malloc(n); /* of its very size: the sanitizer sees a step beyond */
		struct parsed p;

		memcpy(copy, text, n);
		p = parse(copy, n, n > 1 ? n - 1 : 0);
		cr_assert(p.n == (n < len ? -2 : (int)len), "%zu: %d", n, p.n);
		free(copy);
	}
}

/* Each octet of a good head replaced by each value: no crash, and never both a refusal and headers. */
Test(guard, every_octet_changed, .init = limits)
{
	static const char good[] = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
				   "Connection: x, close\r\n\r\n";
	size_t            len = sizeof(good) - 1;
	int               refusals = 0;

	for (size_t i = 0; i < len; i++) {
		for (unsigned c = 0; c < 256; c++) {
			char         *copy = malloc(len);
			struct parsed p;

			memcpy(copy, good, len);
			copy[i] = (char)c;
			p = parse(copy, len, 0);
			cr_assert(p.n == -2 || (p.n > 0 && p.n <= (int)len), "%zu %02x: %d", i, c,
			          p.n);
			if (p.refusal != NULL) {
				refusals++;
				cr_assert(p.n_headers == 0 && p.path_len == 1 &&
				          p.refusal->status >= 400);
			}
			free(copy);
		}
	}
	cr_assert(refusals > 3000, "%d", refusals);
}

Test(guard, limits_are_exact)
{
	char         *text = malloc(10000);
	struct parsed p;
	size_t        n;

	for (int over = 0; over <= 1; over++) {
		guard_init(2000, 1000, 10);
		n = (size_t)sprintf(text, "GET /%0*d HTTP/1.1\r\nHost: a\r\n\r\n", 999 + over, 0);
		p = parse(text, n, 0);
		cr_expect(over ? p.refusal && p.refusal->status == 414 : !p.refusal, "target %d",
		          over);
		n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\nX: %0*d\r\n\r\n",
		                    2000 - 32 + over, 0);
		p = parse(text, n, 0);
		cr_expect(n == 2000u + (unsigned)over);
		cr_expect(over ? p.refusal && p.refusal->status == 431 : !p.refusal, "head %d",
		          over);
		n = (size_t)sprintf(text,
		                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
		                    10 + over);
		p = parse(text, n, 0);
		cr_expect(over ? p.refusal && p.refusal->status == 413 : !p.refusal, "body %d",
		          over);
	}
	free(text);
}

Test(guard, marks_are_addresses, .init = limits)
{
	char path[] = "/";

	cr_expect(guard_head_refusal(path) == NULL && guard_head_refusal("/") == NULL);
	for (size_t i = 0; i < N_REFUSALS; i++)
		cr_expect(guard_head_refusal(answers[i].path) == &answers[i] &&
		          answers[i].why != NULL);
}
