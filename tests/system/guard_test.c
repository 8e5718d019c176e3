/* The whole product against those who guess passwords, and for those who act as others: who has to wait
 * and who has not, also after a restart of auth; and that no secret of a whole run stands in a log. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"

/* The test is a proxy, so that it can come from many addresses. */
static const char                         config[] = "auth:\n"
						     "  service_users: [\"boardwalk.demo=servlettest\"]\n"
						     "  throttle_delay_seconds: 60\n"
						     "gateway:\n"
						     "  workers: 1\n"
						     "  trusted_proxies: [\"127.0.0.1\"]\n";
static const struct test_instance_options options = { .config = config };

static const char script[] = "create group team\n"
			     "set ACL on /content/dam\n"
			     "  allow jcr:read for team\n"
			     "end\n";

static struct test_instance instance;

static void start(void)
{
	static const char *const users[] = { "ada", "bob", "cyd", "dora" };

	test_instance_start(&instance, &options);
	test_instance_repoinit(&instance, script);
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		char       *said, member[16], password[32];
		const char *words[] = { "group", "members", "team", member, NULL };

		snprintf(password, sizeof(password), "%s's secret", users[i]);
		test_instance_password(&instance, users[i], password);
		snprintf(member, sizeof(member), "+%s", users[i]);
		cr_assert_eq(test_instance_cli(&instance, "", &said, words), 0, "%s", said);
		free(said);
	}
}

static void stop(void)
{
	test_instance_stop(&instance);
}

TestSuite(guard, .init = start, .fini = stop);

/* GET path from address; user NULL: none; head: more fields, each with its line end. */
static void ask(const char *path, const char *address, const char *user, const char *password,
                const char *head, struct http_response *ret)
{
	char        credentials[128], request[1024];
	char       *basic;
	struct http http;
	int         n;

	snprintf(credentials, sizeof(credentials), "%s:%s", user != NULL ? user : "", password);
	basic = http_basic(user != NULL ? credentials : NULL);
	n = snprintf(request, sizeof(request),
	             "GET %s HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: %s\r\n%s%s\r\n", path, address,
	             basic, head);
	free(basic);
	http_open(&http, instance.port);
	cr_assert(http_send(&http, request, (size_t)n));
	http_read(&http, false, ret);
	http_close(&http);
}

static int status_of(const char *address, const char *user, const char *password)
{
	struct http_response r;
	int                  status;

	ask("/test/auth", address, user, password, "", &r);
	status = r.status;
	http_response_done(&r);
	return status;
}

static void guess(const char *address, const char *user, unsigned n)
{
	char password[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(password, sizeof(password), "guess %u", i);
		cr_assert_eq(status_of(address, user, password), 401, "%s, guess %u", user, i);
	}
}

static void restart_auth(void)
{
	pid_t before = test_instance_pid(&instance, "auth");

	cr_assert_eq(kill(before, SIGKILL), 0);
	cr_assert(test_instance_recovered(&instance, "auth", before, 30000));
}

/* An account and its groups are known everywhere within 300 ms. */
static void wait_for(const char *address, const char *user, const char *password, int status)
{
	unsigned long long until_ms = test_now_ms() + 10000;

	while (status_of(address, user, password) != status)
		cr_assert_lt(test_now_ms(), until_ms);
}

Test(guard, who_guesses_has_to_wait_and_the_owner_has_not)
{
	struct http_response r;

	wait_for("192.0.2.1", "dora", "dora's secret", 200); /* from home */
	guess("198.51.100.1", "dora", 5);
	ask("/test/auth", "198.51.100.1", "dora", "dora's wrong secret", "", &r);
	cr_assert_eq(r.status, 429);
	cr_assert(atoi(http_field(&r, "Retry-After")) > 1 &&
	          atoi(http_field(&r, "Retry-After")) <= 60);
	cr_assert_str_eq(http_field(&r, "X-Reason-Code"), "invalid_login");
	http_response_done(&r);
	cr_assert_eq(status_of("203.0.113.1", "dora", "dora's secret"), 200, "remembered");

	/* What auth remembered is gone; what it counted and whom it knows from where is not. */
	restart_auth();
	cr_assert_eq(status_of("198.51.100.1", "dora", "dora's secret"), 429, "the right one, too");
	cr_assert_eq(status_of("203.0.113.1", "dora", "dora's secret"), 429, "from anywhere");
	cr_assert_eq(status_of("192.0.2.1", "dora", "dora's secret"), 200, "but from home");
	guess("203.0.113.2", "nobody-of-that-name", 5);
	cr_assert_eq(status_of("203.0.113.3", "nobody-of-that-name", "x"), 429);
	wait_for("203.0.113.4", "ada", "ada's secret", 200);
}

