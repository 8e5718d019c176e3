/* /system/console of the management listener: who may look, and that it shows what runs. */
#include <criterion/criterion.h>
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
