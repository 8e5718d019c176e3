/* html.c - a search as a page: the form, what was found, and where to go on. It works without scripts and
 * styles; whoever wants it prettier includes search.json.
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: nothing.
 * Tests: tests/conformance/search. */
#include "answer.h"

/* What the client has chosen beside the words goes along with other words. */
static void put_form(struct out *o, const struct answer *a)
{
	const struct bw_pair *pairs = NULL;
	size_t                n = 0;

	out_puts(o, "<form role=\"search\" method=\"get\">\n<label for=\"q\">Search</label>\n"
	            "<input type=\"search\" id=\"q\" name=\"q\" maxlength=\"1024\" value=\"");
	out_html(o, a->params->search.words);
	out_puts(o, "\">\n");
	(void)bw_req_params(o->req, &pairs, &n); /* they have been read: it cannot fail any more */
	for (size_t i = 0; i < n; i++) {
		if (bw_str_eq(pairs[i].name, BW_STR("q")) ||
		    bw_str_eq(pairs[i].name, BW_STR("cursor")) ||
		    bw_str_eq(pairs[i].name, BW_STR("offset")))
			continue;
		out_puts(o, "<input type=\"hidden\" name=\"");
		out_html(o, pairs[i].name);
		out_puts(o, "\" value=\"");
		out_html(o, pairs[i].value);
		out_puts(o, "\">\n");
	}
	out_puts(o, "<button>Search</button>\n</form>\n");
}

static void put_total(struct out *o, const struct bw_hits *hits)
{
	if (hits->relation == BW_SEARCH_NOT_COUNTED)
		return;
	out_printf(o, "<p role=\"status\">%s%u %s</p>\n",
	           hits->relation == BW_SEARCH_AT_LEAST ? "at least " : "", (unsigned)hits->total,
	           hits->total == 1 ? "result" : "results");
}

static void put_item(struct out *o, const struct bw_hits *hits, size_t i)
{
	const struct bw_hit *hit = &hits->items[i];
	struct bw_str        title = answer_title(hits, i);
	struct out           url = { .req = o->req };
	char                 date[32];

	answer_url(&url, hit->resource);
	answer_date(hits->modified_ms[i], date);
	out_puts(o, "<li><a href=\"");
	out_html(o, (struct bw_str){ url.p, url.n });
	out_puts(o, "\">");
	out_html(o, title.n > 0 ? title : bw_resource_get(hit->resource, BW_RESOURCE_PATH));
	out_printf(o, "</a> <time datetime=\"%s\">%.10s</time>\n", date, date);
	for (size_t k = 0; k < hit->n_highlights; k++) {
		out_puts(o, "<p>");
		out_html(o, hit->highlights[k].value);
		out_puts(o, "</p>\n");
	}
	out_puts(o, "</li>\n");
}

static void put_facets(struct out *o, const struct bw_hits *hits)
{
	for (size_t i = 0; i < hits->n_facets; i++) {
		const struct bw_facet *facet = &hits->facets[i];

		out_puts(o, "<h2>");
		out_html(o, facet->name.n > 0 ? facet->name : BW_STR("type"));
		out_puts(o, "</h2>\n<ul>\n");
		for (size_t k = 0; k < facet->n; k++) {
			out_puts(o, "<li>");
			out_html(o, facet->values[k].value);
			out_printf(o, " (%u)</li>\n", (unsigned)facet->values[k].count);
		}
		out_puts(o, "</ul>\n");
	}
}

static void put_turn(struct out *o, const struct answer *a, struct bw_str cursor, const char *rel,
                     const char *text)
{
	if (cursor.p == NULL)
		return;
	out_printf(o, "<a rel=\"%s\" href=\"?", rel);
	out_html(o, bw_str(a->query));
	out_puts(o, "&amp;cursor=");
	out_html(o, cursor);
	out_printf(o, "\">%s</a>\n", text);
}

static void put_turns(struct out *o, const struct answer *a)
{
	if (a->hits->previous.p == NULL && a->hits->next.p == NULL)
		return;
	out_puts(o, "<nav>\n");
	put_turn(o, a, a->hits->previous, "prev", "Previous");
	put_turn(o, a, a->hits->next, "next", "Next");
	out_puts(o, "</nav>\n");
}

int answer_html(struct out *o, const struct answer *a)
{
	const struct bw_hits *hits = a->hits;

	out_puts(o,
	         "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
	out_puts(o, a->params->search.words.p != NULL ? "Search: " : "Search");
	out_html(o, a->params->search.words);
	out_puts(o, "</title>\n</head>\n<body>\n<h1>Search</h1>\n");
	put_form(o, a);
	if (hits != NULL) {
		put_total(o, hits);
		out_puts(o, hits->n > 0 ? "<ol>\n" : "");
		for (size_t i = 0; i < hits->n; i++)
			put_item(o, hits, i);
		out_puts(o, hits->n > 0 ? "</ol>\n" : "");
		put_facets(o, hits);
		put_turns(o, a);
	}
	out_puts(o, "</body>\n</html>\n");
	return BW_OK;
}
