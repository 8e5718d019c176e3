/* The life of accounts by `boardwalk user` and `boardwalk group`, beside running processes: each step is
 * seen by all workers soon, although they remember the credentials that worked before it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/soon.h"

static const char *const                  workers_two[] = { "BOARDWALK_GATEWAY_WORKERS=2",
	                                                    "BOARDWALK_AUTH_THROTTLE_FAILURES=0", NULL };
static const struct test_instance_options two_workers = { .environment = workers_two };

static const char script[] = "create group team\n"
			     "set ACL on /content/dam\n"
			     "  allow jcr:read for team\n"
			     "end\n";

/* A command, and what /test/auth (a service user's step: /test/serviceuser) says soon afterwards. */
static const struct step {
	const char *words[10], *input, *path, *credentials;
	int         status;
	const char *body;
	int         code; /* of the command */
} steps[] = {
	{ { "user", "add", "ada" }, "", "/test/auth", "ada:one", 401, .body = NULL },
	{ { "user", "passwd", "ada" }, "one\n", "/test/auth", "ada:one", 500, .body = NULL },
	{ { "user", "groups", "ada", "+team" },
	  "",
	  "/test/auth",
	  "ada:one",
	  200,
	  .body = "Hello ada the dam count is 5" },
	{ { "user", "disable", "ada", "--reason", "on leave" },
	  "",
	  "/test/auth",
	  "ada:one",
	  401,
	  .body = NULL },
	{ { "user", "enable", "ada" }, "", "/test/auth", "ada:one", 200, .body = NULL },
	{ { "user", "groups", "-team", "ada" }, "", "/test/auth", "ada:one", 200, NULL, 2 },
	{ { "user", "groups", "ada", "-team" }, "", "/test/auth", "ada:one", 500, .body = NULL },
	{ { "group", "add", "staff", "--group=team" },
	  "",
	  "/test/auth",
	  "ada:one",
	  500,
	  .body = NULL },
	{ { "group", "members", "staff", "+ada", "+reader" },
	  "",
	  "/test/auth",
	  "ada:one",
	  200,
	  .body = NULL },
	{ { "group", "remove", "staff" }, "", "/test/auth", "ada:one", 500, .body = NULL },
	{ { "group", "members", "team", "+ada" }, "", "/test/auth", "ada:one", 200, .body = NULL },
	{ { "user", "passwd", "ada" }, "two\n", "/test/auth", "ada:one", 401, .body = NULL },
	{ { "user", "list" }, "", "/test/auth", "ada:two", 200, .body = NULL },
	{ { "user", "remove", "ada" }, "", "/test/auth", "ada:two", 401, .body = NULL },
	/* another one of that name has neither the password nor the rights */
	{ { "user", "add", "ada" }, "", "/test/auth", "ada:two", 401, .body = NULL },
	{ { "user", "passwd", "ada" }, "two\n", "/test/auth", "ada:two", 500, .body = NULL },
	{ { "user", "disable", "servlettest" }, "", "/test/serviceuser", NULL, 500, .body = NULL },
	{ { "user", "enable", "servlettest" }, "", "/test/serviceuser", NULL, 200, .body = NULL },
};

Test(account, each_step_of_its_life_is_seen_by_every_worker_soon)
{
	static struct soon   connections;
	struct test_instance i;

	test_instance_start(&i, &two_workers);
	test_instance_repoinit(&i, script);
	soon_open(&connections, i.port);
	for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
		const struct step *s = &steps[k];
		char              *said;
		int                code = test_instance_cli(&i, s->input, &said, s->words);

		cr_assert_eq(code, s->code, "step %zu: %d: %s", k, code, said);
		cr_assert(soon_all(&connections, s->path, s->credentials, s->status, s->body),
		          "step %zu: %s", k, said);
		/* what may be remembered of it is remembered by now, in every worker */
		cr_assert_eq(soon_count(&connections, s->path, s->credentials, s->status, s->body),
		             SOON_CONNECTIONS, "step %zu", k);
		free(said);
	}
	soon_close(&connections);
	test_instance_stop(&i);
}

/* A password on the command line would be in ps: there is no way to give one there. */
Test(account, takes_no_password_as_an_argument)
{
	static const char *const commands[][7] = {
		{ "user", "passwd", "reader", "secret" },
		{ "user", "passwd", "reader", "--password=secret" },
		{ "user", "add", "ada", "--password", "secret" },
		{ "user", "add", "ada", "-p", "secret" },
	};
	struct test_instance i;

	test_instance_start(&i, &two_workers);
	for (size_t k = 0; k < sizeof(commands) / sizeof(*commands); k++) {
		char *said;

		cr_expect_eq(test_instance_cli(&i, "x\n", &said, commands[k]), 2, "%zu: %s", k,
		             said);
		free(said);
	}
	test_instance_stop(&i);
}
