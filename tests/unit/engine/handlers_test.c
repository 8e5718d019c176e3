/* gateway/security/handlers.c with authenticator.c: handlers and post-processors that bundles register,
 * which of them are asked, what they are told, and that none of them can name an identity. */
#include "fake.h"
#include <boardwalk/auth.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/peers/resolver.h>
#include <gateway/security/handler.h>
#include <gateway/security/security.h>
#include <gateway/whiteboard/registry.h>
#include <stdio.h>
#include <string.h>

/* What a handler of the test says, and what was called: "+" extract, "?" request, "-" drop, "!" succeeded,
 * "x" failed, each with the handler's letter. */
struct test_handler {
	char                       letter;
	enum bw_auth_verdict       verdict;
	struct bw_auth_credentials credentials;
	bool                       has_dialogue, redirects;
};

static struct registry *registry;
static char             calls[128];

static void note(char what, const struct test_handler *h)
{
	size_t n = strlen(calls);

	snprintf(calls + n, sizeof(calls) - n, "%c%c", what, h->letter);
}

static enum bw_auth_verdict extract(void *self, struct bw_req *req, struct bw_auth_credentials *ret)
{
	const struct test_handler *h = self;

	(void)req;
	note('+', h);
	*ret = h->credentials;
	return h->verdict;
}

static bool request(void *self, struct bw_req *req)
{
	const struct test_handler *h = self;

	note('?', h);
	if (h->has_dialogue)
		response_status(req, 303);
	return h->has_dialogue;
}

static void drop(void *self, struct bw_req *req)
{
	(void)req;
	note('-', self);
}

static bool succeeded(void *self, struct bw_req *req)
{
	const struct test_handler *h = self;

	note('!', h);
	if (h->redirects)
		response_status(req, 307);
	return h->redirects;
}

static void failed(void *self, struct bw_req *req)
{
	(void)req;
	note('x', self);
}

static const struct bw_auth_handler table = {
	.size = sizeof(table),
	.extract = extract,
	.request = request,
	.drop = drop,
	.succeeded = succeeded,
	.failed = failed,
};

/* An older bundle's: it ends before drop. */
static const struct bw_auth_handler short_table = {
	.size = offsetof(struct bw_auth_handler, drop),
	.extract = extract,
	.request = request,
	.drop = drop,
	.succeeded = succeeded,
	.failed = failed,
};

static struct bw_service *add(const struct bw_auth_handler *type, struct test_handler *h,
                              const char *path, int ranking, bool browsers)
{
	const char *const              interfaces[] = { BW_AUTH_HANDLER, NULL };
	const struct bw_service_object object = { .type = type, .self = h };
	const char                     name[2] = { h->letter, '\0' };
	const struct bw_prop           props[] = {
			  { BW_AUTH_PATH, BW_PROP_STRING, { .string = path } },
			  { BW_AUTH_TYPE, BW_PROP_STRING, { .string = name } },
			  { "service.ranking", BW_PROP_INT, { .i32 = ranking } },
			  { BW_AUTH_BROWSER_ONLY, BW_PROP_BOOL, { .b = browsers } },
	};
	struct bw_service *s;

	cr_assert(eq(int, registry_register(registry, NULL, interfaces, &object, props, 4, &s),
	             BW_OK));
	return s;
}

static void start(void)
{
	static char *rules[] = { (char *)"+/board" };

	calls[0] = '\0';
	fake_settings.anonymous = true;
	fake_settings.requirements = (struct conf_list){ rules, 1 };
	fake_forget();
	fake_account("ada", "secret", false);
	registry = fake_start();
}

TestSuite(handlers, .init = start, .fini = fake_stop);

/* The status, or 0 if the request goes on; *ret_user (may be NULL). */
static int ask(const char *path, const char *const *headers, char ret_user[16])
{
	struct bw_req *req = fake_request("GET", path, headers);
	int            err = security_authenticate(req), status = err == BW_OK ? 0 : req->status;

	if (ret_user != NULL)
		snprintf(ret_user, 16, "%s", req->remote_user.p != NULL ? req->remote_user.p : "-");
	cr_assert(err == BW_OK || err == BW_DECLINED);
	fake_request_free(req);
	return status;
}

static void expect_calls(const char *expected)
{
	cr_expect(strcmp(calls, expected) == 0, "%s instead of %s", calls, expected);
	calls[0] = '\0';
}

Test(handlers, the_longest_path_is_asked_first_then_the_higher_ranking)
{
	struct test_handler a = { .letter = 'a', .verdict = BW_AUTH_NOT_MINE },
			    b = { .letter = 'b', .verdict = BW_AUTH_NOT_MINE },
			    c = { .letter = 'c', .verdict = BW_AUTH_NOT_MINE },
			    d = { .letter = 'd', .verdict = BW_AUTH_NOT_MINE };
	struct bw_service *s = add(&table, &a, "/", 5, false);

	add(&table, &b, "/a", 1, false);
	add(&table, &c, "/a", 2, false);
	add(&table, &d, "//elsewhere/a", 9, false);
	cr_expect(eq(int, ask("/a/x", NULL, NULL), 0));
	expect_calls("+c+b+a");
	cr_expect(eq(int, ask("/ab", NULL, NULL), 0));
	expect_calls("+a");
	registry_unregister(s);
	cr_expect(eq(int, ask("/a.html", NULL, NULL), 0));
	expect_calls("+c+b");
}