/* ---- acting as another ---- */

/* as: the name in the answer; "": 401. cookie: what Set-Cookie begins with; NULL: there is none. */
static void act(const char *query, const char *head, const char *user, const char *as,
                const char *cookie)
{
	char                 path[64], password[32], body[64];
	struct http_response r;
	const char          *set;

	snprintf(path, sizeof(path), "/test/auth%s", query);
	snprintf(password, sizeof(password), "%s's secret", user);
	snprintf(body, sizeof(body), "Hello %s the dam count is 5", as);
	ask(path, "192.0.2.1", user, password, head, &r);
	cr_assert_eq(r.status, *as != '\0' ? 200 : 401, "%s as %s: %d", user, as, r.status);
	if (*as != '\0')
		cr_assert_str_eq(r.body, body);
	set = http_field(&r, "Set-Cookie");
	if (cookie == NULL)
		cr_assert_null(set, "%s", set);
	else
		cr_assert(set != NULL && strncmp(set, cookie, strlen(cookie)) == 0, "%s", set);
	http_response_done(&r);
}

static void impersonators(const char *change)
{
	const char *words[] = { "user", "impersonators", "bob", change, NULL };
	char       *said;

	cr_assert_eq(test_instance_cli(&instance, "", &said, words), 0, "%s", said);
	free(said);
}

#define BOB     "Cookie: sling.sudo=\"bob\"\r\n"
#define SET     "sling.sudo=\"bob\"; Path=/; HttpOnly"
#define CLEARED "sling.sudo=; Path=/; Max-Age=0; HttpOnly"

Test(guard, acts_as_another_while_he_may)
{
	unsigned long long   until_ms = test_now_ms() + 10000;
	struct http_response r;
	int                  status = 0;

	wait_for("192.0.2.1", "ada", "ada's secret", 200);
	wait_for("192.0.2.1", "bob", "bob's secret", 200);
	wait_for("192.0.2.1", "cyd", "cyd's secret", 200);
	act("?sudo=bob", "", "ada", "", NULL);
	impersonators("+ada");
	while (status != 200) {
		cr_assert_lt(test_now_ms(), until_ms);
		ask("/test/auth?sudo=bob", "192.0.2.1", "ada", "ada's secret", "", &r);
		status = r.status;
		http_response_done(&r);
	}
	act("?sudo=bob", "", "ada", "bob", SET);
	act("", BOB, "ada", "bob", NULL);
	act("?sudo=", BOB, "ada", "bob", NULL);
	act("?sudo=-", BOB, "ada", "ada", CLEARED);
	act("", BOB, "cyd", "", CLEARED);
	act("", "", "cyd", "cyd", NULL);
	act("?sudo=admin", "", "ada", "", NULL);

	/* The right is withdrawn: the next request is refused and loses the cookie, so the one after it
	 * is ada's own. */
	impersonators("-ada");
	until_ms = test_now_ms() + 10000;
	while (status != 401) {
		cr_assert_lt(test_now_ms(), until_ms);
		ask("/test/auth", "192.0.2.1", "ada", "ada's secret", BOB, &r);
		status = r.status;
		http_response_done(&r);
	}
	act("", BOB, "ada", "", CLEARED);
	act("", "", "ada", "ada", NULL);
}

/* ---- the audit trail ---- */

