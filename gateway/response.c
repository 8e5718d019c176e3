/* response.c - the response a servlet builds: status, headers, a body that waits in a buffer until it
 * is complete or outgrows it. Here is checked what no other place checks: header names and values,
 * since libh2o sends what it is given.
 *
 * Owns: nothing; all is in the request. Runs in: the request's fiber, or the loop for answers made
 * without a servlet. Fails with: BW_EINVAL, BW_ESTATE (too late to change it), BW_EGONE, BW_ETIME.
 * Tests: tests/unit/gateway/response_test.c. */
#include "request.h"
#include "token.h"

#include <string.h>
#include <strings.h>

/* Hop-by-hop, or set by the transport. */
static const struct bw_str reserved_headers[] = {
	{ "connection", 10 }, { "content-length", 14 },   { "date", 4 },
	{ "keep-alive", 10 }, { "proxy-connection", 16 }, { "server", 6 },
	{ "te", 2 },          { "trailer", 7 },           { "transfer-encoding", 17 },
	{ "upgrade", 7 },     { "x-request-id", 12 },
};

/* Copies name into the arena in lower case. False: not a name that may be set. */
static bool header_name(struct bw_req *req, const char *name, struct bw_str *ret)
{
	size_t n = strlen(name);
	char  *lower;

	if (n == 0 || n > 256)
		return false;
	lower = arena_alloc(&req->arena, n + 1);
	for (size_t i = 0; i < n; i++) {
		lower[i] = (char)token_lower[(unsigned char)name[i]];
		if (lower[i] == 0)
			return false;
	}
	lower[n] = 0;
	*ret = (struct bw_str){ lower, n };
	for (size_t i = 0; i < sizeof(reserved_headers) / sizeof(reserved_headers[0]); i++)
		if (reserved_headers[i].n == n && memcmp(reserved_headers[i].p, lower, n) == 0)
			return false;
	return true;
}

/* True if one of the eight octets may be below a blank, or is DEL; a few other words are caught too. */
static bool has_control(uint64_t word)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t       del = word ^ ones * 127;

	return ((((word - ones * ' ') & ~word) | ((del - ones) & ~del)) & ones * 128) != 0;
}

static bool is_field_value(struct bw_str v)
{
	uint64_t word;
	size_t   i = 0;

	for (; i + sizeof(word) <= v.n; i += sizeof(word)) {
		memcpy(&word, v.p + i, sizeof(word));
		if (has_control(word))
			break; /* or a TAB, which is fine: octet by octet from here */
	}
	for (; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if ((c < ' ' && c != '\t') || c == 127)
			return false;
	}
	return v.p != NULL;
}

static void append_header(struct bw_req *req, struct bw_str name, struct bw_str value)
{
	if (req->n_res_headers == req->cap_res_headers) {
		size_t                cap = req->cap_res_headers ? req->cap_res_headers * 2 : 8;
		struct bw_res_header *grown = arena_alloc(&req->arena, cap * sizeof(*grown));

		if (req->n_res_headers > 0)
			memcpy(grown, req->res_headers, req->n_res_headers * sizeof(*grown));
		req->res_headers = grown;
		req->cap_res_headers = cap;
	}
	req->res_headers[req->n_res_headers++] = (struct bw_res_header){ name, value };
}

static void remove_header(struct bw_req *req, struct bw_str name)
{
	size_t kept = 0;

	for (size_t i = 0; i < req->n_res_headers; i++)
		if (!bw_str_eq(req->res_headers[i].name, name))
			req->res_headers[kept++] = req->res_headers[i];
	req->n_res_headers = kept;
}

/* May the response still be changed? */
static int check_open(const struct bw_req *req)
{
	int r = request_check(req);

	if (r != BW_OK)
		return r;
	return req->committed ? BW_ESTATE : BW_OK;
}

int response_status(struct bw_req *req, int status)
{
	int r = check_open(req);

	if (r != BW_OK)
		return r;
	if (status < 200 || status > 599)
		return BW_EINVAL;
	if (!req->closed && !req->body_only)
		req->status = status;
	return BW_OK;
}

int response_header(struct bw_req *req, const char *name, struct bw_str value, bool replace)
{
	struct bw_str lower;
	int           r = check_open(req);

	if (r != BW_OK)
		return r;
	if (!header_name(req, name, &lower) || !is_field_value(value))
		return BW_EINVAL;
	if (req->closed || req->body_only)
		return BW_OK;
	if (replace)
		remove_header(req, lower);
	append_header(req, lower, request_dup(req, value));
	return BW_OK;
}

