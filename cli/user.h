/* user.h - the commands `user` and `group`: their verbs, and one transaction about accounts. Private
 * to cli/user*.c.
 *
 * Every function that fails has written one line to stderr and answers false. */
#pragma once
#include "cli.h"
#include "database.h"

#include <base/buf.h>
#include <stddef.h>

/* ---- verbs ---- */

enum {
	USER_OPTION_GROUP = 1,
	USER_OPTION_SERVICE = 2,
	USER_OPTION_REASON = 4,
	USER_OPTION_JSON = 8,
};

struct user_verb {
	const char *name, *usage;
	bool (*run)(struct cli *cli);
	unsigned options;               /* USER_OPTION_* it takes */
	int min_operands, max_operands; /* behind the verb: a name or pattern, then +NAME, -NAME */
};

/* Runs the verb that operands[0] names, when all names are such and all options are its own. */
int user_dispatch(struct cli *cli, const char *noun, const struct user_verb *verbs, size_t n);

/* ---- one transaction ---- */

/* What every database begins with; whoever is added has a number above 99. */
enum { USER_ID_ADMIN = 1, USER_ID_ANONYMOUS = 2, USER_ID_EVERYONE = 3 };

struct user_change {
	struct cli     *cli;
	struct database db;
	unsigned        changes; /* 0: there is nothing to commit and nobody to tell */
	struct buf      said;    /* lines, printed when it is committed */
};

/* Opens the database as its owner, runs work in one transaction beside which no other command and no
 * script changes anything, commits, says what was done and rings the bells of auth and repo. */
bool user_change_run(struct cli *cli, bool (*work)(struct user_change *c, void *arg), void *arg);
/* The same for work that only reads: it waits for nobody. */
bool user_look(struct cli *cli, bool (*work)(struct user_change *c, void *arg), void *arg);

enum user_kind { USER_ACCOUNT /* user or service user */, USER_GROUP, USER_ANY };

struct user_found {
	char *name; /* in NFC, owned */
	char *id;   /* owned; as a parameter */
	long  number;
	bool  disabled;
};

/* Fails if there is nobody of that name and kind. user_found_done in any case. */
bool user_find(struct user_change *c, const char *text, enum user_kind kind,
               struct user_found *ret);
void user_found_done(struct user_found *f);
/* One function with one or two (b not NULL) texts; *ret (may be NULL): whether it said true. */
bool user_call(struct user_change *c, const char *sql, const char *a, const char *b, bool *ret);
/* One line about a change, or (user_note) about something that is as wanted already. */
__attribute__((format(printf, 2, 3))) void user_changed(struct user_change *c, const char *format,
                                                        ...);
__attribute__((format(printf, 2, 3))) void user_note(struct user_change *c, const char *format,
                                                     ...);

/* Names as they were typed. */
bool user_create(struct user_change *c, const char *name, const char *class);
bool user_remove(struct user_change *c, const char *name, enum user_kind kind);
bool user_set_member(struct user_change *c, const char *group, const char *member, bool add);

/* ---- user_impersonate.c ---- */

bool user_impersonators(struct cli *cli);

/* ---- looking, user_list.c ---- */

bool user_list(struct cli *cli);
bool user_print_groups(struct user_change *c, void *name);
bool group_list(struct cli *cli);
bool group_print_members(struct user_change *c, void *name);
