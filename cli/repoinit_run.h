/* repoinit_run.h - one run of a repoinit script. Private to cli/repoinit*.c.
 *
 * Every function that fails answers false after a line with the place on stderr, or, if the whole
 * transaction may succeed when tried again, without a word and with run->retry set. */
#pragma once
#include "cli.h"
#include "database.h"

#include <base/arena.h>
#include <base/buf.h>
#include <repoinit/repoinit.h>

struct run {
	struct database           *db;
	const struct cli_settings *settings;
	const char                *name;
	bool                       quiet;
	unsigned                   changes;
	struct buf                 said;    /* their lines, printed when they are committed */
	struct buf                 touched; /* paths of nodes to check, as the text of an array */
	bool                       retry;   /* it failed, but may succeed when tried again */
	struct arena               homes;   /* texts of paths that begin with home(NAME) */
};

/* Always false. */
__attribute__((format(printf, 3, 4))) bool run_fail(const struct run *run, struct repoinit_at at,
                                                    const char *format, ...);
/* A line about something that is no error and changes nothing: "note" or "warning". */
__attribute__((format(printf, 4, 5))) void run_note(const struct run *run, struct repoinit_at at,
                                                    const char *kind, const char *format, ...);
/* One line about a change: "created /a/b". */
__attribute__((format(printf, 2, 3))) void run_changed(struct run *run, const char *format, ...);
/* A node was made or changed: whether it is as its types want it is asked behind the statement. */
void run_touched(struct run *run, const char *path);

/* The first column of the first row, owned (free); NULL in *ret if there is no row or it is NULL. */
bool run_ask(struct run *run, struct repoinit_at at, const char *sql, int n_params,
             const char *const *params, char **ret);
bool run_ask_bool(struct run *run, struct repoinit_at at, const char *sql, int n_params,
                  const char *const *params, bool *ret);
/* Whether there is a node. */
bool run_exists(struct run *run, const struct repoinit_word *path, bool *ret);
/* The id as text, owned; NULL in *ret if there is nobody of that name. */
bool run_find_principal(struct run *run, const struct repoinit_word *name, char **ret);
/* {"a","b \"c"}, owned: words as the text of a PostgreSQL array; no words are the empty array. */
char *run_array(const struct repoinit_word *words);

/* Whether the word is the repository itself. */
static inline bool run_is_repository(const struct repoinit_word *path)
{
	return bw_str_eq(path->text, BW_STR(REPOINIT_REPOSITORY));
}
/* {"NAME":["VALUE",...],...}, owned. */
char *run_restrictions(const struct repoinit_restriction *r);
/* Whether the line's privileges and restrictions may stand in an entry of that path. */
bool run_check_entry(struct run *run, const struct repoinit_acl_line *line,
                     const struct repoinit_word *path);

bool run_register_namespace(struct run *run, const struct repoinit_word *prefix,
                            const struct repoinit_word *uri); /* repoinit_node.c */

bool run_path(struct run *run, const struct repoinit_statement *s);           /* repoinit_node.c */
bool run_mixins(struct run *run, const struct repoinit_statement *s);         /* repoinit_node.c */
bool run_set_properties(struct run *run, const struct repoinit_statement *s); /* repoinit_node.c */
bool run_namespace(struct run *run, const struct repoinit_statement *s);      /* repoinit_node.c */
bool run_node_types(struct run *run, const struct repoinit_statement *s);     /* repoinit_types.c */
bool run_privilege(struct run *run, const struct repoinit_statement *s);      /* repoinit_acl.c */
bool run_set_acl(struct run *run, const struct repoinit_statement *s);        /* repoinit_acl.c */
bool run_remove_ace(struct run *run, const struct repoinit_statement *s);     /* repoinit_acl.c */
bool run_delete_acl(struct run *run, const struct repoinit_statement *s);     /* repoinit_acl.c */
bool run_own_acl(struct run *run, const struct repoinit_statement *s);        /* _own.c */
bool run_delete_own_acl(struct run *run, const struct repoinit_statement *s); /* _own.c */
/* Gives the paths of a statement that begin with home(NAME) their texts. */
bool run_find_homes(struct run *run, const struct repoinit_statement *s);        /* _home.c */
bool run_create_principals(struct run *run, const struct repoinit_statement *s); /* _principal.c */
bool run_delete_principals(struct run *run, const struct repoinit_statement *s); /* _principal.c */
bool run_disable(struct run *run, const struct repoinit_statement *s);           /* _principal.c */
bool run_membership(struct run *run, const struct repoinit_statement *s);        /* _principal.c */