Test(handlers, who_claims_it_is_the_last_who_is_asked)
{
	struct test_handler a = { .letter = 'a', .verdict = BW_AUTH_FAILED },
			    b = { .letter = 'b', .verdict = BW_AUTH_NOT_MINE };
	const char *const good[] = { "authorization", "Basic YWRhOnNlY3JldA==", NULL };

	add(&table, &a, "/a", 0, false);
	add(&table, &b, "/", 0, false);
	cr_expect(eq(int, ask("/a", good, NULL), 401), "its own refusal is that of no credentials");
	expect_calls("+axa");
	a.verdict = BW_AUTH_STOP;
	ask("/a", good, NULL);
	expect_calls("+a");
	a.verdict = (enum bw_auth_verdict)77;
	cr_expect(eq(int, ask("/a", good, NULL), 401), "no verdict lets nobody in");
}

Test(handlers, hand_over_credentials_and_never_an_identity)
{
	struct test_handler a = { .letter = 'a', .verdict = BW_AUTH_CREDENTIALS };
	char                user[16];

	add(&table, &a, "/", 0, false);
	a.credentials.user = BW_STR("ada");
	a.credentials.password = BW_STR("secret");
	cr_expect(eq(int, ask("/board", NULL, user), 0));
	cr_expect(strcmp(user, "ada") == 0);
	expect_calls("+a!a");
	a.credentials.password = BW_STR("wrong");
	cr_expect(eq(int, ask("/board", NULL, user), 401));
	expect_calls("+axa");
	a.credentials = (struct bw_auth_credentials){ .bearer = BW_STR("bearer-ada") };
	cr_expect(eq(int, ask("/board", NULL, user), 0));
	cr_expect(strcmp(user, "ada") == 0);
	a.credentials.bearer = BW_STR("bearer-nobody");
	cr_expect(eq(int, ask("/board", NULL, user), 401));
	a.credentials = (struct bw_auth_credentials){ .user = BW_STR("") };
	cr_expect(eq(int, ask("/pub", NULL, user), 401), "nobody is no guest");
	a.redirects = true;
	a.credentials.bearer = BW_STR("bearer-ada");
	calls[0] = '\0';
	cr_expect(eq(int, ask("/board", NULL, user), 307));
	expect_calls("+a!a");
}

Test(handlers, dialogues_by_path_client_and_name)
{
	struct test_handler a = { .letter = 'a',
		                  .verdict = BW_AUTH_NOT_MINE,
		                  .has_dialogue = true },
			    b = { .letter = 'b',
		                  .verdict = BW_AUTH_NOT_MINE,
		                  .has_dialogue = true };
	const char *const browser[] = { "user-agent", "Mozilla/5.0", NULL };

	add(&table, &a, "/board", 0, true);
	add(&short_table, &b, "/", 0, false);
	cr_expect(eq(int, ask("/board", browser, NULL), 303));
	expect_calls("+a+b?a");
	cr_expect(eq(int, ask("/board?sling:authRequestLogin=b", browser, NULL), 401),
	          "Basic answers that parameter where no credentials are");
	calls[0] = '\0';
	cr_expect(eq(int, ask("/board", NULL, NULL), 401), "no browser: a challenge");
	expect_calls("+a+b");
}

Test(handlers, a_logout_has_all_of_them_drop)
{
	struct test_handler a = { .letter = 'a', .verdict = BW_AUTH_NOT_MINE },
			    b = { .letter = 'b', .verdict = BW_AUTH_NOT_MINE };
	struct bw_req *req = fake_request("GET", "/x", NULL);

	add(&table, &a, "/", 2, false);
	add(&short_table, &b, "/", 1, false);
	cr_expect(eq(int, security_authentication.logout(req), BW_OK));
	expect_calls("-a"); /* the other one's table has no such entry */
	fake_request_free(req);
}

Test(handlers, a_logout_is_for_the_handlers_of_where_it_leads)
{
	struct test_handler a = { .letter = 'a', .verdict = BW_AUTH_NOT_MINE },
			    b = { .letter = 'b', .verdict = BW_AUTH_NOT_MINE };
	struct bw_req *req = fake_request("GET", "/x?resource=%2Fshop%2Fcart%3Fa", NULL);

	add(&table, &a, "/shop/cart", 0, false);
	add(&table, &b, "/board", 0, false);
	cr_expect(eq(int, security_authentication.logout(req), BW_OK));
	expect_calls("-a");
	fake_request_free(req);
}

/* ---- post-processors ---- */

static char processed[64];
static int  opinion = BW_OK;

static int process(void *self, struct bw_req *req, struct bw_str type, struct bw_str user)
{
	(void)self;
	(void)req;
	snprintf(processed, sizeof(processed), "%s %s", type.p != NULL ? type.p : "-",
	         user.p != NULL ? user.p : "-");
	processed[strcspn(processed, ":")] = '\0';
	return opinion;
}

Test(handlers, post_processors_see_every_login_and_may_veto)
{
	static const struct bw_auth_post_processor type = { sizeof(type), process };
	const char *const                          interfaces[] = { BW_AUTH_POST_PROCESSOR, NULL };
	const struct bw_service_object             object = { .type = &type };
	const char *const good[] = { "authorization", "Basic YWRhOnNlY3JldA==", NULL };

	cr_assert(eq(int, registry_register(registry, NULL, interfaces, &object, NULL, 0, NULL),
	             BW_OK));
	cr_expect(eq(int, ask("/pub", NULL, NULL), 0));
	cr_expect(strcmp(processed, "- -") == 0, "%s", processed);
	cr_expect(eq(int, ask("/pub", good, NULL), 0));
	cr_expect(strncmp(processed, "BASIC ada", 9) == 0, "%s", processed);
	opinion = BW_EFORBIDDEN;
	fake.asked_auth = 0;
	cr_expect(eq(int, ask("/pub", good, NULL), 401));
	cr_expect(eq(int, ask("/pub", NULL, NULL), 401), "the guest, too");
	cr_expect(eq(uint, fake.asked_auth, 0), "auth was asked");
	opinion = BW_OK;
}
