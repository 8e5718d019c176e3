/* gateway/security/sudo.c and terms.c, through the authenticator: whom a request wants to act as, what
 * becomes of the cookie, and what servlets are told. Auth is a fake that lets ada act as anybody. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/peers/resolver.h>
#include <gateway/security/security.h>
#include <gateway/security/sudo.c>

static void start(void)
{
	fake_forget();
	fake_account("ada", "pw", false);
	fake_start();
}

TestSuite(sudo, .init = start, .fini = fake_stop);

#define ADA "authorization", "Basic YWRhOnB3"

struct row {
	const char *target, *cookie; /* of the request; cookie NULL: none */
	int         auth;            /* what auth answers */
	const char *asked;           /* whom to act as; "": nobody */
	const char *set;             /* the beginning of Set-Cookie; NULL: there is none */
};

static void check(const struct row *row, size_t i, const char *other, const char *value)
{
	const char *const headers[] = { ADA,
		                        row->cookie != NULL ? "cookie" : other,
		                        row->cookie != NULL ? row->cookie : value,
		                        row->cookie != NULL ? other : NULL,
		                        value,
		                        NULL };
	struct bw_req    *req = fake_request("GET", row->target, headers);
	struct bw_str     set;
	bool              acts = row->auth == BW_OK && *row->asked != '\0';
	int               rc;

	fake.auth = row->auth;
	rc = security_authenticate(req);
	cr_expect(eq(int, rc, row->auth == BW_OK ? BW_OK : BW_DECLINED), "row %zu", i);
	cr_expect(bw_str_eq(fake.sudo, *row->asked != '\0' ? bw_str(row->asked) : BW_ABSENT),
	          "row %zu: asked for \"%.*s\"", i, (int)fake.sudo.n, fake.sudo.p);
	set = fake_response_header(req, "set-cookie");
	if (row->set == NULL)
		cr_expect(set.p == NULL, "row %zu: %.*s", i, (int)set.n, set.p);
	else
		cr_expect(set.n >= strlen(row->set) &&
		                  memcmp(set.p, row->set, strlen(row->set)) == 0,
		          "row %zu: %.*s", i, (int)set.n, set.p);
	if (rc == BW_OK) {
		struct bw_str who = BW_ABSENT;

		for (size_t k = 0; k < req->resolver->n_attributes; k++)
			if (bw_str_eq(req->resolver->attributes[k].name,
			              BW_STR("user.impersonator")))
				who = req->resolver->attributes[k].value;
		cr_expect(bw_str_eq(req->remote_user, acts ? bw_str(row->asked) : BW_STR("ada")),
		          "row %zu", i);
		cr_expect(acts ? bw_str_eq(who, BW_STR("ada")) : who.p == NULL, "row %zu", i);
	}
	fake_request_free(req);
}

#define CLEARED "sling.sudo=; Path=/; Max-Age=0; HttpOnly"

Test(sudo, wish_and_cookie)
{
	static const char too_long[] =
		"/x?sudo="
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const struct row rows[] = {
		{ "/x", NULL, BW_OK, "", NULL },
		{ "/x?sudo=bob", NULL, BW_OK, "bob", "sling.sudo=\"bob\"; Path=/; HttpOnly" },
		{ "/x?sudo=bob", "sling.sudo=\"bob\"", BW_OK, "bob", NULL },
		{ "/x?sudo=cyd", "sling.sudo=\"bob\"", BW_OK, "cyd", "sling.sudo=\"cyd\"" },
		{ "/x", "sling.sudo=\"bob\"", BW_OK, "bob", NULL },
		{ "/x?sudo=", "sling.sudo=\"bob\"", BW_OK, "bob", NULL },
		{ "/x?sudo=-", "sling.sudo=\"bob\"", BW_OK, "", CLEARED },
		{ "/x?sudo=-", NULL, BW_OK, "", NULL },
		{ "/x", "sling.sudo=bob", BW_OK, "", CLEARED },
		{ "/x", "sling.sudo=\"b;ob\"", BW_OK, "",
		  NULL }, /* the Cookie header is malformed */
		{ "/x", "sling.sudo=\"bob\"; sling.sudo=\"cyd\"", BW_OK, "", CLEARED },
		{ "/x", "other=\"bob\"", BW_OK, "", NULL },
		{ "/x?sudo=a%40b%20%C3%A4%22", NULL, BW_OK, "a@b \xc3\xa4\"",
		  "sling.sudo=\"a@b%20%C3%A4%22\"" },
		{ "/x", "sling.sudo=\"a@b%20%c3%A4\"", BW_OK, "a@b \xc3\xa4", NULL },
		{ "/x", "sling.sudo=\"a%0d%0ab\"", BW_OK, "", CLEARED },
		{ "/x?sudo=bob", NULL, BW_ELOGIN, "bob", NULL },
		{ "/x", "sling.sudo=\"bob\"", BW_ELOGIN, "bob", CLEARED },
		{ "/x?sudo=cyd", "sling.sudo=\"bob\"", BW_ELOGIN, "cyd", CLEARED },
		{ "/x", "sling.sudo=\"bob\"", BW_EBUSY, "bob", NULL },
		{ too_long, NULL, BW_ELOGIN, too_long + 8, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i], i, NULL, NULL);
}

