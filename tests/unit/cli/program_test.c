/* cli/program.c: what each child is told, and what it must not be told. */
#include <base/fatal.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* Programs that exist and can be run. */
static void make_files(void)
{
	static const char *const names[] = { "boardwalk-gateway", "boardwalk-auth",
		                             "boardwalk-repo" };

	strcpy(folder, "/tmp/boardwalk-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *file = xasprintf("%s/%s", folder, names[i]);
		int   fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

		cr_assert_geq(fd, 0);
		close(fd);
		free(file);
	}
}

static void remove_files(void)
{
	char *command = xasprintf("rm -r %s", folder);

	cr_assert_eq(system(command), 0);
	free(command);
}

static struct cli_settings settings = {
	.listen = (char *)"127.0.0.1:1",
	.management = (char *)"127.0.0.1:2",
	.user = (char *)"the-owner",
	.gateway_user = (char *)"the-gateway",
	.auth_user = (char *)"the-auth",
	.repo_user = (char *)"the-repo",
	.bin = folder,
};

static struct instance instance = {
	.settings = &settings,
	.data = (char *)"/data",
	.run = (char *)"/run",
	.owner_conninfo = (char *)"secret-of-owner",
	.auth_conninfo = (char *)"secret-of-auth",
	.repo_conninfo = (char *)"secret-of-repo",
	.separated = true,
};

/* The value of a variable in the list; NULL: not there. Fails if it is there twice. */
static const char *value_of(char *const *list, const char *name)
{
	const char *value = NULL;
	size_t      n = strlen(name);

	for (; *list != NULL; list++)
		if (strncmp(*list, name, n) == 0 && (*list)[n] == '=') {
			cr_assert_null(value, "%s is there twice", name);
			value = *list + n + 1;
		}
	return value;
}

static bool mentions(char *const *list, const char *text)
{
	for (; *list != NULL; list++)
		if (strstr(*list, text) != NULL)
			return true;
	return false;
}

Test(program, each_child_gets_its_own_database_and_nobody_elses, .init = make_files,
     .fini = remove_files)
{
	static const struct {
		const char *section, *variable, *own;
	} rows[] = {
		{ "gateway", NULL, NULL },
		{ "auth", "AUTH_DATABASE_URL", "secret-of-auth" },
		{ "repo", "REPO_DATABASE_URL", "secret-of-repo" },
	};
	static const char *const secrets[] = { "secret-of-owner", "secret-of-auth",
		                               "secret-of-repo" };
	struct cli               cli = { 0 };

	setenv("DATABASE_URL", "secret-of-owner", 1);
	setenv("PGPASSWORD", "secret-of-owner", 1);
	for (size_t i = 0; i < 3; i++) {
		struct program p;

		cr_assert(program_make(&p, &cli, &instance, rows[i].section));
		for (size_t k = 0; k < 3; k++)
			cr_assert_eq(mentions(p.environment, secrets[k]),
			             rows[i].own != NULL && strcmp(rows[i].own, secrets[k]) == 0,
			             "%s, %s", rows[i].section, secrets[k]);
		if (rows[i].own != NULL)
			cr_assert_str_eq(value_of(p.environment, rows[i].variable), rows[i].own);
		cr_assert_str_eq(value_of(p.environment, "BOARDWALK_DIE_WITH_PARENT"), "1");
		cr_assert_null(value_of(p.environment, "PGPASSWORD"));
		program_done(&p);
	}
}

Test(program, the_operators_variables_of_a_section_go_to_that_child_unless_decided_here,
     .init = make_files, .fini = remove_files)
{
	struct program gateway, auth;
	struct cli     cli = { 0 };

	setenv("BOARDWALK_GATEWAY_WORKERS", "3", 1);
	setenv("BOARDWALK_GATEWAY_LISTEN", "0.0.0.0:80", 1);
	setenv("BOARDWALK_AUTH_ARGON2_OPS", "1", 1);
	cr_assert(program_make(&gateway, &cli, &instance, "gateway"));
	cr_assert(program_make(&auth, &cli, &instance, "auth"));
	cr_assert_str_eq(value_of(gateway.environment, "BOARDWALK_GATEWAY_WORKERS"), "3");
	cr_assert_str_eq(value_of(gateway.environment, "BOARDWALK_GATEWAY_LISTEN"), "127.0.0.1:1");
	cr_assert_str_eq(value_of(gateway.environment, "BOARDWALK_GATEWAY_STORE"), "/data/bundles");
	cr_assert_str_eq(value_of(gateway.environment, "BOARDWALK_GATEWAY_CONTROL_SOCKET"),
	                 "/run/gateway/control.sock");
	cr_assert_str_eq(value_of(gateway.environment, "BOARDWALK_GATEWAY_OWNER"), "the-owner");
	cr_assert_null(value_of(gateway.environment, "BOARDWALK_AUTH_ARGON2_OPS"));
	cr_assert_str_eq(value_of(auth.environment, "BOARDWALK_AUTH_ARGON2_OPS"), "1");
	cr_assert_null(value_of(auth.environment, "BOARDWALK_GATEWAY_WORKERS"));
	cr_assert_str_eq(value_of(auth.environment, "BOARDWALK_AUTH_USER"), "the-auth");
	cr_assert_str_eq(value_of(auth.environment, "BOARDWALK_AUTH_GATEWAY_USER"), "the-gateway");
	program_done(&gateway);
	program_done(&auth);
	program_done(&auth);
}

Test(program, as_one_ordinary_user_nobody_changes_user, .init = make_files, .fini = remove_files)
{
	struct instance ordinary = instance;
	struct program  p;
	struct cli      cli = { 0 };

	ordinary.separated = false;
	cr_assert(program_make(&p, &cli, &ordinary, "repo"));
	cr_assert_str_eq(value_of(p.environment, "BOARDWALK_REPO_USER"), "");
	cr_assert_str_neq(value_of(p.environment, "BOARDWALK_REPO_GATEWAY_USER"), "the-gateway");
	program_done(&p);
}

Test(program, a_missing_program_is_refused, .init = make_files, .fini = remove_files)
{
	struct cli_settings other = settings;
	struct instance     with = instance;
	struct program      p;
	struct cli          cli = { 0 };

	with.settings = &other;
	other.bin = (char *)"/usr";
	cr_assert(!program_make(&p, &cli, &with, "auth"));
	program_done(&p);
	other.bin = (char *)"/nowhere";
	cr_assert(!program_make(&p, &cli, &with, "auth"));
	program_done(&p);
}
