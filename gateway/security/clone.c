/* clone.c - a resolver once more: a login of its own for whom the original acts, or for somebody else.
 *
 * The gateway can prolong nothing: the guest and service users are asked for anew, a user's credentials are
 * read anew from the request, or given by the servlet, and auth verifies them again.
 *
 * Owns: nothing; the clone lives in the request. Credentials are wiped. Runs in: a request's fiber; waits
 * for auth. Fails with: BW_ELOGIN, BW_ESTATE, what auth says.
 * Tests: tests/system/resolver_test.c with the rows of tests/conformance/resolver. */
#include "edit/edit.h"
#include "peers/ask.h"
#include "request.h"
#include "security/handler.h"
#include "security/terms.h"

/* What a login is known by in other places, and must not be handed in here or told (Apache Sling,
 * ResourceProvider). */
static bool is_secret(struct bw_str name)
{
	static const struct bw_str secrets[] = {
		BW_STR("sling.service.bundle"),
		BW_STR("sling.service.subservice"),
		BW_STR("sling.resource.resolver.clone"),
		BW_STR("user.jcr.credentials"),
		BW_STR("user.jcr.session"),
		BW_STR("user.name"), /* said by auth */
		BW_STR("user.impersonator"),
	};

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
		if (bw_str_eq(name, secrets[i]))
			return true;
	return memmem(name.p, name.n, "password", 8);
}

/* The original's, and then the new ones, which win. */
static void merge_attributes(struct bw_resolver *r, const struct bw_resolver *from,
                             const struct bw_login *login)
{
	size_t          n_new = login ? login->n_attributes : 0, at;
	struct bw_pair *all;

	if (from->n_attributes + n_new == 0)
		return;
	all = arena_alloc(&r->req->arena, (from->n_attributes + n_new) * sizeof(*all));
	r->attributes = all;
	for (size_t i = 0; i < from->n_attributes; i++) {
		/* Who acts as the original's user does not act as another. */
		if (login && login->user.p &&
		    bw_str_eq(from->attributes[i].name, BW_STR("user.impersonator")))
			continue;
		all[r->n_attributes++] = from->attributes[i];
	}
	for (size_t i = 0; i < n_new; i++) {
		const struct bw_pair *pair = &login->attributes[i];

		if (!pair->name.p || !pair->value.p || is_secret(pair->name))
			continue;
		for (at = 0; at < r->n_attributes && !bw_str_eq(all[at].name, pair->name); at++)
			continue;
		all[at].name = request_dup(r->req, pair->name);
		all[at].value = request_dup(r->req, pair->value);
		if (at == r->n_attributes)
			r->n_attributes++;
	}
}

/* With the credentials that the request has brought, as whom it acts. */
static int log_in_again(struct bw_resolver *r)
{
	struct auth_credentials c;
	struct login_terms      terms;
	int                     err = BW_ELOGIN;

	terms_read(r->req, &terms);
	if (security_extract(r->req, &c) == AUTH_CREDENTIALS)
		err = security_ask(r->req, &c, &terms.ask, r);
	explicit_bzero(&c, sizeof(c));
	return err;
}

static int log_in(struct bw_resolver *r, const struct bw_resolver *from,
                  const struct bw_login *login)
{
	if (login && login->user.p)
		return ask_authenticate_basic(r->req, login->user,
		                              login->password.p ? login->password : BW_STR(""),
		                              NULL, r);
	if (r->kind == RESOLVER_USER)
		return log_in_again(r);
	r->bundle = from->bundle;
	r->subservice = from->subservice;
	return r->kind == RESOLVER_SERVICE ? resolver_mint(r) : BW_OK;
}

int security_clone(struct bw_resolver *from, const struct bw_login *login, struct bw_resolver **ret)
{
	struct bw_resolver *r;
	int                 err;

	if (from->closed)
		return BW_ESTATE;
	r = resolver_new(from->req, login && login->user.p ? RESOLVER_USER : from->kind);
	r->cloned = true;
	err = log_in(r, from, login);
	if (err != BW_OK) {
		r->failed = err; /* it stays in the request's list, and is good for nothing */
		r->closed = true;
		return err;
	}
	merge_attributes(r, from, login);
	*ret = r;
	return BW_OK;
}
