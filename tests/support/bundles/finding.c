/* finding.c - a bundle for system tests of bw_resolver_query and bw_resolver_find_by_type: POST /finding, for whom
 * its credentials name. The body is a statement, or "type TYPE [PATH]". Answers with the paths of all pages
 * of ?limit=N items, a line each, with the property ?show=NAME behind; or "error POSITION REASON". And
 * "set PATH NAME TEXT" commits a property, "is PATH TYPE" says yes or no. */
#include <boardwalk/boardwalk.h>
#include <boardwalk/form.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BODY 65536u

struct question {
	struct bw_str text, type, path, show;
	uint32_t      limit;
};

static int read_body(struct bw_req *req, struct bw_str *ret)
{
	char  *text = bw_req_alloc(req, MAX_BODY + 1);
	size_t at = 0, n = 1;
	int    err = BW_OK;

	while (err == BW_OK && n > 0 && at < MAX_BODY) {
		err = bw_req_body_read(req, at, text + at, MAX_BODY - at, &n);
		at += err == BW_OK ? n : 0;
	}
	text[at] = '\0';
	*ret = (struct bw_str){ text, at };
	return err;
}

static int read_question(struct bw_req *req, struct question *ret)
{
	struct bw_str limit;
	char         *blank;
	int           err;

	*ret = (struct question){ .limit = 10 };
	if ((err = read_body(req, &ret->text)) != BW_OK ||
	    (err = bw_req_param(req, "limit", &limit)) != BW_OK ||
	    (err = bw_req_param(req, "show", &ret->show)) != BW_OK)
		return err;
	if (limit.p != NULL)
		ret->limit = (uint32_t)strtoul(limit.p, NULL, 10);
	if (strncmp(ret->text.p, "type ", 5) == 0) {
		ret->type = bw_str(ret->text.p + 5);
		blank = strchr(ret->type.p, ' ');
		if (blank != NULL) {
			ret->path = bw_str(blank + 1);
			ret->type.n = (size_t)(blank - ret->type.p);
		}
	}
	return BW_OK;
}

static int ask(struct bw_resolver *r, const struct question *q, struct bw_str cursor,
               const struct bw_hits **ret)
{
	return q->type.p != NULL
	               ? bw_resolver_find_by_type(r, q->type, q->path, cursor, q->limit, ret)
	               : bw_resolver_query(r, q->text, cursor, q->limit, ret);
}

static int tell(struct bw_req *req, const struct bw_hit *hit, struct bw_str show)
{
	struct bw_str value = BW_STR("-");
	int           err = BW_OK;

	if (show.p != NULL)
		err = bw_resource_property(hit->resource, show.p, 0, NULL, &value);
	if (err != BW_OK && err != BW_ENOTFOUND)
		return err;
	return bw_res_printf(req, "%s%s%s\n", bw_resource_get(hit->resource, BW_RESOURCE_PATH).p,
	                     show.p != NULL ? " " : "", show.p != NULL ? value.p : "");
}

/* Cuts the next word off. */
static struct bw_str word(char **text)
{
	char *start = *text, *blank = strchr(start, ' ');

	*text = blank != NULL ? blank + 1 : start + strlen(start);
	if (blank != NULL)
		*blank = '\0';
	return bw_str(start);
}

static int set(struct bw_req *req, struct bw_resolver *r, char *words)
{
	struct bw_str   path = word(&words), name = word(&words);
	struct bw_value value = BW_V_STRING(bw_str(words));
	int             err = bw_resolver_set(r, path, name.p, &value);

	if (err == BW_OK)
		err = bw_resolver_commit(r);
	return err == BW_OK ? bw_res_status(req, 204) : err;
}

static int is(struct bw_req *req, struct bw_resolver *r, char *words)
{
	struct bw_resource *res;
	struct bw_str       path = word(&words);
	bool                is_it = false;
	int                 err = bw_resolver_get(r, path, &res);

	if (err == BW_OK)
		err = bw_resource_is_type(res, bw_str(words), &is_it);
	return err == BW_OK ? bw_res_puts(req, is_it ? "yes\n" : "no\n") : err;
}

static int post(void *self, struct bw_req *req)
{
	struct question       q;
	struct bw_resolver   *r;
	const struct bw_hits *hits = NULL;
	struct bw_str         cursor = BW_ABSENT;
	int                   err;

	(void)self;
	if ((err = read_question(req, &q)) != BW_OK || (err = bw_req_resolver(req, &r)) != BW_OK)
		return err;
	if (strncmp(q.text.p, "set ", 4) == 0)
		return set(req, r, (char *)q.text.p + 4);
	if (strncmp(q.text.p, "is ", 3) == 0)
		return is(req, r, (char *)q.text.p + 3);
	do {
		err = ask(r, &q, cursor, &hits);
		if (err == BW_ESYNTAX && hits != NULL)
			return bw_res_printf(req, "error %zu %s\n", hits->error_position,
			                     hits->error.p);
		for (size_t i = 0; err == BW_OK && i < hits->n; i++)
			err = tell(req, &hits->items[i], q.show);
		cursor = err == BW_OK ? hits->next : BW_ABSENT;
	} while (cursor.p != NULL);
	return err;
}

static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };
static const struct bw_servlet        finding = { .size = sizeof(finding), .post = post };

static int start(struct bw_bundle *self)
{
	int err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "finding"),
	                              BW_P_STRING(BW_CONTEXT_PATH, "/finding"));

	if (err == BW_OK)
		err = bw_register_servlet(self, &finding, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "finding"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/*"));
	return err;
}

BW_BUNDLE("test.finding", "1.0.0", start, NULL);