/* A link elsewhere does not change who somebody acts as; nor does it end it. */
Test(sudo, other_sites_have_no_say)
{
	static const struct row from_there[] = {
		{ "/x?sudo=bob", NULL, BW_OK, "", NULL },
		{ "/x?sudo=-", "sling.sudo=\"bob\"", BW_OK, "bob", NULL },
	};
	static const struct row from_here = { "/x?sudo=bob", NULL, BW_OK, "bob",
		                              "sling.sudo=\"bob\"" };

	for (size_t i = 0; i < 2; i++)
		check(&from_there[i], i, "sec-fetch-site", "cross-site");
	check(&from_here, 9, "sec-fetch-site", "same-origin");
	check(&from_here, 10, "sec-fetch-site", "none");
}

/* Nobody is asked, so nothing comes of it. */
Test(sudo, a_guest_stays_one)
{
	static const char *const cookie[] = { "cookie", "sling.sudo=\"bob\"", NULL };
	struct bw_req           *req;

	fake_settings.anonymous = true;
	fake_stop();
	fake_start();
	req = fake_request("GET", "/x?sudo=bob", cookie);
	cr_assert(eq(int, security_authenticate(req), BW_OK));
	cr_assert(req->resolver->kind == RESOLVER_ANONYMOUS && req->remote_user.p == NULL);
	cr_assert(fake_response_header(req, "set-cookie").p == NULL);
	cr_assert(eq(uint, fake.asked_auth, 0));
	fake_request_free(req);
	fake_settings.anonymous = false;
}

Test(sudo, secure_over_https)
{
	static const char *const headers[] = { ADA, NULL };
	struct bw_req           *req = fake_request("GET", "/x?sudo=bob", headers);

	req->scheme = BW_STR("https");
	cr_assert(eq(int, security_authenticate(req), BW_OK));
	cr_assert(strstr(fake_response_header(req, "set-cookie").p,
	                 "; Secure; HttpOnly; SameSite=Lax") != NULL);
	fake_request_free(req);
}

Test(sudo, logout_clears_what_was_sent)
{
	static const char *const cookie[] = { "cookie", "sling.sudo=\"bob\"", NULL };
	struct bw_req           *req = fake_request("POST", "/x", cookie);

	sudo_clear(req);
	cr_assert(bw_str_eq(fake_response_header(req, "set-cookie"),
	                    BW_STR(CLEARED "; SameSite=Lax")));
	fake_request_free(req);
	req = fake_request("POST", "/x", NULL);
	sudo_clear(req);
	cr_assert(fake_response_header(req, "set-cookie").p == NULL);
	fake_request_free(req);
}

/* ---- what else goes with a login ---- */

Test(terms, the_address_goes_with_it)
{
	static const char *const headers[] = { ADA, NULL };
	static const struct {
		const char *remote, *octets;
		size_t      n;
	} rows[] = {
		{ "192.0.2.1", "\xc0\x00\x02\x01", 4 },
		{ "2001:db8::1", "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16 },
		{ "unix", NULL, 0 },
	};

	start();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bw_req *req = fake_request("GET", "/x", headers);

		req->remote_addr = bw_str(rows[i].remote);
		cr_assert(eq(int, security_authenticate(req), BW_OK));
		cr_assert(eq(sz, fake.address.n, rows[i].n));
		cr_assert(rows[i].n == 0 || memcmp(fake.address.p, rows[i].octets, rows[i].n) == 0);
		fake_request_free(req);
	}
	fake_stop();
}

/* Whatever the path and the client: 429, how long, and not a word about the password. */
Test(terms, throttled)
{
	static const char *const headers[] = { ADA, "user-agent", "Mozilla/5.0", NULL };
	static const char *const targets[] = { "/x", "/x?j_validate=true", "/j_security_check" };

	start();
	fake.auth = BW_ETHROTTLED;
	for (size_t i = 0; i < 3; i++) {
		struct bw_req *req = fake_request("GET", targets[i], headers);

		cr_assert(eq(int, security_authenticate(req), BW_DECLINED));
		cr_assert(eq(int, req->status, 429));
		cr_assert(bw_str_eq(fake_response_header(req, "retry-after"), BW_STR("7")));
		cr_assert(bw_str_eq(fake_response_header(req, "x-reason-code"),
		                    BW_STR("invalid_login")));
		cr_assert(fake_response_header(req, "www-authenticate").p == NULL);
		fake_request_free(req);
	}
	fake_stop();
}
