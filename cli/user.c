/* user.c - the commands `user add` and `user passwd`.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1 after a line on stderr.
 * Tests: tests/system/change_test.c. */
#include <base/fatal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "database.h"
#include "instance.h"
#include "password.h"

/* The two parameters are the operation's own; auth learns of it by the bell. */
static bool change(struct cli *cli, const char *sql, const char *const params[2])
{
	struct instance instance;
	struct database db = { 0 };
	bool            done;

	if (!instance_find(&instance, &cli->settings))
		return false;
	done = instance_become_owner(&instance) &&
	       database_open(&db, instance.owner_conninfo, false) &&
	       (database_try(&db, sql, 2, params, NULL) || complain("%s", database_reason(&db))) &&
	       database_run(&db, "NOTIFY boardwalk_auth");
	database_close(&db);
	instance_done(&instance);
	return done;
}

static bool add(struct cli *cli, const char *name)
{
	if (!change(cli, "SELECT auth.principal_create($1, $2)", (const char *[]){ name, "user" }))
		return false;
	printf("added user %s; `boardwalk user passwd %s` gives a password\n", name, name);
	return true;
}

static bool passwd(struct cli *cli, const char *name)
{
	char   verifier[PASSWORD_VERIFIER];
	size_t n = 0;
	char  *password = password_read(name, &n);
	bool   done;

	if (password == NULL)
		return false;
	done = password_verifier(&cli->settings, password, n, verifier);
	sodium_memzero(password, n);
	free(password);
	if (!done ||
	    !change(cli, "SELECT auth.password_set($1, $2)", (const char *[]){ name, verifier }))
		return false;
	printf("the password of %s is changed\n", name);
	return true;
}

int user_main(struct cli *cli)
{
	const char *verb = cli->operands[0];
	char       *name = normalise_name(bw_str(cli->operands[1]));
	int         code = CLI_USAGE;

	if (name == NULL)
		complain("'%s' is no name for a user", cli->operands[1]);
	else if (strcmp(verb, "add") == 0)
		code = add(cli, name) ? CLI_OK : CLI_FAILED;
	else if (strcmp(verb, "passwd") == 0)
		code = passwd(cli, name) ? CLI_OK : CLI_FAILED;
	else
		complain("user: '%s' is neither add nor passwd", verb);
	free(name);
	return code;
}