void response_set_cookie(struct bw_req *req, struct bw_str cookie, struct bw_str value)
{
	static const struct bw_str name = { "set-cookie", 10 };

	for (size_t i = 0; i < req->n_res_headers; i++) {
		struct bw_res_header *h = &req->res_headers[i];

		if (!bw_str_eq(h->name, name) || h->value.n <= cookie.n ||
		    h->value.p[cookie.n] != '=' || memcmp(h->value.p, cookie.p, cookie.n) != 0)
			continue;
		h->value = value;
		return;
	}
	append_header(req, name, value);
}

bool response_has_body(const struct bw_req *req)
{
	return !req->head_only && req->status != 204 && req->status != 304;
}

static void forget_flush(struct req_wait *w)
{
	(void)w; /* the transport looks at gone and late itself */
}

/* Hands what is in the buffer to the transport and waits until the client has taken it. */
static int send_buffer(struct bw_req *req)
{
	struct req_wait wait = { .cancel = forget_flush };
	int             r;

	if (!response_has_body(req)) {
		buf_clear(&req->body);
		return BW_OK;
	}
	req->committed = true;
	req->flush = true;
	r = request_park(req, &wait);
	req->flush = false;
	if (r == BW_OK) {
		req->body_sent += buf_size(&req->body);
		buf_clear(&req->body);
	}
	return r;
}

int response_write(struct bw_req *req, const void *data, size_t n)
{
	const uint8_t *p = data;
	int            r = request_check(req);

	if (r != BW_OK || req->closed)
		return r;
	if (req->head_only) {
		req->body_sent += n;
		return BW_OK;
	}
	while (n > 0) {
		size_t part = RESPONSE_BUFFER - buf_size(&req->body);

		if (part == 0) {
			if ((r = send_buffer(req)) != BW_OK)
				return r;
			continue;
		}
		if (part > n)
			part = n;
		buf_append(&req->body, p, part);
		p += part;
		n -= part;
	}
	return BW_OK;
}

int response_flush(struct bw_req *req)
{
	int r = request_check(req);

	/* Without a body there is nothing to send early, and the head is better sent when complete. */
	if (r != BW_OK || req->closed || !response_has_body(req))
		return r;
	if (req->committed && buf_size(&req->body) == 0)
		return BW_OK;
	return send_buffer(req);
}

void response_length(struct bw_req *req, uint64_t n)
{
	if (req->committed || buf_size(&req->body) > 0)
		return; /* what is there is not counted in n */
	req->has_length = true;
	req->length = n;
}

int response_send_error(struct bw_req *req, int status, const char *text)
{
	int r = check_open(req);

	if (r != BW_OK)
		return r;
	if (status < 200 || status > 599)
		return BW_EINVAL;
	if (req->closed || req->body_only)
		return BW_OK;
	response_reset_body(req);
	req->status = status;
	if (status >= 400) { /* below that there are no pages */
		req->error_status = status;
		req->error_text = request_dup(req, bw_str(text));
	}
	req->closed = true;
	return BW_OK;
}

int response_fail(struct bw_req *req, const char *name, const char *text)
{
	return response_fail_because(req, name, text, NULL);
}

int response_fail_because(struct bw_req *req, const char *name, const char *text, const char *cause)
{
	req->error_name = request_dup(req, bw_str(name));
	req->error_text = request_dup(req, bw_str(text));
	req->error_cause = request_dup(req, bw_str(cause));
	return BW_ESERVLET;
}

int response_take_back(struct bw_req *req, bool body_only)
{
	int r = check_open(req);

	if (r != BW_OK || req->closed)
		return r;
	if (body_only)
		response_reset_body(req);
	else
		response_reset(req);
	return BW_OK;
}

struct bw_str response_get_header(const struct bw_req *req, const char *name)
{
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (strcasecmp(req->res_headers[i].name.p, name) == 0)
			return req->res_headers[i].value;
	return BW_ABSENT;
}

void response_reset_body(struct bw_req *req)
{
	if (req->body_only)
		return;
	buf_clear(&req->body);
	req->body_sent = 0;
	req->has_length = false;
	req->closed = false;
}

void response_reset(struct bw_req *req)
{
	if (req->body_only)
		return;
	response_reset_body(req);
	req->n_res_headers = 0;
	req->status = 200;
}
