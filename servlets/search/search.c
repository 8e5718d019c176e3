/* search.c - a search over HTTP: GET /search.json?q=..., answered as JSON.
 *
 *    {"items":[{"path","url","type","title","score","modified","highlights":{"title":["..."]},
 *      "properties":{}}],"total":{"value":42,"relation":"eq"},"facets":{"type":[{"value","count"}]},
 *      "next":"..."}
 *
 * It reads as the user who asks: what he may not read is neither found nor counted. The parameters are
 * params.c's; docs/query.md explains them. */
#include "json.h"
#include "params.h"
#include <stdio.h>

#define CHECK(call) \
	do { \
		int err_ = (call); \
		if (err_ != BW_OK) \
			return err_; \
	} while (0)

/* RFC 9457. */
static int refuse(struct bw_req *req, struct bw_str why)
{
	CHECK(bw_res_status(req, 400));
	CHECK(bw_res_content_type(req, "application/problem+json"));
	CHECK(bw_res_puts(req, "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
	                       "\"detail\":"));
	CHECK(json_string(req, why));
	return bw_res_puts(req, "}");
}

/* ---- items ---- */

static int put_member(struct bw_req *req, const char *name, struct bw_str value)
{
	if (value.p == NULL)
		return BW_OK;
	CHECK(bw_res_printf(req, ",\"%s\":", name));
	return json_string(req, value);
}

static struct bw_str first_of(struct bw_resource *res, const char *name, const char *other)
{
	struct bw_str text;

	if (bw_resource_property(res, name, 0, NULL, &text) == BW_OK ||
	    (other != NULL && bw_resource_property(res, other, 0, NULL, &text) == BW_OK))
		return text;
	return BW_ABSENT;
}

/* Highlights of one property follow each other. */
static int put_highlights(struct bw_req *req, const struct bw_hit *hit)
{
	CHECK(bw_res_puts(req, ",\"highlights\":{"));
	for (size_t i = 0; i < hit->n_highlights; i++) {
		CHECK(bw_res_puts(req, i > 0 ? "," : ""));
		CHECK(json_string(req, hit->highlights[i].name));
		CHECK(bw_res_puts(req, ":["));
		CHECK(json_marked(req, hit->highlights[i].value));
		CHECK(bw_res_puts(req, "]"));
	}
	return bw_res_puts(req, "}");
}

/* A name of the client's is part of a list: NUL-terminated. */
static const char *field_name(struct bw_req *req, struct bw_str name)
{
	char *text = bw_req_alloc(req, name.n + 1);

	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return text;
}

/* Those that were asked for and are there. */
static int put_properties(struct bw_req *req, struct bw_resource *res, const struct params *p)
{
	const struct bw_str *names = p->fields;
	struct bw_values     values;
	size_t               n = p->n_fields, told = 0;

	if (p->all_fields)
		CHECK(bw_resource_property_names(res, &names, &n));
	CHECK(bw_res_puts(req, ",\"properties\":{"));
	for (size_t i = 0; i < n; i++) {
		int err = bw_resource_values(res, field_name(req, names[i]), &values);

		if (err == BW_ENOTFOUND)
			continue;
		CHECK(err);
		CHECK(bw_res_puts(req, told++ > 0 ? "," : ""));
		CHECK(json_string(req, names[i]));
		CHECK(bw_res_puts(req, ":"));
		CHECK(json_values(req, &values));
	}
	return bw_res_puts(req, "}");
}

static int put_item(struct bw_req *req, const struct bw_hit *hit, const struct params *p)
{
	const struct bw_search *search = &p->search;
	struct bw_resource     *res = hit->resource;
	struct bw_str           path = bw_resource_get(res, BW_RESOURCE_PATH);

	CHECK(bw_res_puts(req, "{\"path\":"));
	CHECK(json_string(req, path));
	CHECK(put_member(req, "url", path));
	CHECK(put_member(req, "type", bw_resource_get(res, BW_RESOURCE_TYPE)));
	CHECK(put_member(req, "title", first_of(res, "jcr:title", "title")));
	CHECK(put_member(req, "modified", first_of(res, "jcr:lastModified", NULL)));
	if (search->words.p != NULL)
		CHECK(bw_res_printf(req, ",\"score\":%.6f", hit->score));
	if (search->highlight)
		CHECK(put_highlights(req, hit));
	if (p->n_fields > 0 || p->all_fields)
		CHECK(put_properties(req, res, p));
	return bw_res_puts(req, "}");
}

/* ---- the answer ---- */

