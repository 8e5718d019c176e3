/* user_impersonate.c - `user impersonators`: who may act as a user.
 *
 * Owns: nothing. Runs in: the command. Fails with: false after a line on stderr.
 * Tests: tests/unit/cli/user_test.c, tests/system/guard_test.c. */
#include "user.h"

#include <stdio.h>

/* What a right to act as somebody may not be, although the database could hold it. */
static bool is_sensible(const struct user_found *target, const struct user_found *who, bool add)
{
	if (add && target->number == USER_ID_ADMIN)
		return complain("only administrators act as admin: it has no list");
	if (add && target->number == who->number)
		return complain("%s is always itself", target->name);
	return true;
}

static bool set_impersonator(struct user_change *c, const struct user_found *target,
                             const char *name, bool add)
{
	struct user_found who = { 0 };
	bool              news = false;
	bool done = user_find(c, name, USER_ACCOUNT, &who) && is_sensible(target, &who, add) &&
	            user_call(c,
	                      add ? "SELECT auth.impersonator_add($1, $2)"
	                          : "SELECT auth.impersonator_remove($1, $2)",
	                      target->name, who.name, &news);

	if (done && news)
		user_changed(c, add ? "%s may act as %s" : "%s may not act as %s any more",
		             who.name, target->name);
	else if (done)
		user_note(c, add ? "%s may act as %s already" : "%s may not act as %s", who.name,
		          target->name);
	user_found_done(&who);
	return done;
}

static bool change_work(struct user_change *c, void *name)
{
	struct user_found target;
	bool              done = user_find(c, name, USER_ACCOUNT, &target);

	for (int i = 2; i < c->cli->n_operands && done; i++)
		done = set_impersonator(c, &target, c->cli->operands[i] + 1,
		                        *c->cli->operands[i] == '+');
	user_found_done(&target);
	return done;
}

static bool print_work(struct user_change *c, void *name)
{
	struct user_found target;
	const char       *params[1];
	PGresult         *rows;
	bool              done = user_find(c, name, USER_ACCOUNT, &target);

	params[0] = target.name;
	done = done && database_query(&c->db,
	                              "SELECT i.name FROM auth.impersonator m"
	                              " JOIN auth.principal t ON t.id = m.target"
	                              " JOIN auth.principal i ON i.id = m.impersonator"
	                              " WHERE t.name = $1 ORDER BY i.name",
	                              1, params, &rows);
	if (done) {
		for (int i = 0; i < PQntuples(rows); i++)
			user_note(c, "%s", PQgetvalue(rows, i, 0));
		PQclear(rows);
	}
	user_found_done(&target);
	return done;
}

bool user_impersonators(struct cli *cli)
{
	if (cli->n_operands == 2)
		return user_look(cli, print_work, cli->operands[1]);
	return user_change_run(cli, change_work, cli->operands[1]);
}
