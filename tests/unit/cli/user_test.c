/* cli/user*.c: what each verb changes and says, and that what fails changes nothing. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/postgres.h>
#include <sys/mman.h>
#include <unistd.h>
#include <user.h>

struct row {
	const char *words[6]; /* the command, then its operands */
	int         code;
	unsigned    news; /* rows of auth's journal */
	const char *says; /* a part of it */
	/* options */
	const char *group, *reason;
	bool        service, json;
};

static int run(const struct row *r)
{
	const char *groups[] = { r->group };
	struct cli  cli = {
		 .operands = (char **)(r->words + 1),
		 .groups = groups,
		 .n_groups = r->group != NULL,
		 .reason = r->reason,
		 .service = r->service,
		 .json = r->json,
	};
	int code;

	while (cli.operands[cli.n_operands] != NULL)
		cli.n_operands++;
	cr_assert(settings_load(&cli));
	cli.settings.argon2_ops = 1;
	cli.settings.argon2_mem = 8192;
	code = strcmp(r->words[0], "group") == 0 ? group_main(&cli) : user_main(&cli);
	settings_done(&cli);
	return code;
}

/* Stdout and stderr together, owned. */
static char *run_captured(const struct row *r, int *ret_code)
{
	int   out = memfd_create("output", MFD_CLOEXEC);
	int   saved[] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	off_t size;
	char *text;

	fflush(NULL);
	cr_assert(dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0);
	*ret_code = run(r);
	fflush(NULL);
	dup2(saved[0], STDOUT_FILENO);
	dup2(saved[1], STDERR_FILENO);
	close(saved[0]);
	close(saved[1]);
	size = lseek(out, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	cr_assert_eq(pread(out, text, (size_t)size, 0), size);
	close(out);
	return text;
}

static void take_input(const char *text)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
}

/* All there is of accounts. */
static char *state(struct test_postgres *p)
{
	return test_postgres_value(
		p, "SELECT concat((SELECT json_agg(x ORDER BY id) FROM auth.principal x),"
		   " (SELECT json_agg(x ORDER BY x.grp, x.member) FROM auth.membership x),"
		   " (SELECT json_agg(x ORDER BY x.principal) FROM auth.credential x),"
		   " (SELECT json_agg(x ORDER BY x.target, x.impersonator) FROM auth.impersonator "
		   "x))");
}

static unsigned count_news(struct test_postgres *p)
{
	char    *text = test_postgres_value(p, "SELECT count(*) FROM auth.journal");
	unsigned n = (unsigned)strtoul(text, NULL, 10);

	free(text);
	return n;
}

static void check(struct test_postgres *p, const struct row *r, size_t number)
{
	char    *before = state(p), *after, *said;
	unsigned news = count_news(p);
	int      code;

	take_input("secret\n");
	said = run_captured(r, &code);
	after = state(p);
	cr_expect_eq(code, r->code, "row %zu: %d: %s", number, code, said);
	cr_expect_eq(count_news(p) - news, r->news, "row %zu", number);
	cr_expect(strstr(said, r->says) != NULL, "row %zu: %s", number, said);
	if (code != CLI_OK)
		cr_expect_str_eq(before, after, "row %zu", number);
	free(before);
	free(after);
	free(said);
}

static struct test_postgres *open_server(void)
{
	struct test_postgres *p = test_postgres_new();

	setenv("DATABASE_URL", test_postgres_conninfo(p, "postgres"), 1);
	return p;
}

static void check_all(const struct row *rows, size_t n)
{
	struct test_postgres *p = open_server();

	for (size_t i = 0; i < n; i++)
		check(p, &rows[i], i);
	test_postgres_free(p);
}

#define CHECK_ALL(rows) check_all(rows, sizeof(rows) / sizeof(*(rows)))

