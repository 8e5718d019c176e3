/* With DATABASE_URL the operator's server is used instead of a cluster of our own; a database of a
 * later version is left alone. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/postgres.h"

#include <base/schema_version.h>

#define TEXT(number)    TEXT_OF(number)
#define TEXT_OF(number) #number
#define SCHEMA          TEXT(SCHEMA_VERSION)

static char                  urls[3][256];
static const char *const     environment[] = { urls[0], urls[1], urls[2], NULL };
static struct test_postgres *foreign;

static struct test_instance_options use_foreign(void)
{
	static const char *const names[] = { "DATABASE_URL", "AUTH_DATABASE_URL",
		                             "REPO_DATABASE_URL" };
	static const char *const roles[] = { "postgres", "boardwalk_auth", "boardwalk_repo" };

	foreign = test_postgres_new_empty();
	for (size_t i = 0; i < 3; i++)
		snprintf(urls[i], sizeof(urls[i]), "%s=%s", names[i],
		         test_postgres_conninfo(foreign, roles[i]));
	return (struct test_instance_options){ .environment = environment, .fresh = true };
}

static void check_value(const char *sql, const char *want)
{
	char *value = test_postgres_value(foreign, "%s", sql);

	cr_assert_str_eq(value, want, "%s: %s", sql, value);
	free(value);
}

static void check_cells(const struct test_instance *i)
{
	struct http_response r;

	http_ask_once(i->port, "GET", "/content/test/serviceuser", NULL, &r);
	cr_assert_str_eq(r.body, "Hello servlettest the message is Hello World");
	http_response_done(&r);
	http_ask_once(i->port, "GET", "/content/test/auth", i->credentials, &r);
	cr_assert_str_eq(r.body, "Hello admin the dam count is 5");
	http_response_done(&r);
}

Test(database, of_the_operator_is_migrated_and_used)
{
	struct test_instance_options options = use_foreign();
	struct test_instance         i;
	char                         folder[300];

	test_instance_start(&i, &options);
	check_cells(&i);
	snprintf(folder, sizeof(folder), "%s/postgresql", i.data);
	cr_assert_neq(access(folder, F_OK), 0, "a cluster of our own was made as well");
	cr_assert_eq(test_instance_pid(&i, "postgres"), 0);
	check_value("SELECT max(version) FROM public.boardwalk_migration", SCHEMA);
	check_value("SELECT count(*) FROM repo.tree WHERE path LIKE '/content/dam/%'", "5");
	test_instance_stop(&i);
	test_postgres_free(foreign);
}

Test(database, of_a_later_version_is_refused_and_not_touched)
{
	struct test_instance_options options = use_foreign();
	struct test_instance         i;

	test_instance_start(&i, &options);
	cr_assert_eq(test_instance_end(&i), 0);
	test_postgres_sql(foreign, "INSERT INTO public.boardwalk_migration VALUES (99, 'later')");
	test_postgres_sql(foreign, "DELETE FROM repo.tree WHERE path = '/content/dam/five'");
	cr_assert(!test_instance_up(&i, &options));
	waitpid(i.supervisor, NULL, 0);
	i.supervisor = 0;
	cr_assert(test_instance_logged(&i, "the database is at version 99"));
	check_value("SELECT count(*) FROM repo.tree WHERE path = '/content/dam/five'", "0");
	test_instance_stop(&i);
	test_postgres_free(foreign);
}
