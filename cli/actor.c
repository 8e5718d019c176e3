/* actor.c - the system user who has called the command.
 *
 * Owns: the user's number. Runs in: the command. Fails with: a line on stderr. Tests:
 * tests/unit/cli/user_test.c. */
#include "actor.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "database.h"

static uid_t caller;
static bool  is_known;

void actor_init(void)
{
	caller = getuid();
	is_known = true;
}

bool actor_tell(struct database *db)
{
	char                 text[300];
	const char          *params[] = { text };
	const struct passwd *user;
	PGresult            *rows;

	if (!is_known)
		actor_init();
	user = getpwuid(caller);
	snprintf(text, sizeof(text), "%.255s (uid %lu)", user != NULL ? user->pw_name : "?",
	         (unsigned long)caller);
	if (!database_query(db, "SELECT set_config('boardwalk.actor', $1, true)", 1, params, &rows))
		return false;
	PQclear(rows);
	return true;
}
