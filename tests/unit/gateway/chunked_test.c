/* gateway/http/chunked.c: every body of the table in every way of cutting it into pieces. */
#include "gateway/http/chunked.c"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct guard guard = { .max_body = 1000 };

/* Decodes text fed in pieces of n octets, as libh2o does: what is decoded stays in front. Returns the
 * number of octets behind the end, -2 incomplete, -400 or -413 refused. */
static ssize_t feed(const char *text, size_t len, size_t n, char *out, size_t *ret_out)
{
	struct chunked d = { .consume_trailer = 1 };
	size_t         done = 0, have = 0;

	memset(out, 0, 1);
	while (done < len) {
		size_t  size = len - done < n ? len - done : n;
		ssize_t r;

		memcpy(out + have, text + done, size);
		done += size;
		r = phr_decode_chunked(&d, out + have, &size);
		have += size;
		*ret_out = have;
		if (r == -2)
			continue;
		if (r == 0 && refused != NULL)
			return -guard_take_body_refusal()->status;
		cr_assert(memcmp(out + have, text + done - r, (size_t)r) == 0,
		          "octets behind the end");
		return r + (ssize_t)(len - done);
	}
	return -2;
}

static const struct {
	const char *text, *body;
	ssize_t     r; /* behind the end */
} rows[] = {
	{ "0\r\n\r\n", "", 0 },
	{ "0\r\n\r\nGET /", "", 5 },
	{ "5\r\nhello\r\n0\r\n\r\n", "hello", 0 },
	{ "5\r\nhello\r\n0\r\n\r\nnext", "hello", 4 },
	{ "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", 0 },
	{ "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789", 0 },
	{ "00000005\r\nhello\r\n0000\r\n\r\n", "hello", 0 },
	{ "5;a=b\r\nhello\r\n0;c=\"d e\"\r\n\r\n", "hello", 0 },
	{ "5;\r\nhello\r\n0\r\n\r\n", "hello", 0 },
	{ "2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0 },
	{ "0\r\nX: y\r\nZ: \xe4\r\n\r\nmore", "", 4 },
	{ "5\r\nhello\r\n0\r\n", "hello", -2 },
	{ "5\r\nhel", "hel", -2 },
	{ "", "", -2 },
	{ "\r\n", "", -400 },
	{ ";a\r\n", "", -400 },
	{ "5x\r\nhello", "", -400 },
	{ "0x5\r\nhello", "", -400 },
	{ "5 \r\nhello", "", -400 },
	{ " 5\r\nhello", "", -400 },
	{ "-5\r\nhello", "", -400 },
	{ "5\nhello", "", -400 },
	{ "5\rhello", "", -400 },
	{ "5;a\nhello", "", -400 },
	{ "5;a\rb\r\nhello", "", -400 },
	{ "5;a\x01\r\nhello", "", -400 },
	{ "5\r\nhello0\r\n\r\n", "hello", -400 },
	{ "5\r\nhello\n0\r\n\r\n", "hello", -400 },
	{ "5\r\nhello\r0\r\n\r\n", "hello", -400 },
	{ "0\r\n\n", "", -400 },
	{ "0\r\n X: y\r\n\r\n", "", -400 },
	{ "0\r\n\tX: y\r\n\r\n", "", -400 },
	{ "0\r\nX: y\n\r\n", "", -400 },
	{ "0\r\nX: y\r\r\n\r\n", "", -400 },
	{ "0\r\nX: \x01\r\n\r\n", "", -400 },
	{ "00000000000000005\r\nhello", "", -400 },
	{ "3e9\r\n", "", -413 },
	{ "1000000000000000\r\n", "", -413 },
	{ "ffffffffffffffffffff\r\n", "", -413 },
};

Test(chunked, rows)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].text);

		for (size_t n = 1; n <= len + 1; n++) {
			char    out[256];
			size_t  size = 0;
			ssize_t r = feed(rows[i].text, len, n, out, &size);

			cr_assert(r == rows[i].r, "%s in pieces of %zu: %zd", rows[i].text, n, r);
			cr_assert(size == strlen(rows[i].body) &&
			                  memcmp(out, rows[i].body, size) == 0,
			          "%s in pieces of %zu: \"%.*s\"", rows[i].text, n, (int)size, out);
		}
	}
	cr_assert(guard_take_body_refusal() == NULL);
}

/* The limit is on the sum, and a chunk of just so much is let through. */
Test(chunked, sum_of_the_chunks)
{
	char   text[4096], out[4096];
	size_t n = 0, size;

	for (int i = 0; i < 10; i++)
		n += (size_t)sprintf(text + n, "64\r\n%0100d\r\n", i);
	memcpy(text + n, "0\r\n\r\n", 5);
	cr_assert(feed(text, n + 5, 7, out, &size) == 0 && size == 1000);
	memcpy(text + n, "1\r\n", 3);
	cr_assert(feed(text, n + 3, 7, out, &size) == -413 && size == 1000);
}

Test(chunked, extensions_and_trailers_end)
{
	char   text[40000], out[40000];
	size_t n, size;

	for (int over = 0; over <= 1; over++) {
		n = (size_t)sprintf(text, "1;");
		memset(text + n, 'x', 8000);
		n += 8000;
		n += (size_t)sprintf(text + n, "\r\ny\r\n0\r\n");
		while (n < (over ? 19000u : 15000u))
			n += (size_t)sprintf(text + n, "X: y\r\n");
		n += (size_t)sprintf(text + n, "\r\n");
		cr_assert(feed(text, n, 1000, out, &size) == (over ? -400 : 0), "over %d", over);
		cr_assert(size == 1 && out[0] == 'y');
	}
}

/* Small chunks are no overhead to be limited. */
Test(chunked, many_small_chunks)
{
	char   *text = malloc(1000000), *out = malloc(1000000);
	size_t  n = 0, size;
	ssize_t r;

	guard.max_body = 100000;
	for (int i = 0; i < 100000; i++)
		n += (size_t)sprintf(text + n, "1\r\nx\r\n");
	n += (size_t)sprintf(text + n, "0\r\n\r\n");
	r = feed(text, n, 4096, out, &size);
	cr_assert(r == 0 && size == 100000, "%zd, %zu", r, size);
	free(text);
	free(out);
}