Test(user, each_verb_does_its_work_once)
{
	static const struct row rows[] = {
		{ { "group", "add", "team" }, 0, 1, .says = "added group team\n" },
		{ { "group", "add", "staff" },
		  0,
		  2,
		  .says = "added staff to team\n",
		  .group = "team" },
		{ { "user", "add", "ada" }, 0, 2, .says = "added user ada;", .group = "staff" },
		{ { "user", "add", "bot" },
		  0,
		  1,
		  .says = "added service user bot\n",
		  .service = true },
		{ { "user", "groups", "ada" },
		  0,
		  0,
		  .says = "staff\nteam (through another group)\n" },
		{ { "user", "groups", "bot", "+staff", "+team" },
		  0,
		  2,
		  .says = "added bot to team\n" },
		{ { "user", "groups", "bot", "+staff", "-team" },
		  0,
		  1,
		  .says = "bot is in staff already\n"
		          "took bot out of team\n" },
		{ { "user", "groups", "bot", "-team" }, 0, 0, .says = "bot is not in team\n" },
		{ { "group", "members", "staff" }, 0, 0, .says = "ada\nbot (service)\n" },
		{ { "group", "members", "team", "+bot", "-staff" },
		  0,
		  2,
		  .says = "took staff out of team" },
		{ { "group", "list" },
		  0,
		  0,
		  .says = "everyone                     all\nstaff       " },
		{ { "group", "list", "t*" },
		  0,
		  0,
		  .says = "MEMBERS\nteam                           1\n" },
		{ { "group", "list", "te_m" }, 0, 0, .says = "MEMBERS\n" },
		{ { "user", "passwd", "ada" }, 0, 1, .says = "the password of ada is changed\n" },
		{ { "user", "disable", "ada" },
		  0,
		  1,
		  .says = "disabled ada\n",
		  .reason = "on\tleave" },
		{ { "user", "disable", "ada" }, 0, 0, .says = "ada is disabled already\n" },
		{ { "user", "list", "a?a" },
		  0,
		  0,
		  .says = "ada                      user     disabled  yes       staff\n"
		          "  disabled: on leave\n" },
		{ { "user", "list", "admin" },
		  0,
		  0,
		  .says = "admin                    user     enabled   no        -\n" },
		{ { "user", "list", "ad" }, 0, 0, .says = "GROUPS\n" },
		{ { "user", "list", "ada" },
		  0,
		  0,
		  .says = "\"groups\": [\n        \"staff\"\n",
		  .json = true },
		{ { "user", "disable", "ada" }, 0, 0, .says = "disabled ada\n", .reason = "gone" },
		{ { "user", "enable", "ada" }, 0, 1, .says = "enabled ada\n" },
		{ { "user", "enable", "ada" }, 0, 0, .says = "ada is enabled already\n" },
		{ { "user", "disable", "bot" }, 0, 1, .says = "disabled bot\n" },
		{ { "user", "remove", "ada" }, 0, 1, .says = "removed ada\n" },
		{ { "group", "remove", "staff" }, 0, 1, .says = "removed staff\n" },
		{ { "group", "members", "team" }, 0, 0, .says = "bot (service)\n" },
	};

	CHECK_ALL(rows);
}

Test(user, impersonators)
{
	static const struct row rows[] = {
		{ { "user", "add", "ada" }, 0, 1, .says = "added user ada" },
		{ { "user", "add", "bob" }, 0, 1, .says = "added user bob" },
		{ { "user", "add", "robot" }, 0, 1, .says = "added", .service = true },
		{ { "group", "add", "team" }, 0, 1, .says = "added group team\n" },
		{ { "user", "impersonators", "bob", "+ada" },
		  0,
		  1,
		  .says = "ada may act as bob\n" },
		{ { "user", "impersonators", "bob", "+ada" },
		  0,
		  0,
		  .says = "ada may act as bob already" },
		{ { "user", "impersonators", "bob" }, 0, 0, .says = "ada\n" },
		{ { "user", "impersonators", "ada", "+admin", "-bob" },
		  0,
		  1,
		  .says = "bob may not act as ada" },
		{ { "user", "impersonators", "bob", "+team" },
		  1,
		  0,
		  .says = "a group and no user" },
		{ { "user", "impersonators", "bob", "+robot" }, 1, 0, .says = "no user that can" },
		{ { "user", "impersonators", "robot", "+bob" }, 1, 0, .says = "no user that can" },
		{ { "user", "impersonators", "bob", "+anonymous" },
		  1,
		  0,
		  .says = "no user that can" },
		{ { "user", "impersonators", "bob", "+bob" }, 1, 0, .says = "always itself" },
		{ { "user", "impersonators", "bob", "+eve" },
		  1,
		  0,
		  .says = "there is no user 'eve'" },
		{ { "user", "impersonators", "admin", "+ada" },
		  1,
		  0,
		  .says = "only administrators" },
		{ { "user", "impersonators", "eve" }, 1, 0, .says = "there is no user 'eve'" },
		{ { "user", "impersonators", "bob", "ada" }, 2, 0, .says = "neither" },
		{ { "user", "impersonators", "bob", "-ada" },
		  0,
		  1,
		  .says = "ada may not act as bob any more" },
		{ { "user", "impersonators", "bob", "-ada" },
		  0,
		  0,
		  .says = "ada may not act as bob\n" },
	};

	CHECK_ALL(rows);
}

