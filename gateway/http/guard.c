/* guard.c - the strict edge. libh2o reaches its parser through the dynamic symbol table, and an
 * executable's symbols come first there: the two functions below stand in for the library's, which
 * does the parsing and is then checked (phr_decode_chunked, in chunked.c, is ours altogether).
 *
 * A request that is refused is not reported to libh2o as an error, which it would answer with a bare
 * 400 that nothing of ours sees, but as a complete, bodyless request whose path points at a mark in
 * this file. The gateway knows the mark by its address, which no client can send, answers, and closes.
 *
 * What is refused, with 400 unless noted (RFC 9110, 9112): a line ended by LF alone, a
 * folded line, a method that is no token, Content-Length that is not one plain number or comes
 * with Transfer-Encoding, Transfer-Encoding other than one "chunked" or on HTTP/1.0, Host missing,
 * twice or malformed, Connection naming a header that is not hop by hop; a body, head, target or number
 * of fields over the limit (413, 431, 414, 431), an expectation we do not know (417), CONNECT (501).
 *
 * What is taken out before libh2o sees it: Upgrade, the headers that Connection names, Expect on
 * HTTP/1.0, blanks at the end of values.
 *
 * Owns: nothing. Runs in: the loop's stack, called by libh2o. Fails with: fatalx if libh2o's own
 * parser is not to be found. Tests: tests/unit/gateway/guard_test.c, tests/conformance/edge.rows. */
#include "http/guard.h"

#include "path.h"
#include "token.h"

#include <base/fatal.h>
#include <dlfcn.h>
#include <string.h>
#include <strings.h>

#define MAX_FIELDS 100 /* what libh2o has room for */

struct guard guard;

enum refusal {
	REFUSE_SYNTAX,
	REFUSE_BARE_LF,
	REFUSE_FOLDED,
	REFUSE_METHOD,
	REFUSE_LENGTH,
	REFUSE_CODING,
	REFUSE_BOTH,
	REFUSE_HOST,
	REFUSE_CONNECTION,
	REFUSE_FIELDS,
	REFUSE_HEAD,
	REFUSE_TARGET,
	REFUSE_BODY,
	REFUSE_EXPECT,
	REFUSE_CONNECT,
	N_REFUSALS
};
/* Not const: equal constants could be merged, and the addresses must differ. */
static struct guard_answer answers[N_REFUSALS] = {
	[REFUSE_SYNTAX] = { "/", 400, "not a request" },
	[REFUSE_BARE_LF] = { "/", 400, "line ended by LF alone" },
	[REFUSE_FOLDED] = { "/", 400, "folded header line" },
	[REFUSE_METHOD] = { "/", 400, "method is no token" },
	[REFUSE_LENGTH] = { "/", 400, "Content-Length" },
	[REFUSE_CODING] = { "/", 400, "Transfer-Encoding" },
	[REFUSE_BOTH] = { "/", 400, "Content-Length and Transfer-Encoding" },
	[REFUSE_HOST] = { "/", 400, "Host" },
	[REFUSE_CONNECTION] = { "/", 400, "Connection names an end-to-end header" },
	[REFUSE_FIELDS] = { "/", 431, "too many header fields" },
	[REFUSE_HEAD] = { "/", 431, "head too large" },
	[REFUSE_TARGET] = { "/", 414, "target too long" },
	[REFUSE_BODY] = { "/", 413, "body too large" },
	[REFUSE_EXPECT] = { "/", 417, "Expect" },
	[REFUSE_CONNECT] = { "/", 501, "CONNECT" },
};

/* As picohttpparser.h, which libh2o does not install. */
struct phr_header {
	const char *name;
	size_t      name_len;
	const char *value;
	size_t      value_len;
};
typedef int (*parse_request_fn)(const char *buf, size_t len, const char **method,
                                size_t *method_len, const char **path, size_t *path_len,
                                int *minor_version, struct phr_header *headers, size_t *num_headers,
                                size_t last_len);
GUARD_EXPORT int phr_parse_request(const char *buf, size_t len, const char **method,
                                   size_t *method_len, const char **path, size_t *path_len,
                                   int *minor_version, struct phr_header *headers,
                                   size_t *num_headers, size_t last_len);

static parse_request_fn parse_request;

/* What the header lines of one request came to. */
struct fields {
	struct phr_header *items;
	size_t             n;
	int                minor;
	bool               has_host, has_length, has_coding;
	bool               close, keep_alive;
	const char *connection; /* name of the first Connection line, for the one handed on */
	unsigned    nominated;  /* tokens in Connection besides close and keep-alive */
};

