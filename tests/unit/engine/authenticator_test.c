/* gateway/security/authenticator.c: how often auth is asked, and what is left of credentials; who is
 * let in is rows (conformance/security/login.rows). */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/peers/resolver.h>
#include <gateway/security/handler.h>
#include <string.h>

static bool wiped;

/* Stands in for explicit_bzero below: were those the credentials? */
static void note_wiping(void *p, size_t n)
{
	const struct auth_credentials *c = p;

	wiped |= n == sizeof(*c) && memcmp(c->octets, "ada:secret-word", 15) == 0;
	explicit_bzero(p, n);
}

#define explicit_bzero note_wiping
#include <gateway/security/authenticator.c>

static void start(void)
{
	static char *rules[] = { (char *)"+/board" };

	fake_settings.requirements = (struct conf_list){ rules, 1 };
	fake_forget();
	fake_account("ada", "secret-word", false);
	fake_start();
}

TestSuite(authenticator, .init = start, .fini = fake_stop);

static const char *const ada[] = { "authorization", "Basic YWRhOnNlY3JldC13b3Jk", NULL };

Test(authenticator, asks_nobody_about_a_guest)
{
	struct bw_req *req = fake_request("GET", "/pub", NULL);

	cr_assert(security_authenticate(req) == BW_OK);
	cr_assert(req->resolver->kind == RESOLVER_ANONYMOUS && req->resolver->handle.p == NULL);
	cr_assert(req->remote_user.p == NULL && req->auth_type.p == NULL);
	fake_request_free(req);
	req = fake_request("GET", "/board", NULL);
	cr_assert(security_authenticate(req) == BW_DECLINED);
	cr_assert(req->resolver == NULL && req->status == 401);
	fake_request_free(req);
	cr_assert(eq(uint, fake.asked_auth, 0));
}

Test(authenticator, asks_once_about_a_user)
{
	struct bw_req      *req = fake_request("GET", "/board", ada);
	struct bw_resolver *r;

	cr_assert(security_authenticate(req) == BW_OK);
	r = req->resolver;
	cr_assert(r->kind == RESOLVER_USER && bw_str_eq(r->user, BW_STR("ada")));
	cr_assert(security_authenticate(req) == BW_OK, "an include");
	cr_assert(req->resolver == r);
	cr_assert(eq(uint, fake.asked_auth, 1));
	fake_request_free(req);
}

Test(authenticator, leaves_no_resolver_in_a_request_it_stopped)
{
	static const struct {
		const char *target;
		int         auth, status;
	} cases[] = { { "/board", BW_ELOGIN, 401 },      { "/pub", BW_ELOGIN, 401 },
		      { "/pub", BW_EBUSY, 503 },         { "/pub", BW_ENOMEM, 500 },
		      { "/x/j_security_check", 0, 403 }, { "/pub?j_validate=true", 0, 200 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bw_req *req = fake_request("GET", cases[i].target, ada);

		fake.auth = cases[i].auth;
		cr_assert(security_authenticate(req) == BW_DECLINED, "%s", cases[i].target);
		cr_assert(eq(int, req->status, cases[i].status), "%s", cases[i].target);
		cr_assert(req->resolver == NULL && req->remote_user.p == NULL);
		fake_request_free(req);
	}
}

Test(authenticator, wipes_the_password)
{
	static const struct {
		int auth, result;
	} cases[] = { { BW_OK, BW_OK }, { BW_ELOGIN, BW_DECLINED }, { BW_EBUSY, BW_DECLINED } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bw_req *req = fake_request("GET", "/board", ada);

		fake.auth = cases[i].auth;
		wiped = false;
		cr_assert(eq(int, security_authenticate(req), cases[i].result));
		cr_assert(wiped);
		fake_request_free(req);
	}
}
