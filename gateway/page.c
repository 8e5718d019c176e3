/* page.c - the page the server answers with where nobody has a better one: HTML, or problem+json (RFC
 * 9457) if Accept prefers that. It says the status, the text that a servlet gave to send_error, and
 * the request's id; nothing of what happened inside.
 *
 * Owns: nothing. Runs in: the request's fiber, or the loop. Fails with: nothing; too late is too late.
 * Tests: tests/unit/gateway/response_test.c. */
#include "request.h"

#include <string.h>
#include <strings.h>

static const struct {
	int         status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 203, "Non-Authoritative Information" },
	{ 204, "No Content" },
	{ 205, "Reset Content" },
	{ 206, "Partial Content" },
	{ 207, "Multi-Status" },
	{ 300, "Multiple Choices" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 402, "Payment Required" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 407, "Proxy Authentication Required" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 422, "Unprocessable Content" },
	{ 423, "Locked" },
	{ 425, "Too Early" },
	{ 426, "Upgrade Required" },
	{ 428, "Precondition Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 451, "Unavailable For Legal Reasons" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
	{ 508, "Loop Detected" },
	{ 511, "Network Authentication Required" },
};

const char *response_reason(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

/* The quality (0 to 1000) of one element of an Accept list, "type/subtype;q=0.5". */
static unsigned quality(struct bw_str element)
{
	const char *q = NULL;
	unsigned    value = 0, unit = 1000;

	for (size_t i = 0; i + 2 < element.n; i++)
		if (element.p[i] == ';') {
			size_t j = i + 1;

			while (j + 2 < element.n && (element.p[j] == ' ' || element.p[j] == '\t'))
				j++;
			if ((element.p[j] | 0x20) == 'q' && element.p[j + 1] == '=')
				q = element.p + j + 2;
		}
	if (q == NULL)
		return 1000;
	for (; q < element.p + element.n && unit > 0; q++) {
		if (*q == '.')
			continue;
		if (*q < '0' || *q > '9')
			break;
		value += (unsigned)(*q - '0') * unit;
		unit /= 10;
	}
	return value > 1000 ? 1000 : value;
}

static bool is_type(struct bw_str element, const char *type)
{
	size_t n = strlen(type);

	return element.n >= n && strncasecmp(element.p, type, n) == 0 &&
	       (element.n == n || strchr("; \t", element.p[n]) != NULL);
}

/* True if Accept names JSON with a higher quality than HTML; any wildcard counts as HTML. */
static bool prefers_json(const struct bw_req *req)
{
	struct bw_str accept = request_header(req, "accept");
	unsigned      json = 0, html = 0;

	while (accept.n > 0) {
		const char   *comma = memchr(accept.p, ',', accept.n);
		struct bw_str e = { accept.p, comma ? (size_t)(comma - accept.p) : accept.n };
		unsigned      q;

		accept.p += e.n + (comma != NULL);
		accept.n -= e.n + (comma != NULL);
		while (e.n > 0 && (*e.p == ' ' || *e.p == '\t'))
			e.p++, e.n--;
		q = quality(e);
		if (is_type(e, "application/problem+json") || is_type(e, "application/json")) {
			if (q > json)
				json = q;
		} else if (is_type(e, "text/html") || is_type(e, "text/*") || is_type(e, "*/*") ||
		           is_type(e, "application/xhtml+xml")) {
			if (q > html)
				html = q;
		}
	}
	return json > html;
}

static void append_html(struct buf *b, struct bw_str text)
{
	for (size_t i = 0; i < text.n; i++) {
		switch (text.p[i]) {
		case '&':
			buf_append(b, "&amp;", 5);
			break;
		case '<':
			buf_append(b, "&lt;", 4);
			break;
		case '>':
			buf_append(b, "&gt;", 4);
			break;
		case '"':
			buf_append(b, "&quot;", 6);
			break;
		default:
			buf_append(b, text.p + i, 1);
		}
	}
}

static void append_json(struct buf *b, struct bw_str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '"' || c == '\\')
			buf_printf(b, "\\%c", c);
		else if (c < ' ')
			buf_printf(b, "\\u%04x", c);
		else
			buf_append(b, text.p + i, 1);
	}
}

/* The text that a servlet gave to send_error is for the client; nothing else of the error is. */
static void append_page(struct bw_req *req, struct buf *b, int status, bool json)
{
	const char   *reason = response_reason(status);
	struct bw_str text = req->error_status == status ? req->error_text : BW_ABSENT;

	if (json) {
		buf_printf(b, "{\"status\":%d,\"title\":\"%s\"", status, reason);
		if (text.n > 0) {
			buf_printf(b, ",\"detail\":\"");
			append_json(b, text);
			buf_append(b, "\"", 1);
		}
		buf_printf(b, ",\"instance\":\"urn:request:%s\"}\n", req->id_text);
		return;
	}
	buf_printf(b, "<!DOCTYPE html>\n<title>%d %s</title>\n<h1>%d %s</h1>\n", status, reason,
	           status, reason);
	if (text.n > 0) {
		buf_printf(b, "<p>");
		append_html(b, text);
		buf_printf(b, "</p>\n");
	}
	buf_printf(b, "<p>Request %s</p>\n", req->id_text);
}

static bool has_header(const struct bw_req *req, struct bw_str name)
{
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (bw_str_eq(req->res_headers[i].name, name))
			return true;
	return false;
}

void response_builtin_page(struct bw_req *req, int status)
{
	bool       json = prefers_json(req);
	struct buf page;

	if (request_check(req) != BW_OK || req->committed || req->body_only)
		return;
	response_reset_body(req);
	req->status = status;
	response_header(req, "content-type",
	                json ? BW_STR("application/problem+json")
	                     : BW_STR("text/html;charset=utf-8"),
	                true);
	/* What went wrong now may be right the next time (RFC 9111 4.2.2 would let caches guess). */
	if (!has_header(req, BW_STR("cache-control")))
		response_header(req, "cache-control", BW_STR("no-store"), true);
	if (status == 503 && !has_header(req, BW_STR("retry-after")))
		response_header(req, "retry-after", BW_STR("1"), true);
	buf_init(&page);
	append_page(req, &page, status, json);
	response_write(req, buf_data(&page), buf_size(&page));
	buf_done(&page);
}
