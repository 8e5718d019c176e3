/* user.c - the command `user`: one row of verbs[] is one of its verbs.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1 after a line on stderr, 2 if it was
 * called wrongly; then nothing has changed.
 * Tests: tests/unit/cli/user_test.c, tests/system/account_test.c. */
#include "user.h"

#include <base/fatal.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "password.h"

#define MAX_REASON 1024u

static const struct user_verb *find_verb(const struct user_verb *verbs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static bool is_name(const char *text)
{
	char *name = normalise_name(bw_str(text));
	bool  good = name != NULL;

	free(name);
	return good || complain("'%s' is no name for a user or group", text);
}

/* The first operand is a name, or a pattern, which consists of the same characters; what looks like an
 * option was meant as one. */
static bool are_names(const struct cli *cli)
{
	for (int i = 1; i < cli->n_operands; i++) {
		const char *text = cli->operands[i];

		if (i == 1 && *text == '-')
			return complain("there is no option '%s'", text);
		if (i > 1 && *text != '+' && *text != '-')
			return complain("'%s' is neither +NAME nor -NAME", text);
		if (!is_name(i > 1 ? text + 1 : text))
			return false;
	}
	for (unsigned i = 0; i < cli->n_groups; i++)
		if (!is_name(cli->groups[i]))
			return false;
	return true;
}

static unsigned options_of(const struct cli *cli)
{
	return (cli->n_groups > 0 ? USER_OPTION_GROUP : 0) |
	       (cli->service ? USER_OPTION_SERVICE : 0) |
	       (cli->reason != NULL ? USER_OPTION_REASON : 0) | (cli->json ? USER_OPTION_JSON : 0);
}

int user_dispatch(struct cli *cli, const char *noun, const struct user_verb *verbs, size_t n)
{
	const struct user_verb *verb = find_verb(verbs, n, cli->operands[0]);
	int                     operands = cli->n_operands - 1;

	if (verb == NULL) {
		complain("%s: there is no verb '%s'; there are", noun, cli->operands[0]);
		for (size_t i = 0; i < n; i++)
			fprintf(stderr, "  boardwalk %s %s\n", noun, verbs[i].usage);
		return CLI_USAGE;
	}
	if (operands < verb->min_operands || operands > verb->max_operands ||
	    (options_of(cli) & ~verb->options) != 0) {
		complain("usage: boardwalk %s %s", noun, verb->usage);
		return CLI_USAGE;
	}
	if (!are_names(cli))
		return CLI_USAGE;
	return verb->run(cli) ? CLI_OK : CLI_FAILED;
}

/* ---- the verbs ---- */

static bool add_work(struct user_change *c, void *name)
{
	return user_create(c, name, c->cli->service ? "service" : "user");
}

static bool add(struct cli *cli)
{
	return user_change_run(cli, add_work, cli->operands[1]);
}

static bool passwd_work(struct user_change *c, void *verifier)
{
	struct user_found f;
	bool              done = user_find(c, c->cli->operands[1], USER_ACCOUNT, &f) &&
	            user_call(c, "SELECT auth.password_set($1, $2)", f.name, verifier, NULL);

	if (done)
		user_changed(c, "the password of %s is changed", f.name);
	user_found_done(&f);
	return done;
}

static bool passwd(struct cli *cli)
{
	char   verifier[PASSWORD_VERIFIER];
	size_t n = 0;
	char  *password = password_read(cli->operands[1], &n);
	bool   done;

	if (password == NULL)
		return false;
	done = password_verifier(&cli->settings, password, n, verifier);
	sodium_memzero(password, n);
	free(password);
	return done && user_change_run(cli, passwd_work, verifier);
}

/* Requests without credentials never ask for anonymous's row: what they may do is said by entries. */
static bool may_disable(const struct user_found *f)
{
	if (f->number == USER_ID_ADMIN)
		return complain("admin cannot be disabled");
	if (f->number == USER_ID_ANONYMOUS)
		return complain(
			"anonymous cannot be disabled: its rights are entries, which can be "
			"taken away");
	return true;
}

/* A reason that was given replaces that of before; none leaves it. */
static bool disable_found(struct user_change *c, const struct user_found *f)
{
	const char *params[] = { f->name, c->cli->reason };
	PGresult   *rows;

	if (f->disabled && c->cli->reason == NULL) {
		user_note(c, "%s is disabled already", f->name);
		return true;
	}
	if (!database_try(&c->db, "SELECT auth.principal_disable($1, $2::text)", 2, params, &rows))
		return complain("%s", database_reason(&c->db));
	if (strcmp(PQgetvalue(rows, 0, 0), "t") == 0)
		user_changed(c, "disabled %s", f->name);
	else
		user_note(c, "%s is disabled already", f->name);
	PQclear(rows);
	return true;
}

static bool disable_work(struct user_change *c, void *name)
{
	struct user_found f;
	bool done = user_find(c, name, USER_ACCOUNT, &f) && may_disable(&f) && disable_found(c, &f);

	user_found_done(&f);
	return done;
}

static bool disable(struct cli *cli)
{
	size_t n = cli->reason != NULL ? strlen(cli->reason) : 1;

	if (n < 1 || n > MAX_REASON)
		return complain("a reason has 1 to %u octets", MAX_REASON);
	return user_change_run(cli, disable_work, cli->operands[1]);
}

static bool enable_work(struct user_change *c, void *name)
{
	struct user_found f;
	bool              done = user_find(c, name, USER_ACCOUNT, &f);

	if (done && f.disabled) {
		done = user_call(c, "SELECT auth.principal_disable($1, false)", f.name, NULL, NULL);
		if (done)
			user_changed(c, "enabled %s", f.name);
	} else if (done)
		user_note(c, "%s is enabled already", f.name);
	user_found_done(&f);
	return done;
}

static bool enable(struct cli *cli)
{
	return user_change_run(cli, enable_work, cli->operands[1]);
}

static bool logout_work(struct user_change *c, void *name)
{
	struct user_found f;
	bool              done = user_find(c, name, USER_ACCOUNT, &f) &&
	            user_call(c, "SELECT auth.sessions_end($1)", f.name, NULL, NULL);

	if (done)
		user_changed(c, "all sessions of %s are ended", f.name);
	user_found_done(&f);
	return done;
}

static bool logout(struct cli *cli)
{
	return user_change_run(cli, logout_work, cli->operands[1]);
}

static bool remove_work(struct user_change *c, void *name)
{
	return user_remove(c, name, USER_ACCOUNT);
}

static bool remove_user(struct cli *cli)
{
	return user_change_run(cli, remove_work, cli->operands[1]);
}

static bool groups_work(struct user_change *c, void *name)
{
	struct user_found f;
	bool              done = user_find(c, name, USER_ACCOUNT, &f);

	for (int i = 2; i < c->cli->n_operands && done; i++)
		done = user_set_member(c, c->cli->operands[i] + 1, f.name,
		                       *c->cli->operands[i] == '+');
	user_found_done(&f);
	return done;
}

static bool groups(struct cli *cli)
{
	if (cli->n_operands == 2)
		return user_look(cli, user_print_groups, cli->operands[1]);
	return user_change_run(cli, groups_work, cli->operands[1]);
}

static const struct user_verb verbs[] = {
	{ "add", "add NAME [--group GROUP]... [--service]", add,
	  USER_OPTION_GROUP | USER_OPTION_SERVICE, 1, 1 },
	{ "passwd", "passwd NAME", passwd, 0, 1, 1 },
	{ "disable", "disable NAME [--reason TEXT]", disable, USER_OPTION_REASON, 1, 1 },
	{ "enable", "enable NAME", enable, 0, 1, 1 },
	{ "logout", "logout NAME", logout, 0, 1, 1 },
	{ "remove", "remove NAME", remove_user, 0, 1, 1 },
	{ "groups", "groups NAME [+GROUP|-GROUP]...", groups, 0, 1, INT_MAX },
	{ "impersonators", "impersonators NAME [+USER|-USER]...", user_impersonators, 0, 1,
	  INT_MAX },
	{ "list", "list [--json] [PATTERN]", user_list, USER_OPTION_JSON, 0, 1 },
};

int user_main(struct cli *cli)
{
	return user_dispatch(cli, "user", verbs, sizeof(verbs) / sizeof(*verbs));
}
