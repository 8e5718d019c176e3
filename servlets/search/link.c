/* link.c - see link.h. References are relative: the path is the one that was asked for.
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: what setting a header fails
 * with. Tests: tests/conformance/search. */
#include "link.h"

/* Appends; what could end a reference, or a field, too early is encoded. */
static size_t put(char *to, size_t n, const char *p, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (p[i] > ' ' && p[i] <= '~' && strchr("<>\"", p[i]) == NULL)
			to[n++] = p[i];
		else
			n += (size_t)sprintf(to + n, "%%%02X", (unsigned char)p[i]);
	}
	return n;
}

const char *link_query(struct bw_req *req)
{
	struct bw_str left = bw_req_get(req, BW_REQ_QUERY);
	char         *to = bw_req_alloc(req, 3 * left.n + 1);
	size_t        n = 0;

	while (left.n > 0) {
		const char *mark = memchr(left.p, '&', left.n);
		size_t      size = mark != NULL ? (size_t)(mark - left.p) : left.n;

		if (size > 0 && (size < 7 || memcmp(left.p, "cursor=", 7) != 0)) {
			if (n > 0)
				to[n++] = '&';
			n = put(to, n, left.p, size);
		}
		left = (struct bw_str){ left.p + size + (mark != NULL),
			                left.n - size - (mark != NULL) };
	}
	to[n] = '\0';
	return to;
}

/* A cursor needs no escape. */
static void add(char *link, size_t size, const char *query, struct bw_str cursor, const char *rel)
{
	size_t n = strlen(link);

	if (cursor.p != NULL)
		snprintf(link + n, size - n, ", <?%s%scursor=%s>; rel=\"%s\"", query,
		         query[0] != '\0' ? "&" : "", cursor.p, rel);
}

int link_pages(struct bw_req *req, const char *query, struct bw_str previous, struct bw_str next)
{
	size_t size = 3 * strlen(query) + previous.n + next.n + 128;
	char  *link = bw_req_alloc(req, size);

	snprintf(link, size, "<?%s>; rel=\"first\"", query);
	add(link, size, query, previous, "prev");
	add(link, size, query, next, "next");
	return bw_res_set_header(req, "link", bw_str(link));
}