/* Who has called the command stands in the journal, which auth prints. */
Test(user, the_journal_knows_who)
{
	struct test_postgres   *p = open_server();
	static const struct row add = { { "user", "add", "ada" }, 0, 1, .says = "added user ada" };
	char                   *actor, expected[64];

	check(p, &add, 0);
	actor = test_postgres_value(p, "SELECT actor FROM auth.journal ORDER BY seq DESC LIMIT 1");
	snprintf(expected, sizeof(expected), "(uid %lu)", (unsigned long)getuid());
	cr_expect(strstr(actor, expected) != NULL, "%s", actor);
	free(actor);
	test_postgres_free(p);
}

Test(user, what_is_refused_changes_nothing)
{
	static const char       too_long[1026] = { [0 ... 1024] = 'x' };
	static const struct row rows[] = {
		{ { "group", "add", "team" }, 0, 1, .says = "added group team" },
		{ { "group", "add", "staff" }, 0, 2, .says = "", .group = "team" },
		{ { "user", "add", "ada" }, 0, 1, .says = "added user ada" },
		{ { "user", "add", "bot" }, 0, 1, .says = "", .service = true },
		/* called wrongly */
		{ { "user", "delete", "ada" }, 2, 0, .says = "there is no verb 'delete'" },
		{ { "user", "add" }, 2, 0, .says = "usage: boardwalk user add NAME" },
		{ { "user", "add", "a", "b" }, 2, 0, .says = "usage: boardwalk user add NAME" },
		{ { "user", "remove", "ada" }, 2, 0, .says = "usage:", .service = true },
		{ { "user", "enable", "ada" }, 2, 0, .says = "usage:", .reason = "x" },
		{ { "group", "remove", "team" }, 2, 0, .says = "usage:", .group = "staff" },
		{ { "group", "members", "team" }, 2, 0, .says = "usage:", .json = true },
		{ { "user", "add", "a:b" }, 2, 0, .says = "'a:b' is no name" },
		{ { "user", "add", "-h" }, 2, 0, .says = "there is no option '-h'" },
		{ { "user", "add", "" }, 2, 0, .says = "'' is no name" },
		{ { "user", "add", "eve" }, 2, 0, .says = "'\xff' is no name", .group = "\xff" },
		{ { "user", "groups", "ada", "team" },
		  2,
		  0,
		  .says = "'team' is neither +NAME nor -NAME" },
		{ { "user", "groups", "ada", "+team", "-" }, 2, 0, .says = "'' is no name" },
		/* nobody, or somebody else */
		{ { "user", "add", "ada" }, 1, 0, .says = "principal \"ada\" exists already" },
		{ { "user", "add", "team" }, 1, 0, .says = "principal \"team\" exists already" },
		{ { "group", "add", "ada" }, 1, 0, .says = "principal \"ada\" exists already" },
		{ { "user", "add", "eve" },
		  1,
		  0,
		  .says = "there is no group 'nobody'",
		  .group = "nobody" },
		{ { "user", "add", "eve" },
		  1,
		  0,
		  .says = "'ada' is a user and no group",
		  .group = "ada" },
		{ { "user", "passwd", "eve" }, 1, 0, .says = "there is no user 'eve'" },
		{ { "user", "passwd", "bot" }, 1, 0, .says = "\"bot\" cannot have a password" },
		{ { "user", "passwd", "team" }, 1, 0, .says = "'team' is a group and no user" },
		{ { "user", "disable", "eve" }, 1, 0, .says = "there is no user 'eve'" },
		{ { "user", "disable", "team" }, 1, 0, .says = "'team' is a group and no user" },
		{ { "user", "disable", "ada" }, 1, 0, .says = "a reason has 1 to", .reason = "" },
		{ { "user", "disable", "ada" },
		  1,
		  0,
		  .says = "a reason has 1 to",
		  .reason = too_long },
		{ { "user", "enable", "eve" }, 1, 0, .says = "there is no user 'eve'" },
		{ { "user", "remove", "eve" }, 1, 0, .says = "there is no user 'eve'" },
		{ { "user", "remove", "team" }, 1, 0, .says = "'team' is a group and no user" },
		{ { "group", "remove", "ada" }, 1, 0, .says = "'ada' is a user and no group" },
		{ { "user", "groups", "eve" }, 1, 0, .says = "there is no user 'eve'" },
		{ { "user", "groups", "ada", "+team", "+nobody" },
		  1,
		  0,
		  .says = "no group 'nobody'" },
		{ { "group", "members", "nobody", "+ada" }, 1, 0, .says = "no group 'nobody'" },
		{ { "group", "members", "team", "+ada", "-eve" },
		  1,
		  0,
		  .says = "no user or group 'eve'" },
		{ { "group", "members", "staff", "+team" }, 1, 0, .says = "would close a cycle" },
		{ { "group", "members", "team", "+team" }, 1, 0, .says = "would close a cycle" },
		/* what every database begins with */
		{ { "user", "disable", "admin" }, 1, 0, .says = "admin cannot be disabled" },
		{ { "user", "remove", "admin" }, 1, 0, .says = "admin cannot be removed" },
		{ { "user", "disable", "anonymous" },
		  1,
		  0,
		  .says = "anonymous cannot be disabled" },
		{ { "user", "remove", "anonymous" }, 1, 0, .says = "anonymous cannot be removed" },
		{ { "user", "passwd", "anonymous" }, 1, 0, .says = "cannot have a password" },
		{ { "user", "groups", "anonymous", "+team" }, 1, 0, .says = "to no other group" },
		{ { "group", "remove", "everyone" }, 1, 0, .says = "everyone cannot be removed" },
		{ { "group", "members", "everyone" }, 1, 0, .says = "all belong to everyone" },
		{ { "user", "groups", "ada", "+everyone" },
		  1,
		  0,
		  .says = "all belong to everyone" },
		{ { "user", "groups", "ada", "-everyone" },
		  1,
		  0,
		  .says = "all belong to everyone" },
		{ { "group", "members", "team", "+everyone" },
		  1,
		  0,
		  .says = "cannot belong to a group" },
	};

	CHECK_ALL(rows);
}

