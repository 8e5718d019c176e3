/* actor.h - who runs this command, for the audit trail of what it changes. */
#pragma once
#include <stdbool.h>

struct database;

/* Before the command becomes another user. Without it: who it is by then. */
void actor_init(void);
/* In a transaction, before its first change: what it writes into journals is this user's. False after a
 * line on stderr. */
bool actor_tell(struct database *db);
