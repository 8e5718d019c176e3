/* The parameters of a request.
 *
 *    client's query          base (once per request)
 *    urlencoded body    ---> [p=1, r=3]
 *    fields of multipart          |
 *                                 v
 *    query of a forward ---> [p=2, p=1, r=3]     a list of its own per dispatch, made if asked for
 *    query of an include -->  ...                in it; the innermost one is what a servlet sees
 *
 * Owns: nothing; all is in the request's arena. Runs in: the request's fiber. Fails with: see
 * params.h.
 * Tests: tests/unit/gateway/params_test.c, tests/conformance (K, N). */
#include "params.h"

#include "mediatype.h"
#include "multipart.h"
#include "request.h"
#include "urlform.h"

#include <stdlib.h>

struct parameters {
	int          err; /* BW_OK, or what each call returns */
	struct pairs list;
	bool         lacks_fields; /* of a multipart body, which no servlet has taken yet */
};

static struct {
	uint64_t max_params, max_form;
} limits = { 10000, 2u << 20 };

void params_init(uint64_t max_params, uint64_t max_form)
{
	limits.max_params = max_params;
	limits.max_form = max_form;
}

uint64_t params_max_form(void)
{
	return limits.max_form;
}

/* ---- reading the request ---- */

static int add_query(struct bw_req *req, struct bw_str query, struct pairs *to)
{
	if (query.n == 0)
		return BW_OK;
	return urlform_parse(&req->arena, arena_dup(&req->arena, query.p, query.n), query.n,
	                     limits.max_params, to);
}

static int add_form(struct bw_req *req, struct pairs *to)
{
	size_t n = 0, part = 1;
	char  *text;
	int    err = BW_OK;

	if (req->body_length > limits.max_form)
		return BW_EFORMSIZE;
	text = arena_alloc(&req->arena, req->body_length + 1);
	while (err == BW_OK && part > 0 && n < req->body_length) {
		err = request_body_read(req, n, text + n, req->body_length - n, &part);
		n += err == BW_OK ? part : 0;
	}
	text[n] = '\0';
	return err != BW_OK ? err : urlform_parse(&req->arena, text, n, limits.max_params, to);
}

static int add_fields(struct bw_req *req, struct pairs *to)
{
	struct bw_part *const *parts;
	size_t                 n;
	int                    err = multipart_parts(req, &parts, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++) {
		struct bw_str text;

		if (!multipart_text(parts[i], &text))
			continue; /* a file */
		if (to->n >= limits.max_params)
			return BW_EFORMSIZE;
		pairs_add(&req->arena, to, multipart_get(parts[i], BW_PART_NAME), text);
	}
	return err;
}

static int add_body(struct bw_req *req, struct parameters *p)
{
	/* An error page runs as GET; it finds the parameters that the client sent. */
	struct bw_str method = req->sent_method.p ? req->sent_method : req->method;
	struct bw_str type = request_header(req, "content-type");

	if (!bw_str_eq(method, BW_STR("POST")) || req->body_length == 0)
		return BW_OK;
	if (mediatype_is(type, "application/x-www-form-urlencoded"))
		return add_form(req, &p->list);
	if (!mediatype_is(type, "multipart/form-data"))
		return BW_OK;
	/* Without the leave of a servlet, nobody writes files for it; a forward may lead to one
	 * that gives it. */
	p->lacks_fields = !req->upload;
	return p->lacks_fields ? BW_OK : add_fields(req, &p->list);
}

static bool is_complete(const struct bw_req *req, const struct parameters *p)
{
	return p && !(p->lacks_fields && req->upload);
}

/* The client's own, without those of dispatchers. */
static const struct parameters *base_of(struct bw_req *req)
{
	struct parameters *p = req->parameters;

	if (is_complete(req, p))
		return p;
	p = arena_zalloc(&req->arena, sizeof(*p));
	p->err = add_query(req, req->query, &p->list);
	if (p->err == BW_OK)
		p->err = add_body(req, p);
	req->parameters = p;
	return p;
}

