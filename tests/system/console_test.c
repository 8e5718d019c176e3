/* /system/console of the management listener, and `boardwalk ctl`: who may look, and that both show
 * what runs. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"

#define RECORDS "/system/console/whiteboard.json"

static void expect(unsigned port, const char *method, const char *credentials, int status,
                   const char *body)
{
	struct http_response r;

	http_ask_once(port, method, RECORDS, credentials, &r);
	cr_expect(r.status == status, "%s %s on %u: %d instead of %d", method,
	          credentials ? credentials : "as guest", port, r.status, status);
	cr_expect(strstr(r.body, body) != NULL, "%s", r.body);
	http_response_done(&r);
}

/* Processes learn of a change within 300 ms. */
static bool is_admitted_soon(unsigned port, const char *credentials)
{
	unsigned long long until_ms = test_now_ms() + 5000;
	int                status = 0;

	while (status != 200 && test_now_ms() < until_ms) {
		struct http_response r;

		http_ask_once(port, "GET", RECORDS, credentials, &r);
		status = r.status;
		http_response_done(&r);
	}
	return status == 200;
}

Test(console, is_for_administrators_on_the_management_listener)
{
	struct test_instance i;
	unsigned             management;

	test_instance_start(&i, NULL);
	management = i.port + 1;
	test_instance_password(&i, "ada", "ada-word");

	expect(management, "GET", i.credentials, 200, "\"failedServletDTOs\":[");
	expect(management, "GET", i.credentials, 200, "\"patterns\":[\"/hello/*\"]");
	expect(management, "HEAD", i.credentials, 200, "");
	expect(management, "GET", NULL, 401, "401");
	expect(management, "GET", "admin:wrong", 401, "401");
	expect(management, "GET", "ada:ada-word", 403, "403");
	expect(management, "POST", i.credentials, 405, "405");
	expect(i.port, "GET", i.credentials, 404, "404");

	test_instance_repoinit(&i, "set ACL on /system/console\n"
	                           "  allow jcr:read for ada\n"
	                           "end\n");
	cr_assert(is_admitted_soon(management, "ada:ada-word"));
	test_instance_stop(&i);
}

static void expect_ctl(const struct test_instance *i, const char *const *arguments, int code,
                       const char *text)
{
	char *output;

	cr_expect(test_instance_cli(i, NULL, &output, arguments) == code, "%s", output);
	cr_expect(strstr(output, text) != NULL, "%s", output);
	free(output);
}

Test(console, the_operator_asks_all_workers)
{
	struct test_instance i;
	const char          *records[] = { "ctl", "whiteboard", NULL };
	const char          *fast[] = { "ctl", "route", "GET", "/test/hello?x=1", NULL };
	const char          *content[] = { "ctl", "route", "GET", "/bin/test/hello", NULL };
	const char          *json[] = { "ctl", "route", "POST", "/test/hello", "--json", NULL };
	const char          *no_path[] = { "ctl", "route", "GET", "nope", NULL };
	const char          *above[] = { "ctl", "route", "GET", "/..", "--json", NULL };
	const char          *nothing[] = { "ctl", "route", "GET", NULL };

	test_instance_start(&i, NULL);
	expect_ctl(&i, records, 0, "\"failedServletDTOs\": []");
	expect_ctl(&i, fast, 0,
	           "GET /test/hello\n"
	           "  is answered by servlet boardwalk.demo/");
	expect_ctl(&i, fast, 0, "context demo at /test\n");
	expect_ctl(&i, fast, 0, "context demo is searched before: its path /test is longer");
	expect_ctl(&i, content, 0, "at /bin/test/hello\n  the servlet mounted at this very path");
	expect_ctl(&i, json, 0, "\"status\": 405");
	expect_ctl(&i, no_path, 1, "boardwalk: ctl route: 'nope' is no path");
	expect_ctl(&i, above, 1, "boardwalk: ctl route: '/..' is no path");
	expect_ctl(&i, nothing, 2, "ctl route takes METHOD PATH");
	test_instance_stop(&i);
}
