/* Users and groups over HTTP (servlets/users) with the whole product: gateway, auth, PostgreSQL. Who is
 * an administrator changes them and can log in as them at once; who is not gets nothing, whatever he
 * sends. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"

#define ROOT "/system/userManager"

static struct test_instance i;

static void set_up_with(const char *config)
{
	struct test_instance_options options = { .config = config };
	char                        *output;
	const char *const            install[] = { "bundle", "install", USERS_BUNDLE, NULL };

	test_instance_start(&i, &options);
	cr_assert_eq(test_instance_cli(&i, NULL, &output, install), 0, "%s", output);
	free(output);
}

/* A form, or a GET if it is NULL. */
static int ask(const char *path, const char *who, const char *form, struct http_response *r)
{
	struct http http;
	char       *basic = http_basic(who), request[2048];
	int         n;

	n = snprintf(
		request, sizeof(request),
		"%s " ROOT "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s"
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n%s",
		form ? "POST" : "GET", path, basic, form ? strlen(form) : 0, form ? form : "");
	free(basic);
	cr_assert_lt((size_t)n, sizeof(request));
	http_open(&http, i.port);
	cr_assert(http_send(&http, request, (size_t)n));
	http_read(&http, false, r);
	http_close(&http);
	return r->status;
}

static void expect(const char *path, const char *who, const char *form, int status,
                   const char *says)
{
	struct http_response r;

	ask(path, who, form, &r);
	cr_assert_eq(r.status, status, "%s %s: %d instead of %d: %s", path, form ? form : "",
	             r.status, status, r.body);
	cr_assert(says == NULL || strstr(r.body, says) != NULL, "%s: %s", path, r.body);
	http_response_done(&r);
}

/* Everybody may look at himself. */
static void expect_login(const char *who, int status)
{
	char path[64];

	snprintf(path, sizeof(path), "/user/%.*s.json", (int)strcspn(who, ":"), who);
	expect(path, who, NULL, status, NULL);
}

Test(users, an_administrator_manages_them)
{
	const char          *admin;
	struct http_response r;

	set_up_with(NULL);
	admin = i.credentials;
	expect("/user.create.html", admin, ":name=ada&pwd=secret&pwdConfirm=secret", 201,
	       "Created");
	expect_login("ada:secret", 200);
	expect("/user.create.json", admin, ":name=ada&pwd=x&pwdConfirm=x", 409,
	       "{\"status.code\":409,\"status.message\":\"");
	expect("/user.create.html", admin, ":name=eve&pwd=x&pwdConfirm=y", 400, "differ");
	expect("/user.create.html", admin, "pwd=x&pwdConfirm=x", 400, "not a name");
	expect("/user.create.html", admin, ":name=%3Cb%3E%3A", 400, "not a name");
	expect("/group.create.html", admin, ":name=staff&:member=ada", 201, NULL);
	expect("/group/staff.json", admin, NULL, 200, "/system/userManager/user/ada");
	expect("/user/ada.json", admin, NULL, 200, "/system/userManager/group/staff");
	expect("/user.tidy.1.json", admin, NULL, 200, "\"ada\"");
	expect("/user.json?after=zzz", admin, NULL, 200, "{}");
	expect("/group/staff.update.html", admin, ":member@Delete=/system/userManager/user/ada",
	       200, "OK");
	expect("/group/staff.json", admin, NULL, 200, "\"declaredMembers\" : []");
	expect("/group/staff.update.html", admin, ":member=staff", 400, NULL);
	expect("/user/ada.changePassword.html", admin, "newPwd=new&newPwdConfirm=new", 200, "OK");
	expect_login("ada:new", 200);
	expect_login("ada:secret", 401);
	expect("/user/ada.update.html", admin, ":disabled=true&:disabledReason=away", 200, "OK");
	expect_login("ada:new", 401);
	expect("/user/ada.json", admin, NULL, 200, "\"disabledReason\" : \"away\"");
	expect("/user/ada.update.html", admin, ":disabled=false", 200, "OK");
	expect_login("ada:new", 200);
	expect("/group/ada.json", admin, NULL, 404, NULL);
	expect("/user/staff.json", admin, NULL, 404, NULL);
	expect("/user/admin.delete.html", admin, "", 400, NULL);
	expect("/group/everyone.update.html", admin, ":member=ada", 400, NULL);
	expect("/user/ada.delete.html", admin, ":redirect=//evil.example/", 400, "redirect");
	expect_login("ada:new", 200);
	cr_assert_eq(ask("/user/ada.delete.html", admin, ":redirect=/content.html", &r), 302, "%s",
	             r.body);
	cr_assert_str_eq(http_field(&r, "location"), "/content.html");
	http_response_done(&r);
	expect_login("ada:new", 401);
	expect("/group/staff.delete.html", admin, "", 200, "OK");
	expect("/user/nobody.delete.html", admin, "", 404, NULL);
	expect("/nonsense", admin, NULL, 404, NULL);
	test_instance_stop(&i);
}

Test(users, others_get_nothing_but_their_own)
{
	set_up_with(NULL);
	test_instance_password(&i, "ada", "secret");
	test_instance_password(&i, "bob", "secret");
	expect("/user.create.html", "ada:secret", ":name=eve&pwd=x&pwdConfirm=x", 403, NULL);
	expect("/user.create.html", NULL, ":name=eve&pwd=x&pwdConfirm=x", 403, NULL);
	expect("/user/bob.changePassword.html", "ada:secret",
	       "oldPwd=secret&newPwd=x&newPwdConfirm=x", 403, NULL);
	expect("/user/ada.changePassword.html", "ada:secret", "newPwd=x&newPwdConfirm=x", 403,
	       NULL);
	expect("/user/ada.changePassword.html", "ada:secret", "oldPwd=no&newPwd=x&newPwdConfirm=x",
	       403, "old password");
	expect("/user/bob.delete.html", "ada:secret", "", 403, NULL);
	expect("/user/bob.json", "ada:secret", NULL, 404, NULL);
	expect("/user.json", "ada:secret", NULL, 404, NULL);
	expect("/user/ada.json", NULL, NULL, 401, NULL);
	expect("/user/ada.delete.html", NULL, "", 401, NULL);
	expect("/user/ada.json", "ada:secret", NULL, 200, "\"memberOf\"");
	expect("/user/ada.changePassword.html", "ada:secret",
	       "oldPwd=secret&newPwd=n&newPwdConfirm=n", 200, NULL);
	expect_login("ada:n", 200);
	expect_login("ada:secret", 401);
	expect_login("bob:secret", 200);
	cr_assert(test_instance_logged(&i, "event=password_change_failed"));
	cr_assert_not(test_instance_logged(&i, "oldPwd"));
	test_instance_stop(&i);
}