static char *read_log(void)
{
	char  path[128], *text;
	FILE *f;
	long  n;

	snprintf(path, sizeof(path), "%s/log", instance.root);
	f = fopen(path, "re");
	cr_assert_not_null(f);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	cr_assert_eq(fread(text, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	return text;
}

static void wait_for_event(const char *text)
{
	unsigned long long until_ms = test_now_ms() + 10000;

	while (!test_instance_logged(&instance, text))
		cr_assert_lt(test_now_ms(), until_ms, "%s", text);
}

/* No run of 12 octets of a key file, as octets or as hexadecimal digits. */
static void expect_no_key(const char *log, const char *name)
{
	char          path[320], hex[25];
	unsigned char key[512];
	FILE         *f;
	size_t        n;

	snprintf(path, sizeof(path), "%s/keys/%s", instance.data, name);
	f = fopen(path, "re");
	cr_assert_not_null(f, "%s", path);
	n = fread(key, 1, sizeof(key), f);
	fclose(f);
	cr_assert_geq(n, 32);
	for (size_t i = 0; i + 12 <= n; i++) {
		for (unsigned k = 0; k < 12; k++)
			sprintf(hex + 2 * k, "%02x", key[i + k]);
		cr_expect(strcasestr(log, hex) == NULL, "%s in hexadecimal at %zu", name, i);
		cr_expect(memmem(log, strlen(log), key + i, 12) == NULL, "%s at %zu", name, i);
	}
}

Test(guard, events_are_told_and_secrets_are_not)
{
	static const char *const events[] = {
		" event=login user=\"ada\" auth_type=\"BASIC\" address=\"192.0.2.1\"\n",
		" event=login_failed user=\"ada\" auth_type=\"BASIC\" address=\"192.0.2.1\" "
		"reason=\"wrong_password\"\n",
		" event=login_failed user=\"no-such-user\" auth_type=\"BASIC\" "
		"address=\"192.0.2.1\" "
		"reason=\"account_not_found\"\n",
		" event=login_failed user=\"cyd\" auth_type=\"BASIC\" address=\"192.0.2.1\" "
		"reason=\"account_locked\"\n",
		" event=throttled user=\"ada\" auth_type=\"BASIC\" address=\"2001:db8::/64\" "
		"retry_after=",
		" event=impersonation user=\"admin\" target=\"bob\" auth_type=\"BASIC\"",
		" event=impersonation_refused user=\"bob\" target=\"dora\" auth_type=\"BASIC\" "
		"address=\"192.0.2.1\" reason=\"not_an_impersonator\"\n",
		" event=account_changed user=\"",
		" target=\"cyd\" change=\"disabled\" id=\"",
		" event=permissions_changed path=\"/content/dam\"\n",
	};
	static const char *const disable[] = { "user", "disable", "cyd", NULL };
	char                    *said, *log, *basic, *admin = instance.password;
	struct http_response     r;
	unsigned                 logins = 0;

	wait_for("192.0.2.1", "ada", "ada's secret", 200);
	wait_for("192.0.2.1", "bob", "bob's secret", 200);
	for (unsigned i = 0; i < 20; i++) /* no login each */
		cr_assert_eq(status_of("192.0.2.1", "ada", "ada's secret"), 200);
	guess("192.0.2.1", "ada", 5);
	cr_assert_eq(status_of("2001:db8::1", "ada", "a late guess"), 429);
	cr_assert_eq(status_of("192.0.2.1", "no-such-user", "some secret"), 401);
	ask("/test/auth?sudo=bob", "192.0.2.1", "admin", admin, "", &r);
	cr_assert_eq(r.status, 200);
	http_response_done(&r);
	ask("/test/auth?sudo=dora", "192.0.2.1", "bob", "bob's secret", "", &r);
	cr_assert_eq(r.status, 401);
	http_response_done(&r);
	cr_assert_eq(test_instance_cli(&instance, "", &said, disable), 0, "%s", said);
	free(said);
	wait_for("192.0.2.1", "cyd", "cyd's secret", 401);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		wait_for_event(events[i]);

	log = read_log();
	for (const char *at = log; (at = strstr(at, events[0])) != NULL; at++)
		logins++;
	cr_expect_eq(logins, 1, "%u logins of ada", logins);
	cr_expect(strstr(log, "secret") == NULL && strstr(log, "guess") == NULL);
	cr_expect(strstr(log, admin) == NULL);
	cr_expect(strstr(log, "$argon2id$") == NULL);
	basic = http_basic("ada:ada's secret");
	basic[strcspn(basic, "\r")] = '\0';
	cr_expect(strstr(log, strrchr(basic, ' ') + 1) == NULL);
	free(basic);
	expect_no_key(log, "handle.key");
	expect_no_key(log, "session.key");
	free(log);
}
