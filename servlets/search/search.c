/* search.c - searches over HTTP.
 *
 *    GET /search.json?q=...           as JSON (answer.c)
 *    GET /search.html?q=...           as a page with a form (html.c); without words the form alone
 *    GET /search?q=...                one of them, as Accept says
 *    GET /search.suggest.json?q=...   titles in which the words begin words
 *
 * and the same at every resource of type boardwalk/search, which may say defaults and limits (settings.c).
 * It reads as the user who asks: what he may not read is neither found nor counted. The parameters are
 * params.c's; docs/query.md explains them. */
#include "answer.h"
#include "json.h"
#include "link.h"
#include <inttypes.h>
#include <stdio.h>

enum form { FORM_JSON, FORM_HTML, FORM_SUGGESTIONS, FORM_NONE };

#define CHECK(call) \
	do { \
		int err_ = (call); \
		if (err_ != BW_OK) \
			return err_; \
	} while (0)

/* Without an extension Accept decides, and caches have to know. */
static int form_of(struct bw_req *req, enum form *ret)
{
	struct bw_str extension = bw_req_get(req, BW_REQ_EXTENSION);
	struct bw_str accept = bw_req_header(req, "accept");
	bool          suggest = bw_str_eq(bw_req_get(req, BW_REQ_SELECTORS), BW_STR("suggest"));

	*ret = FORM_NONE;
	if (bw_str_eq(extension, BW_STR("json")))
		*ret = suggest ? FORM_SUGGESTIONS : FORM_JSON;
	else if (suggest)
		*ret = FORM_NONE;
	else if (bw_str_eq(extension, BW_STR("html")))
		*ret = FORM_HTML;
	else if (extension.p == NULL) {
		*ret = accept.p != NULL && strstr(accept.p, "text/html") != NULL ? FORM_HTML
		                                                                 : FORM_JSON;
		return bw_res_set_header(req, "vary", BW_STR("Accept"));
	}
	return BW_OK;
}

/* ---- mistakes ---- */

/* RFC 9457. Whoever asked for a page gets one. */
static int refuse(struct bw_req *req, enum form form, int status, const char *title,
                  struct bw_str why)
{
	struct out o = { .req = req };

	CHECK(bw_res_set_header(req, "cache-control", BW_STR("no-store")));
	if (status == 503)
		CHECK(bw_res_set_header(req, "retry-after", BW_STR("1")));
	if (form == FORM_HTML)
		return bw_res_send_error(req, status, why.p);
	CHECK(bw_res_status(req, status));
	CHECK(bw_res_content_type(req, "application/problem+json"));
	out_printf(&o,
	           "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":", title,
	           status);
	json_string(&o, why);
	out_puts(&o, ",\"instance\":\"urn:request:");
	out_puts(&o, bw_req_get(req, BW_REQ_ID).p);
	out_puts(&o, "\"}");
	return bw_res_write(req, o.p, o.n);
}

static int mistake(struct bw_req *req, enum form form, struct bw_str why)
{
	return refuse(req, form, 400, "Bad Request", why);
}

/* ---- answers ---- */

/* FNV-1a: a tag tells apart, it does not prove. Weak, since a proxy may compress what it is of. */
static void tag_of(const struct out *o, char text[24])
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < o->n; i++)
		h = (h ^ (unsigned char)o->p[i]) * 0x100000001b3u;
	snprintf(text, 24, "W/\"%016" PRIx64 "\"", h);
}

/* Comparison is weak (RFC 9110 13.1.2): what stands between the quotes counts. */
static bool is_known(struct bw_req *req, const char *tag)
{
	struct bw_str tags = bw_req_header(req, "if-none-match");

	return tags.p != NULL && (bw_str_eq(tags, BW_STR("*")) || strstr(tags.p, tag + 2) != NULL);
}

static int send(struct bw_req *req, const struct out *o, const char *type)
{
	char tag[24];

	tag_of(o, tag);
	CHECK(bw_res_set_header(req, "cache-control", BW_STR("private, no-cache")));
	CHECK(bw_res_set_header(req, "etag", bw_str(tag)));
	if (is_known(req, tag))
		return bw_res_status(req, 304);
	CHECK(bw_res_content_type(req, type));
	return bw_res_write(req, o->p, o->n);
}

static int put_answer(struct bw_req *req, enum form form, const struct params *p,
                      const struct bw_hits *hits)
{
	struct out    o = { .req = req };
	const char   *query = link_query(req);
	struct answer a = { p, hits, query };

	if (form == FORM_SUGGESTIONS) {
		CHECK(answer_suggestions(&o, hits));
		return send(req, &o, "application/json");
	}
	if (hits != NULL)
		CHECK(link_pages(req, query, hits->previous, hits->next));
	if (form == FORM_JSON) {
		CHECK(answer_json(&o, &a));
		return send(req, &o, "application/json");
	}
	CHECK(answer_html(&o, &a));
	return send(req, &o, "text/html;charset=utf-8");
}

static int ask(struct bw_req *req, enum form form, const struct params *p,
               const struct bw_hits **ret)
{
	struct bw_resolver *resolver;

	CHECK(bw_req_resolver(req, &resolver));
	return form == FORM_SUGGESTIONS ? bw_resolver_suggest(resolver, &p->search, ret)
	                                : bw_resolver_search(resolver, &p->search, ret);
}

static int get(void *self, struct bw_req *req)
{
	struct settings       settings;
	struct params         p;
	const struct bw_hits *hits = NULL;
	const char           *why = NULL;
	enum form             form;
	int                   err;

	(void)self;
	CHECK(form_of(req, &form));
	if (form == FORM_NONE)
		return bw_res_send_error(req, 404, NULL);
	CHECK(settings_read(req, &settings));
	err = params_read(req, &settings, form == FORM_SUGGESTIONS, &p, &why);
	if (err == BW_DECLINED)
		return mistake(req, form, bw_str(why));
	CHECK(err);
	if (form == FORM_HTML && !params_ask(&p))
		return put_answer(req, form, &p, NULL);
	if (form == FORM_SUGGESTIONS && p.search.words.p == NULL)
		return mistake(req, form, BW_STR("nothing to search for"));
	err = ask(req, form, &p, &hits);
	if (err == BW_ESYNTAX && hits != NULL)
		return mistake(req, form, hits->error);
	if (err == BW_EBUSY)
		return refuse(req, form, 503, "Service Unavailable",
		              BW_STR("too many searches, or this one took too long"));
	CHECK(err);
	return put_answer(req, form, &p, hits);
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
		                          BW_P_STRINGS(BW_SLING_EXTENSIONS, "json", "html"));
	return err;
}

BW_BUNDLE("boardwalk.search", "0.1.0", start, NULL);