/* Equal to a name in lower case; the names are short, and most differ in length or at once. */
static inline bool is(const char *p, size_t n, const char *lower)
{
	if (strlen(lower) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (token_lower[(unsigned char)p[i]] != (unsigned char)lower[i])
			return false;
	return true;
}

static enum refusal check_length(struct fields *f, const struct phr_header *h)
{
	uint64_t value = 0;

	if (f->has_length || h->value_len == 0)
		return REFUSE_LENGTH;
	f->has_length = true;
	for (size_t i = 0; i < h->value_len; i++) {
		if (h->value[i] < '0' || h->value[i] > '9')
			return REFUSE_LENGTH;
		if (value > UINT64_MAX / 10 - 1)
			return REFUSE_LENGTH;
		value = value * 10 + (uint64_t)(h->value[i] - '0');
	}
	return value > guard.max_body ? REFUSE_BODY : N_REFUSALS;
}

static enum refusal check_coding(struct fields *f, const struct phr_header *h)
{
	if (f->has_coding || f->minor == 0 || !is(h->value, h->value_len, "chunked"))
		return REFUSE_CODING;
	f->has_coding = true;
	return N_REFUSALS;
}

static enum refusal check_host(struct fields *f, const struct phr_header *h)
{
	if (f->has_host || !path_is_authority((struct bw_str){ h->value, h->value_len }))
		return REFUSE_HOST;
	f->has_host = true;
	return N_REFUSALS;
}

/* Calls each token of a comma list; false as soon as one call is. */
static bool each_token(struct phr_header list,
                       bool (*fn)(struct fields *f, const char *p, size_t n), struct fields *f)
{
	const char *p = list.value, *end = p + list.value_len;

	while (p < end) {
		const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;

		while (p < stop && (*p == ' ' || *p == '\t'))
			p++;
		while (stop > p && (stop[-1] == ' ' || stop[-1] == '\t'))
			stop--;
		if (stop > p && !fn(f, p, (size_t)(stop - p)))
			return false;
		p = comma ? comma + 1 : end;
	}
	return true;
}

static bool note_connection(struct fields *f, const char *p, size_t n)
{
	static const char *const end_to_end[] = {
		"host", "content-length", "content-type", "authorization", "cookie", "cache-control"
	};

	if (is(p, n, "close")) {
		f->close = true;
	} else if (is(p, n, "keep-alive")) {
		f->keep_alive = true;
	} else {
		for (size_t i = 0; i < sizeof(end_to_end) / sizeof(end_to_end[0]); i++)
			if (is(p, n, end_to_end[i]))
				return false;
		f->nominated++;
	}
	return true;
}

/* Blanks out the name of every header that Connection nominates; compacted later. */
static bool drop_nominated(struct fields *f, const char *p, size_t n)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->items[i].name_len == n && strncasecmp(f->items[i].name, p, n) == 0)
			f->items[i].name_len = 0;
	return true;
}

/* Looks at one header by the length of its name, so that most cost one switch. *ret_drop: libh2o shall
 * not see it. */
static enum refusal check_field(struct fields *f, const struct phr_header *h, bool *ret_drop)
{
	switch (h->name_len) {
	case 4:
		if (is(h->name, 4, "host"))
			return check_host(f, h);
		break;
	case 6:
		if (!is(h->name, 6, "expect"))
			break;
		*ret_drop = f->minor == 0;
		return f->minor == 0 || is(h->value, h->value_len, "100-continue") ? N_REFUSALS
		                                                                   : REFUSE_EXPECT;
	case 7:
		*ret_drop = is(h->name, 7, "upgrade");
		break;
	case 10:
		if (!is(h->name, 10, "connection"))
			break;
		if (f->connection == NULL)
			f->connection = h->name;
		return each_token(*h, note_connection, f) ? N_REFUSALS : REFUSE_CONNECTION;
	case 14:
		if (is(h->name, 14, "content-length"))
			return check_length(f, h);
		break;
	case 17:
		if (is(h->name, 17, "transfer-encoding"))
			return check_coding(f, h);
		break;
	default:
		break;
	}
	return N_REFUSALS;
}