/* ---- the queries of dispatchers ---- */

/* What is seen inside the dispatch of q. As deep as dispatches are nested, each of which has far
 * more on the stack than this. */
static const struct parameters *seen_in(struct bw_req *req, struct req_query *q)
{
	const struct parameters *outer;
	struct parameters       *p;

	if (!q)
		return base_of(req);
	if (is_complete(req, q->params))
		return q->params;
	outer = seen_in(req, q->next);
	p = arena_zalloc(&req->arena, sizeof(*p));
	p->lacks_fields = outer->lacks_fields;
	p->err = outer->err != BW_OK ? outer->err : add_query(req, q->query, &p->list);
	for (size_t i = 0; p->err == BW_OK && i < outer->list.n; i++)
		pairs_add(&req->arena, &p->list, outer->list.items[i].name,
		          outer->list.items[i].value);
	q->params = p;
	return p;
}

/* ---- the calls ---- */

static int current(struct bw_req *req, const struct pairs **ret)
{
	const struct parameters *p = seen_in(req, req->extra);

	*ret = &p->list;
	return p->err;
}

int params_get(struct bw_req *req, const char *name, struct bw_str *ret_value)
{
	const struct pairs *list;
	int                 err = current(req, &list);

	if (err == BW_OK)
		*ret_value = pairs_find(list, bw_str(name));
	return err;
}

int params_values(struct bw_req *req, const char *name, const struct bw_str **ret_values,
                  size_t *ret_n)
{
	struct bw_str       key = bw_str(name), *values;
	const struct pairs *list;
	size_t              n = 0;
	int                 err = current(req, &list);

	if (err != BW_OK)
		return err;
	for (size_t i = 0; i < list->n; i++)
		n += bw_str_eq(list->items[i].name, key);
	values = arena_alloc(&req->arena, (n + 1) * sizeof(*values));
	*ret_values = values;
	*ret_n = n;
	for (size_t i = 0; i < list->n; i++)
		if (bw_str_eq(list->items[i].name, key))
			*values++ = list->items[i].value;
	return BW_OK;
}

static int by_name(const void *a, const void *b)
{
	const struct bw_pair *const *x = a, *const *y = b;
	const struct bw_str          p = (*x)->name, q = (*y)->name;
	int                          order = memcmp(p.p, q.p, p.n < q.n ? p.n : q.n);

	if (order == 0 && p.n != q.n)
		order = p.n < q.n ? -1 : 1;
	return order != 0 ? order : *x < *y ? -1 : *x > *y; /* those of one name stay in order */
}

static int by_place(const void *a, const void *b)
{
	const struct bw_pair *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sorted, so that ten thousand names cost no more than they must: once to find the first of
 * each, once to put these back in order. */
int params_names(struct bw_req *req, const struct bw_str **ret_names, size_t *ret_n)
{
	const struct bw_pair **sorted;
	struct bw_str         *names;
	const struct pairs    *list;
	size_t                 n = 0;
	int                    err = current(req, &list);

	if (err != BW_OK)
		return err;
	sorted = arena_alloc(&req->arena, (list->n + 1) * sizeof(*sorted));
	for (size_t i = 0; i < list->n; i++)
		sorted[i] = &list->items[i];
	qsort(sorted, list->n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < list->n; i++)
		if (i == 0 || !bw_str_eq(sorted[i]->name, sorted[n - 1]->name))
			sorted[n++] = sorted[i];
	qsort(sorted, n, sizeof(*sorted), by_place);
	names = arena_alloc(&req->arena, (n + 1) * sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = sorted[i]->name;
	*ret_names = names;
	*ret_n = n;
	return BW_OK;
}

int params_all(struct bw_req *req, const struct bw_pair **ret_params, size_t *ret_n)
{
	const struct pairs *list;
	int                 err = current(req, &list);

	if (err != BW_OK)
		return err;
	*ret_params = list->items;
	*ret_n = list->n;
	return BW_OK;
}
