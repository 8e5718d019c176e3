/* gateway/console.c: who may look inside. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static struct bw_str page_path;
static void (*page)(struct bw_req *req);

/* Stands in for management.c: there is one page. */
#define management_add note_page
#include <gateway/console.c>

void note_page(struct bw_str path, management_page serve)
{
	page_path = path;
	page = serve;
}

static const char *const ada[] = { "authorization", "Basic YWRhOnNlY3JldC13b3Jk", NULL };

static void start(void)
{
	/* Open for everybody, so that it is the page itself that asks for a name. */
	static char *rules[] = { (char *)"-/system" };

	fake_settings.requirements = (struct conf_list){ rules, 1 };
	fake_forget();
	fake_account("ada", "secret-word", false);
	fake_start();
	console_init();
	cr_assert_str_eq(page_path.p, "/system/console/whiteboard.json");
}

TestSuite(console, .init = start, .fini = fake_stop);

static void expect(const char *const *headers, int status, const char *body)
{
	struct bw_req *req = fake_request("GET", page_path.p, headers);

	page(req);
	buf_append(&req->body, "", 1);
	cr_expect(req->status == status, "%d instead of %d", req->status, status);
	cr_expect(strstr((char *)buf_data(&req->body), body) != NULL, "%d: %s", status,
	          (char *)buf_data(&req->body));
	fake_request_free(req);
}

Test(console, is_for_those_who_may_read_its_resource)
{
	expect(ada, 403, "403 Forbidden");
	fake_content("/system/console", NULL, NULL);
	expect(ada, 200, "\"name\":\"org.apache.sling\"");
}

Test(console, is_not_for_the_guest_whatever_he_may_read)
{
	fake_content("/system/console", NULL, NULL);
	expect(NULL, 401, "401 Unauthorized");
}

Test(console, is_closed_while_nobody_can_tell)
{
	fake.repo = BW_EGONE;
	expect(ada, 503, "503");
	fake.repo = BW_ETIME;
	expect(ada, 504, "504");
	fake.auth = BW_EGONE;
	expect(ada, 503, "503");
}
