/* What the operator changes is seen by running processes, without a restart and soon: content and
 * permissions by `boardwalk repoinit`, passwords by `boardwalk user passwd`. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/soon.h"

/* Each is a run of the command; the sanitizers make a run several times as long. */
#ifdef BOARDWALK_SANITIZED
#define CHANGES 200
#else
#define CHANGES 1000
#endif

/* Wrong passwords are asked about again and again here. */
static const char *const                  workers_two[] = { "BOARDWALK_GATEWAY_WORKERS=2",
	                                                    "BOARDWALK_AUTH_THROTTLE_FAILURES=0", NULL };
static const struct test_instance_options two_workers = { .environment = workers_two };

/* A change, the cells that show it, and what they show then. */
static const struct change {
	const char *name, *script, *who, *cells[3], *body;
	int         status;
} changes[] = {
	{ "a child is added",
	  "create path /content/dam/six\n",
	  "admin",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  "Hello admin the dam count is 6",
	  200 },
	{ "the reader sees it as well",
	  "",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  "Hello reader the dam count is 4",
	  200 },
	{ "an entry against the reader is taken away",
	  "set ACL on /content/dam/four\n  remove * for reader\nend\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  "Hello reader the dam count is 5",
	  200 },
	{ "one is added",
	  "set ACL on /content/dam/one\n  deny jcr:read for reader\nend\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  "Hello reader the dam count is 4",
	  200 },
	{ "the last entry for the reader is taken away",
	  "set ACL on /content/dam\n  remove * for reader\nend\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  NULL,
	  500 },
	{ "he joins a group that may read",
	  "create group team\nadd reader to group team\n"
	  "set ACL for team\n  allow jcr:read on /content/dam\nend\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  "Hello reader the dam count is 4",
	  200 },
	{ "he leaves it",
	  "remove reader from group team\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  NULL,
	  500 },
	{ "he comes back by way of another one",
	  "create group staff\nadd reader to group staff\nadd staff to group team\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  "Hello reader the dam count is 4",
	  200 },
	{ "that one ends",
	  "delete group staff\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  NULL,
	  500 },
	{ "he is disabled",
	  "disable user reader : \"on leave\"\n",
	  "reader",
	  { "/test/auth", "/bin/test/auth", "/content/test/auth" },
	  NULL,
	  401 },
	{ "the message changes",
	  "set properties on /var/test/serviceuser\n  set message to \"something else\"\nend\n",
	  NULL,
	  { "/test/serviceuser", "/bin/test/serviceuser", "/content/test/serviceuser" },
	  "Hello servlettest the message is something else",
	  200 },
	{ "a page loses its readers",
	  "set ACL on /content/test\n  remove * for everyone\nend\n",
	  NULL,
	  { "/content/test/hello", "/content/test/serviceuser", "/content/test/hello/x" },
	  NULL,
	  404 },
};

Test(change, of_content_and_permissions_is_seen_by_every_worker_soon)
{
	static struct soon   connections;
	struct test_instance i;

	test_instance_start(&i, &two_workers);
	test_instance_password(&i, "reader", "secret");
	soon_open(&connections, i.port);
	for (size_t k = 0; k < sizeof(changes) / sizeof(*changes); k++) {
		const struct change *c = &changes[k];
		const char          *credentials = c->who == NULL                 ? NULL
		                                   : strcmp(c->who, "admin") == 0 ? i.credentials
		                                                                  : "reader:secret";

		for (size_t cell = 0; cell < 3;
		     cell++) /* whatever is remembered is remembered by now */
			soon_count(&connections, c->cells[cell], credentials, 200, NULL);
		test_instance_repoinit(&i, c->script);
		for (size_t cell = 0; cell < 3; cell++)
			cr_assert(soon_all(&connections, c->cells[cell], credentials, c->status,
			                   c->body),
			          "%s: %s", c->name, c->cells[cell]);
	}
	soon_close(&connections);
	test_instance_stop(&i);
}

Test(change, of_a_password_ends_the_old_one_soon)
{
	static struct soon   connections;
	struct test_instance i;

	test_instance_start(&i, &two_workers);
	test_instance_password(&i, "reader", "the old one");
	soon_open(&connections, i.port);
	cr_assert_eq(soon_count(&connections, "/test/auth", "reader:the old one", 200, NULL),
	             SOON_CONNECTIONS);
	test_instance_password(&i, "reader", "the new one");
	cr_assert(soon_all(&connections, "/test/auth", "reader:the old one", 401, NULL));
	cr_assert_eq(soon_count(&connections, "/test/auth", "reader:the new one", 200, NULL),
	             SOON_CONNECTIONS);
	soon_close(&connections);
	test_instance_stop(&i);
}

/* One script per number: each run of the command is one transaction. */
static void change_message(const struct test_instance *i, unsigned number)
{
	char script[128];

	snprintf(script, sizeof(script),
	         "set properties on /var/test/serviceuser\n  set message to %u\nend\n", number);
	test_instance_repoinit(i, script);
}

/* Reads until the last number is there; false if a smaller one follows a greater one. */
static bool never_backwards(unsigned port, unsigned last)
{
	static const char    lead[] = "Hello servlettest the message is ";
	struct http          http;
	struct http_response r;
	unsigned             seen = 0;
	unsigned long long   limit = test_now_ms() + 250000;
	bool                 good = true;

	http_open(&http, port);
	while (good && seen < last && test_now_ms() < limit) {
		unsigned number = 0;

		http_ask(&http, "GET", "/content/test/serviceuser", NULL, &r);
		good = r.status == 200 && strncmp(r.body, lead, sizeof(lead) - 1) == 0;
		if (good && r.body[sizeof(lead) - 1] != 'H') { /* "Hello World": before the first */
			number = (unsigned)strtoul(r.body + sizeof(lead) - 1, NULL, 10);
			good = number >= seen;
			seen = number;
		}
		http_response_done(&r);
	}
	http_close(&http);
	return good && seen == last;
}

/* Readers are processes of their own, so that each keeps one worker busy with its own connection. */
Test(change, of_a_message_never_shows_an_older_after_a_newer_one)
{
	enum { READERS = 2 };
	struct test_instance i;
	pid_t                readers[READERS];

	test_instance_start(&i, &two_workers);
	fflush(NULL);
	for (unsigned k = 0; k < READERS; k++) {
		readers[k] = fork();
		if (readers[k] == 0)
			_exit(never_backwards(i.port, CHANGES) ? 0 : 1);
		cr_assert_gt(readers[k], 0);
	}
	for (unsigned n = 1; n <= CHANGES; n++)
		change_message(&i, n);
	for (unsigned k = 0; k < READERS; k++) {
		int status = -1;

		waitpid(readers[k], &status, 0);
		cr_assert_eq(status, 0, "reader %u", k);
	}
	test_instance_stop(&i);
}