/* Leaves one Connection line with what libh2o is to do; it understands a single value only. */
static void settle_connection(struct fields *f)
{
	size_t kept = 0;

	if (f->nominated > 0)
		for (size_t i = 0; i < f->n; i++)
			if (is(f->items[i].name, f->items[i].name_len, "connection"))
				each_token(f->items[i], drop_nominated, f);
	for (size_t i = 0; i < f->n; i++) {
		struct phr_header *h = &f->items[i];

		if (h->name_len == 0)
			continue;
		if (is(h->name, h->name_len, "connection")) {
			if (h->name != f->connection || !(f->close || f->keep_alive))
				continue;
			h->value = f->close ? "close" : "keep-alive";
			h->value_len = strlen(h->value);
		}
		f->items[kept++] = *h;
	}
	f->n = kept;
}

static enum refusal check_fields(struct fields *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct phr_header *h = &f->items[i];
		bool               drop = false;
		enum refusal       r;

		if (h->name == NULL)
			return REFUSE_FOLDED;
		if (h->value[h->value_len] != '\r')
			return REFUSE_BARE_LF;
		while (h->value_len > 0 &&
		       (h->value[h->value_len - 1] == ' ' || h->value[h->value_len - 1] == '\t'))
			h->value_len--;
		r = check_field(f, h, &drop);
		if (r != N_REFUSALS)
			return r;
		if (!drop)
			f->items[kept++] = *h;
	}
	f->n = kept;
	if (f->has_length && f->has_coding)
		return REFUSE_BOTH;
	if (!f->has_host && f->minor > 0)
		return REFUSE_HOST;
	if (f->connection != NULL)
		settle_connection(f);
	return N_REFUSALS;
}

static bool is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (token_lower[(unsigned char)p[i]] == 0)
			return false;
	return n > 0;
}

/* A head that libh2o's parser took. n: its length. */
static enum refusal check_head(const char *buf, size_t n, const char *method, size_t method_len,
                               const char *path, size_t path_len, struct fields *f)
{
	if (path_len > guard.max_target)
		return REFUSE_TARGET;
	if (n > guard.max_head)
		return REFUSE_HEAD;
	/* "HTTP/1.x" and the line end follow the target and one blank. */
	if (buf[0] == '\n' || path[path_len + 1 + 8] != '\r' || buf[n - 2] != '\r')
		return REFUSE_BARE_LF;
	if (!is_token(method, method_len))
		return REFUSE_METHOD;
	if (method_len == 7 && memcmp(method, "CONNECT", 7) == 0)
		return REFUSE_CONNECT;
	return check_fields(f);
}

/* A head that is not complete yet: may more of it come? */
static enum refusal check_partial(const char *buf, size_t len)
{
	/* 64: method, blanks and version around the target. */
	if (len > guard.max_target + 64 && memchr(buf + 2, '\n', guard.max_target + 62) == NULL)
		return REFUSE_TARGET;
	return len > guard.max_head ? REFUSE_HEAD : N_REFUSALS;
}

int phr_parse_request(const char *buf, size_t len, const char **method, size_t *method_len,
                      const char **path, size_t *path_len, int *minor_version,
                      struct phr_header *headers, size_t *num_headers, size_t last_len)
{
	size_t       max = *num_headers;
	enum refusal why;
	int          n;

	n = parse_request(buf, len, method, method_len, path, path_len, minor_version, headers,
	                  num_headers, last_len);
	if (n > 0) {
		struct fields f = { .items = headers, .n = *num_headers, .minor = *minor_version };

		why = check_head(buf, (size_t)n, *method, *method_len, *path, *path_len, &f);
		if (why == N_REFUSALS) {
			*num_headers = f.n;
			return n;
		}
	} else {
		why = check_partial(buf, len);
		if (why == N_REFUSALS && n == -2)
			return n;
		if (why == N_REFUSALS)
			why = *num_headers == max ? REFUSE_FIELDS : REFUSE_SYNTAX;
	}
	if (n < 0 || why == REFUSE_METHOD) {
		*method = "GET";
		*method_len = 3;
	}
	*path = answers[why].path;
	*path_len = 1;
	*minor_version = 1;
	*num_headers = 0;
	return n > 0 ? n : (int)len;
}

const struct guard_answer *guard_head_refusal(const char *path)
{
	uintptr_t p = (uintptr_t)path, first = (uintptr_t)answers;

	if (p < first || p >= first + sizeof(answers))
		return NULL;
	return &answers[(p - first) / sizeof(answers[0])];
}

void guard_init(size_t max_head, size_t max_target, uint64_t max_body)
{
	guard.max_head = max_head;
	guard.max_target = max_target;
	guard.max_body = max_body;
	*(void **)&parse_request = dlsym(RTLD_NEXT, "phr_parse_request");
	if (parse_request == NULL || parse_request == phr_parse_request)
		fatalx("guard: libh2o's parser is not found: %s", dlerror());
}