static unsigned count_bells(PGconn *conn)
{
	PGnotify *bell;
	unsigned  n = 0;

	PQclear(PQexec(conn, "SELECT 1")); /* what was rung before this is here with its answer */
	while ((bell = PQnotifies(conn)) != NULL) {
		PQfreemem(bell);
		n++;
	}
	return n;
}

Test(user, change_rings_both_bells_and_what_changes_nothing_rings_none)
{
	static const struct row rows[] = {
		{ { "user", "add", "ada" }, 0, 1, .says = "added" },
		{ { "user", "enable", "ada" }, 0, 0, .says = "already" },
		{ { "user", "groups", "ada", "+nobody" }, 1, 0, .says = "there is no group" },
		{ { "user", "list" }, 0, 0, .says = "ada " },
		{ { "user", "remove", "ada" }, 0, 1, .says = "removed" },
	};
	struct test_postgres *p = open_server();
	PGconn               *conn = PQconnectdb(test_postgres_conninfo(p, "postgres"));

	PQclear(PQexec(conn, "LISTEN boardwalk_auth"));
	PQclear(PQexec(conn, "LISTEN boardwalk_repo"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		check(p, &rows[i], i);
		cr_expect_eq(count_bells(conn), rows[i].news > 0 ? 2 : 0, "row %zu", i);
	}
	PQfinish(conn);
	test_postgres_free(p);
}

Test(user, without_a_database_nothing_is_done)
{
	static const struct row add = { { "user", "add", "ada" }, .code = 1 };
	int                     code;
	char                   *said;

	setenv("DATABASE_URL", "host=/nowhere dbname=boardwalk", 1);
	said = run_captured(&add, &code);
	cr_assert_eq(code, CLI_FAILED);
	cr_assert(strstr(said, "PostgreSQL: ") != NULL, "%s", said);
	free(said);
}
