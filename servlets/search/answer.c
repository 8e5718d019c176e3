/* answer.c - a search as JSON:
 *
 *    {"items":[{"path","url","type","title","modified","score","highlights":{"title":["..."]},
 *      "properties":{}}],"total":{"value":42,"relation":"eq"},"facets":{"type":[{"value","count"}]},
 *      "next":"..."}
 *
 * and suggestions: {"suggestions":[{"value","count"}]}. What an item does not have is left out; a page's
 * title and properties may be those of its jcr:content.
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: what reading properties
 * fails with. Tests: tests/conformance/search. */
#include "answer.h"
#include "json.h"
#include <stdio.h>
#include <time.h>

/* ---- what both forms tell ---- */

static struct bw_str first_of(struct bw_resource *res)
{
	struct bw_str text;

	if (res != NULL && (bw_resource_property(res, "jcr:title", 0, NULL, &text) == BW_OK ||
	                    bw_resource_property(res, "title", 0, NULL, &text) == BW_OK))
		return text;
	return BW_ABSENT;
}

struct bw_str answer_title(const struct bw_hits *hits, size_t i)
{
	struct bw_str own = first_of(hits->items[i].resource);

	return own.p != NULL ? own : first_of(hits->contents[i]);
}

void answer_url(struct out *o, struct bw_resource *res)
{
	out_path(o, bw_resource_get(res, BW_RESOURCE_PATH));
	if (!bw_str_eq(bw_resource_get(res, BW_RESOURCE_PRIMARY_TYPE), BW_STR("nt:file")))
		out_puts(o, ".html");
}

void answer_date(int64_t ms, char text[32])
{
	time_t    s = (time_t)(ms / 1000 - (ms % 1000 < 0));
	struct tm tm;
	size_t    n;

	gmtime_r(&s, &tm);
	n = strftime(text, 24, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, 32 - n, ".%03uZ", (unsigned)(ms - (int64_t)s * 1000) % 1000);
}

/* ---- items ---- */

static void put_member(struct out *o, const char *name, struct bw_str value)
{
	if (value.p == NULL)
		return;
	out_printf(o, ",\"%s\":", name);
	json_string(o, value);
}

static void put_url(struct out *o, struct bw_resource *res)
{
	struct out url = { .req = o->req };

	answer_url(&url, res);
	put_member(o, "url", (struct bw_str){ url.p, url.n });
}

static void put_highlights(struct out *o, const struct bw_hit *hit)
{
	out_puts(o, ",\"highlights\":{");
	for (size_t i = 0; i < hit->n_highlights; i++) {
		out_puts(o, i > 0 ? "," : "");
		json_string(o, hit->highlights[i].name);
		out_puts(o, ":[");
		json_marked(o, hit->highlights[i].value);
		out_puts(o, "]");
	}
	out_puts(o, "}");
}

/* A name of the client's is part of a list: NUL-terminated. */
static const char *field_name(struct bw_req *req, struct bw_str name)
{
	char *text = bw_req_alloc(req, name.n + 1);

	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	return text;
}

/* Those of the names that res has and, if it is the second to be asked, first has not. */
static int put_some(struct out *o, struct bw_resource *res, struct bw_resource *first,
                    const struct bw_str *names, size_t n, bool *any)
{
	struct bw_values values;

	for (size_t i = 0; i < n; i++) {
		const char *name = field_name(o->req, names[i]);
		int         err = bw_resource_values(res, name, &values);

		if (err == BW_OK && first != NULL &&
		    bw_resource_values(first, name, &(struct bw_values){ 0 }) == BW_OK)
			continue;
		if (err == BW_ENOTFOUND)
			continue;
		if (err != BW_OK)
			return err;
		out_puts(o, *any ? "," : "");
		*any = true;
		json_string(o, names[i]);
		out_puts(o, ":");
		json_values(o, &values);
	}
	return BW_OK;
}

static int put_properties(struct out *o, const struct params *p, struct bw_resource *res,
                          struct bw_resource *content)
{
	struct bw_resource  *sources[] = { res, content };
	const struct bw_str *names = p->fields;
	size_t               n = p->n_fields;
	bool                 any = false;
	int                  err = BW_OK;

	out_puts(o, ",\"properties\":{");
	for (size_t i = 0; err == BW_OK && i < 2 && sources[i] != NULL; i++) {
		if (p->all_fields)
			err = bw_resource_property_names(sources[i], &names, &n);
		if (err == BW_OK)
			err = put_some(o, sources[i], i > 0 ? res : NULL, names, n, &any);
	}
	out_puts(o, "}");
	return err;
}

static int put_item(struct out *o, const struct answer *a, size_t i)
{
	const struct bw_hit *hit = &a->hits->items[i];
	struct bw_resource  *res = hit->resource;
	char                 date[32];
	int                  err = BW_OK;

	answer_date(a->hits->modified_ms[i], date);
	out_puts(o, "{\"path\":");
	json_string(o, bw_resource_get(res, BW_RESOURCE_PATH));
	put_url(o, res);
	put_member(o, "type", bw_resource_get(res, BW_RESOURCE_TYPE));
	put_member(o, "title", answer_title(a->hits, i));
	put_member(o, "modified", bw_str(date));
	if (a->params->search.words.p != NULL)
		out_printf(o, ",\"score\":%.6f", hit->score);
	if (a->params->search.highlight)
		put_highlights(o, hit);
	if (a->params->n_fields > 0 || a->params->all_fields)
		err = put_properties(o, a->params, res, a->hits->contents[i]);
	out_puts(o, "}");
	return err;
}

/* ---- the whole ---- */

static void put_values(struct out *o, const struct bw_facet *facet)
{
	out_puts(o, "[");
	for (size_t k = 0; k < facet->n; k++) {
		out_puts(o, k > 0 ? ",{\"value\":" : "{\"value\":");
		json_string(o, facet->values[k].value);
		out_printf(o, ",\"count\":%u}", (unsigned)facet->values[k].count);
	}
	out_puts(o, "]");
}

static void put_facets(struct out *o, const struct bw_hits *hits)
{
	out_puts(o, ",\"facets\":{");
	for (size_t i = 0; i < hits->n_facets; i++) {
		out_puts(o, i > 0 ? "," : "");
		json_string(o, hits->facets[i].name.n > 0 ? hits->facets[i].name : BW_STR("type"));
		out_puts(o, ":");
		put_values(o, &hits->facets[i]);
	}
	out_puts(o, "}");
}

int answer_json(struct out *o, const struct answer *a)
{
	const struct bw_hits *hits = a->hits;
	int                   err = BW_OK;

	out_puts(o, "{\"items\":[");
	for (size_t i = 0; err == BW_OK && i < hits->n; i++) {
		out_puts(o, i > 0 ? "," : "");
		err = put_item(o, a, i);
	}
	out_puts(o, "]");
	if (hits->relation != BW_SEARCH_NOT_COUNTED)
		out_printf(o, ",\"total\":{\"value\":%u,\"relation\":\"%s\"}",
		           (unsigned)hits->total,
		           hits->relation == BW_SEARCH_EXACTLY ? "eq" : "gte");
	if (hits->n_facets > 0)
		put_facets(o, hits);
	if (a->params->clamped)
		out_printf(o, ",\"limit\":%u", (unsigned)a->params->search.limit);
	put_member(o, "next", hits->next);
	out_puts(o, "}");
	return err;
}

/* Always one facet: the titles. */
int answer_suggestions(struct out *o, const struct bw_hits *hits)
{
	out_puts(o, "{\"suggestions\":");
	put_values(o, &hits->facets[0]);
	out_puts(o, "}");
	return BW_OK;
}