static int put_facets(struct bw_req *req, const struct bw_hits *hits)
{
	CHECK(bw_res_puts(req, ",\"facets\":{"));
	for (size_t i = 0; i < hits->n_facets; i++) {
		const struct bw_facet *facet = &hits->facets[i];

		CHECK(bw_res_puts(req, i > 0 ? "," : ""));
		CHECK(json_string(req, facet->name.n > 0 ? facet->name : BW_STR("type")));
		CHECK(bw_res_puts(req, ":["));
		for (size_t k = 0; k < facet->n; k++) {
			CHECK(bw_res_puts(req, k > 0 ? ",{\"value\":" : "{\"value\":"));
			CHECK(json_string(req, facet->values[k].value));
			CHECK(bw_res_printf(req, ",\"count\":%u}",
			                    (unsigned)facet->values[k].count));
		}
		CHECK(bw_res_puts(req, "]"));
	}
	return bw_res_puts(req, "}");
}

static int put_answer(struct bw_req *req, const struct bw_hits *hits, const struct params *p)
{
	CHECK(bw_res_content_type(req, "application/json"));
	CHECK(bw_res_puts(req, "{\"items\":["));
	for (size_t i = 0; i < hits->n; i++) {
		CHECK(bw_res_puts(req, i > 0 ? "," : ""));
		CHECK(put_item(req, &hits->items[i], p));
	}
	CHECK(bw_res_puts(req, "]"));
	if (hits->relation != BW_SEARCH_NOT_COUNTED)
		CHECK(bw_res_printf(req, ",\"total\":{\"value\":%u,\"relation\":\"%s\"}",
		                    (unsigned)hits->total,
		                    hits->relation == BW_SEARCH_EXACTLY ? "eq" : "gte"));
	if (hits->n_facets > 0)
		CHECK(put_facets(req, hits));
	if (p->clamped)
		CHECK(bw_res_printf(req, ",\"limit\":%u", (unsigned)p->search.limit));
	CHECK(put_member(req, "next", hits->next));
	return bw_res_puts(req, "}");
}

/* ---- where the next page is (RFC 8288) ---- */

/* The query as it came, without its cursor; a cursor needs no escape. NUL-terminated. */
static char *query_without_cursor(struct bw_req *req, size_t room, size_t *ret_n)
{
	struct bw_str left = bw_req_get(req, BW_REQ_QUERY);
	char         *to = bw_req_alloc(req, left.n + room);
	size_t        n = 0;

	while (left.n > 0) {
		const char *mark = memchr(left.p, '&', left.n);
		size_t      size = mark != NULL ? (size_t)(mark - left.p) : left.n;

		if (size > 0 && (size < 7 || memcmp(left.p, "cursor=", 7) != 0)) {
			if (n > 0)
				to[n++] = '&';
			memcpy(to + n, left.p, size);
			n += size;
		}
		left = (struct bw_str){ left.p + size + (mark != NULL),
			                left.n - size - (mark != NULL) };
	}
	to[n] = '\0';
	*ret_n = n;
	return to;
}

/* Relative: the path is the one that was asked for. */
static int put_link(struct bw_req *req, struct bw_str next)
{
	size_t n;
	char  *query = query_without_cursor(req, 1, &n);
	size_t size = 2 * n + next.n + 64;
	char  *link = bw_req_alloc(req, size);

	/* What could end the reference too early is not in a valid query; a header takes the rest. */
	if (strpbrk(query, "<>\" ") != NULL)
		return BW_OK;
	if (next.p != NULL)
		snprintf(link, size, "<?%s>; rel=\"first\", <?%s&cursor=%s>; rel=\"next\"", query,
		         query, next.p);
	else
		snprintf(link, size, "<?%s>; rel=\"first\"", query);
	return bw_res_set_header(req, "link", bw_str(link));
}

static int get(void *self, struct bw_req *req)
{
	struct params         p;
	struct bw_resolver   *resolver;
	const struct bw_hits *hits = NULL;
	const char           *why = NULL;
	int                   err = params_read(req, &p, &why);

	(void)self;
	if (err == BW_DECLINED)
		return refuse(req, bw_str(why));
	if (err == BW_OK)
		err = bw_req_resolver(req, &resolver);
	if (err == BW_OK)
		err = bw_resolver_search(resolver, &p.search, &hits);
	if (err == BW_ESYNTAX && hits != NULL)
		return refuse(req, hits->error);
	if (err != BW_OK)
		return err;
	CHECK(bw_res_set_header(req, "cache-control", BW_STR("private, no-cache")));
	CHECK(put_link(req, hits->next));
	return put_answer(req, hits, &p);
}

static const struct bw_servlet search = {
	.size = sizeof(search),
	.get = get,
	.info = "finds resources: words, paths, types, properties"
};

static int start(struct bw_bundle *self)
{
	int err = bw_register_servlet(self, &search, NULL, BW_P_STRING(BW_SLING_PATHS, "/search"));

	if (err == BW_OK)
		err = bw_register_servlet(self, &search, NULL,
		                          BW_P_STRING(BW_SLING_TYPES, "boardwalk/search"),
		                          BW_P_STRING(BW_SLING_EXTENSIONS, "json"));
	return err;
}

BW_BUNDLE("boardwalk.search", "0.1.0", start, NULL);
