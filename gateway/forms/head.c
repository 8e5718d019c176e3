/* The head of a request as servlets read it. There are at most a hundred fields, so lists are made
 * by looking.
 *
 * Owns: nothing. Runs in: the request's fiber. Fails with: see head.h.
 * Tests: tests/unit/gateway/head_test.c. */
#include "head.h"

#include "request.h"

#include <base/clock.h>
#include <base/httpdate.h>
#include <strings.h>

static bool is_named(const struct bw_res_header *h, struct bw_str name)
{
	return h->name.n == name.n && strncasecmp(h->name.p, name.p, name.n) == 0;
}

size_t head_values(struct bw_req *req, const char *name, const struct bw_str **ret_values)
{
	struct bw_str *values = arena_alloc(&req->arena, (req->n_headers + 1) * sizeof(*values));
	size_t         n = 0;

	for (size_t i = 0; i < req->n_headers; i++)
		if (is_named(&req->headers[i], bw_str(name)))
			values[n++] = req->headers[i].value;
	*ret_values = values;
	return n;
}

size_t head_names(struct bw_req *req, const struct bw_str **ret_names)
{
	struct bw_str *names = arena_alloc(&req->arena, (req->n_headers + 1) * sizeof(*names));
	size_t         n = 0;

	for (size_t i = 0; i < req->n_headers; i++) {
		size_t k = 0;

		while (k < n && !is_named(&req->headers[i], names[k]))
			k++;
		if (k == n)
			names[n++] = req->headers[i].name;
	}
	*ret_names = names;
	return n;
}

int head_int(const struct bw_req *req, const char *name, int64_t *ret)
{
	struct bw_str s = request_header(req, name);
	bool          minus = s.n > 1 && s.p[0] == '-';
	int64_t       value = 0;

	if (!s.p)
		return BW_ENOTFOUND;
	if (s.n == 0)
		return BW_ESYNTAX;
	for (size_t i = minus; i < s.n; i++) {
		int digit = s.p[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, digit, &value))
			return BW_ESYNTAX;
	}
	/* Counted below zero, where there is one number more. */
	if (!minus && value == INT64_MIN)
		return BW_ESYNTAX;
	*ret = minus ? value : -value;
	return BW_OK;
}

int head_date(const struct bw_req *req, const char *name, int64_t *ret_ms)
{
	struct bw_str s = request_header(req, name);
	int64_t       seconds;

	if (!s.p)
		return BW_ENOTFOUND;
	if (!httpdate_read(s.p, s.n, (int64_t)(clock_real_us() / 1000000), &seconds))
		return BW_ESYNTAX;
	*ret_ms = seconds * 1000;
	return BW_OK;
}

struct bw_str head_url(struct bw_req *req)
{
	struct bw_str uri = request_uri(req);

	if (req->host.n == 0)
		return BW_ABSENT;
	return bw_str(arena_printf(&req->arena, "%.*s://%.*s%.*s", (int)req->scheme.n,
	                           req->scheme.p, (int)req->host.n, req->host.p, (int)uri.n,
	                           uri.p));
}
