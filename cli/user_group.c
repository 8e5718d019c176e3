/* user_group.c - the command `group`: one row of verbs[] is one of its verbs.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1 after a line on stderr, 2 if it was
 * called wrongly; then nothing has changed.
 * Tests: tests/unit/cli/user_test.c, tests/system/account_test.c. */
#include "user.h"

#include <limits.h>

static bool add_work(struct user_change *c, void *name)
{
	return user_create(c, name, "group");
}

static bool add(struct cli *cli)
{
	return user_change_run(cli, add_work, cli->operands[1]);
}

static bool remove_work(struct user_change *c, void *name)
{
	return user_remove(c, name, USER_GROUP);
}

static bool remove_group(struct cli *cli)
{
	return user_change_run(cli, remove_work, cli->operands[1]);
}

static bool members_work(struct user_change *c, void *group)
{
	for (int i = 2; i < c->cli->n_operands; i++)
		if (!user_set_member(c, group, c->cli->operands[i] + 1,
		                     *c->cli->operands[i] == '+'))
			return false;
	return true;
}

static bool members(struct cli *cli)
{
	if (cli->n_operands == 2)
		return user_look(cli, group_print_members, cli->operands[1]);
	return user_change_run(cli, members_work, cli->operands[1]);
}

static const struct user_verb verbs[] = {
	{ "add", "add NAME [--group GROUP]...", add, USER_OPTION_GROUP, 1, 1 },
	{ "remove", "remove NAME", remove_group, 0, 1, 1 },
	{ "members", "members NAME [+MEMBER|-MEMBER]...", members, 0, 1, INT_MAX },
	{ "list", "list [--json] [PATTERN]", group_list, USER_OPTION_JSON, 0, 1 },
};

int group_main(struct cli *cli)
{
	return user_dispatch(cli, "group", verbs, sizeof(verbs) / sizeof(*verbs));
}
