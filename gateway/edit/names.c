/* names.c - names in their expanded form, {uri}local (JCR 2.0 section 3.2.5.1), as they are stored: with the
 * prefix that is registered for the namespace.
 *
 * Here and not in repo, so that what is pending is found under the name that it is going to have, and
 * judged by it. A resolver asks once for each namespace.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo. Fails with:
 * BW_ECONTENT, noted, and as reading does. Tests: tests/conformance/resolver/edit.rows. */
#include "edit.h"
#include "peers/ask.h"
#include "request.h"

struct edit_prefix {
	struct edit_prefix *next; /* of the same resolver */
	struct bw_str       uri, prefix;
};

/* What is in the braces, if they are such: nothing, or something with a colon. Others belong to the
 * name. */
static bool is_expanded(struct bw_str name, struct bw_str *ret_uri)
{
	const char *end = name.n > 1 && name.p[0] == '{' ? memchr(name.p, '}', name.n) : NULL;

	if (!end)
		return false;
	*ret_uri = (struct bw_str){ name.p + 1, (size_t)(end - name.p) - 1 };
	return ret_uri->n == 0 ||
	       (memchr(ret_uri->p, ':', ret_uri->n) && !memchr(ret_uri->p, '{', ret_uri->n));
}

static int find_prefix(struct bw_resolver *r, struct bw_str path, struct bw_str uri,
                       struct bw_str *ret)
{
	struct edit_prefix *p = r->prefixes;
	int                 err;

	while (p && !bw_str_eq(p->uri, uri))
		p = p->next;
	if (p) {
		*ret = p->prefix;
		return BW_OK;
	}
	err = ask_namespace(r, uri, ret);
	if (err == BW_ENOTFOUND)
		return edit_fail(r, BW_ECONTENT, path, "namespace not registered: \"%.*s\"",
		                 EDIT_TEXT(uri));
	if (err != BW_OK)
		return err;
	p = arena_alloc(&r->req->arena, sizeof(*p));
	*p = (struct edit_prefix){ r->prefixes, request_dup(r->req, uri), *ret };
	r->prefixes = p;
	return BW_OK;
}

int edit_qualify(struct bw_resolver *r, struct bw_str path, struct bw_str *name)
{
	struct bw_str uri, local, prefix = BW_ABSENT;
	char         *p;
	int           err;

	if (!is_expanded(*name, &uri))
		return BW_OK;
	local = (struct bw_str){ uri.p + uri.n + 1, name->n - uri.n - 2 };
	err = uri.n > 0 ? find_prefix(r, path, uri, &prefix) : BW_OK;
	if (err != BW_OK)
		return err;
	p = arena_printf(edit_space(r)->arena, "%.*s%s%.*s", (int)prefix.n,
	                 prefix.n > 0 ? prefix.p : "", prefix.n > 0 ? ":" : "", (int)local.n,
	                 local.p);
	*name = bw_str(p);
	return BW_OK;
}
