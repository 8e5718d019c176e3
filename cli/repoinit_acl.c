/* repoinit_acl.c - repoinit's statements about access control lists, and privileges.
 *
 * Whether a statement is `on` paths or `for` principals, it is carried out path by path: lists of
 * different nodes do not bear on each other.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor. Fails with: false, as
 * repoinit_run.h says. Tests: tests/conformance/repoinit. */
#include <base/fatal.h>
#include <stdlib.h>
#include <string.h>

#include "repoinit_run.h"
#include "value.h"

/* What is done with one path of a statement. */
typedef bool path_fn(struct run *run, const struct repoinit_word *path,
                     const struct repoinit_statement *s);

static bool names_path(const struct repoinit_acl_line *line, const struct repoinit_word *path)
{
	for (const struct repoinit_word *p = line->paths; p != NULL; p = p->next)
		if (bw_str_eq(p->text, path->text))
			return true;
	return false;
}

/* A line bears on a path if it names it, or if the statement does. */
static bool bears_on(const struct repoinit_statement *s, const struct repoinit_acl_line *line,
                     const struct repoinit_word *path)
{
	return s->acl.paths != NULL || names_path(line, path);
}

/* Whether an earlier line of a `for` statement, or the same line before this word, names the path. */
static bool seen_before(const struct repoinit_statement *s, const struct repoinit_acl_line *line,
                        const struct repoinit_word *path)
{
	for (const struct repoinit_acl_line *l = s->acl.lines; l != line; l = l->next)
		if (names_path(l, path))
			return true;
	for (const struct repoinit_word *p = line->paths; p != path; p = p->next)
		if (bw_str_eq(p->text, path->text))
			return true;
	return false;
}

static bool each_path(struct run *run, const struct repoinit_statement *s, path_fn *fn)
{
	for (const struct repoinit_word *p = s->acl.paths; p != NULL; p = p->next)
		if (!fn(run, p, s))
			return false;
	if (s->acl.paths != NULL)
		return true;
	for (const struct repoinit_acl_line *l = s->acl.lines; l != NULL; l = l->next)
		for (const struct repoinit_word *p = l->paths; p != NULL; p = p->next)
			if (!seen_before(s, l, p) && !fn(run, p, s))
				return false;
	return true;
}

static const struct repoinit_word *principals_of(const struct repoinit_statement *s,
                                                 const struct repoinit_acl_line  *line)
{
	return s->acl.principals != NULL ? s->acl.principals : line->principals;
}

static bool run_sql(struct run *run, struct repoinit_at at, const char *sql)
{
	char *nothing = NULL;
	bool  done = run_ask(run, at, sql, 0, NULL, &nothing);

	free(nothing);
	return done;
}

/* One restriction as JSON, without the braces. Without a value a pattern is the empty one, and a list
 * has none. */
static void put_restriction(struct buf *out, const struct repoinit_restriction *r)
{
	value_put_text(out, r->name->text);
	buf_printf(out, ":[");
	if (r->values == NULL && bw_str_eq(r->name->text, BW_STR("rep:glob")))
		buf_printf(out, "\"\"");
	for (const struct repoinit_word *v = r->values; v != NULL; v = v->next) {
		value_put_text(out, v->text);
		if (v->next != NULL)
			buf_printf(out, ",");
	}
	buf_printf(out, "]");
}

/* one: the first only. */
static char *restrictions(const struct repoinit_restriction *r, bool one)
{
	struct buf out;

	buf_init(&out);
	buf_printf(&out, "{");
	for (; r != NULL; r = one ? NULL : r->next) {
		put_restriction(&out, r);
		if (!one && r->next != NULL)
			buf_printf(&out, ",");
	}
	buf_printf(&out, "}%c", '\0');
	return (char *)out.mem;
}

char *run_restrictions(const struct repoinit_restriction *r)
{
	return restrictions(r, false);
}

/* Each by itself, so that a message is about its name. */
static bool check_restrictions(struct run *run, const struct repoinit_acl_line *line)
{
	for (const struct repoinit_restriction *r = line->restrictions; r != NULL; r = r->next) {
		char       *json = restrictions(r, true), *nothing = NULL;
		const char *params[] = { json };
		bool done = run_ask(run, r->name->at, "SELECT repo.restrictions_check($1)", 1,
		                    params, &nothing);

		free(nothing);
		free(json);
		if (!done)
			return false;
	}
	return true;
}

/* Each privilege by itself, so that a message is about the word. */
bool run_check_entry(struct run *run, const struct repoinit_acl_line *line,
                     const struct repoinit_word *path)
{
	for (const struct repoinit_word *p = line->privileges; p != NULL; p = p->next) {
		const char *params[] = { p->text.p, run_is_repository(path) ? "t" : "f" };
		char       *leaves = NULL;

		if (!run_ask(run, p->at, "SELECT repo.privilege_leaves(ARRAY[$1], $2)", 2, params,
		             &leaves))
			return false;
		free(leaves);
	}
	return check_restrictions(run, line);
}

/* sql: of path, principal, whether it allows, privileges and restrictions. *ret: its answer. */
static bool entry(struct run *run, const char *path, const struct repoinit_acl_line *line,
                  const char *sql, const char *principal, bool *ret)
{
	char *privileges = run_array(line->privileges),
	     *limits = run_restrictions(line->restrictions);
	const char *params[] = { path, principal, line->action == REPOINIT_ALLOW ? "t" : "f",
		                 privileges, limits };
	bool        done = run_ask_bool(run, line->at, sql, 5, params, ret);

	free(limits);
	free(privileges);
	return done;
}

static bool set_entry(struct run *run, const char *path, const struct repoinit_acl_line *line,
                      const char *principal)
{
	const char *params[] = { path, principal };
	char       *nothing = NULL;
	bool        written, done;

	if (line->action != REPOINIT_REMOVE_ALL)
		return entry(run, path, line, "SELECT repo.ace_append($1, $2, $3, $4, $5)",
		             principal, &written);
	done = run_ask(run, line->at, "SELECT repo.ace_remove_all($1, $2)", 2, params, &nothing);
	free(nothing);
	return done;
}

static bool set_line(struct run *run, const struct repoinit_word *path,
                     const struct repoinit_statement *s, const struct repoinit_acl_line *line)
{
	if (!run_check_entry(run, line, path))
		return false;
	for (const struct repoinit_word *name = principals_of(s, line); name != NULL;
	     name = name->next) {
		char *principal;
		bool  done = run_find_principal(run, name, &principal);

		if (done && principal != NULL)
			done = set_entry(run, path->text.p, line, principal);
		else if (done && !s->acl.ignore_missing_principal)
			done = run_fail(run, name->at, "there is no principal '%s'", name->text.p);
		free(principal);
		if (!done)
			return false;
	}
	return true;
}

static bool set_lines(struct run *run, const struct repoinit_word *path,
                      const struct repoinit_statement *s)
{
	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next)
		if (bears_on(s, line, path) && !set_line(run, path, s, line))
			return false;
	return true;
}

/* The list of a node as one text, in order for each principal: equal texts are lists of the same
 * entries, of which none has changed places with another of the same principal. */
static bool acl_text(struct run *run, struct repoinit_at at, const char *path, char **ret)
{
	const char *params[] = { path };

	return run_ask(run, at,
	               "SELECT string_agg(format('%s %s %s %s', a.principal, a.allow, a.privileges,"
	               " a.restrictions), ';' ORDER BY a.principal, a.position) FROM repo.ace a"
	               " WHERE coalesce(a.node, 0) ="
	               " coalesce((SELECT id FROM repo.tree WHERE path = $1), 0)",
	               1, params, ret);
}

/* The path must exist, unless every line is a `remove *`. */
static bool must_exist(const struct repoinit_statement *s, const struct repoinit_word *path)
{
	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next)
		if (bears_on(s, line, path) && line->action != REPOINIT_REMOVE_ALL)
			return true;
	return false;
}

/* A list that is rebuilt (`remove *` and then the same entries) is not written: what the lines did is
 * taken back, journal rows included. Entries of one principal that were removed and came back stand
 * behind those of others, until that is taken back too: else each run of two such scripts would undo
 * the order of the other. */
static bool set_acl(struct run *run, const struct repoinit_word *path,
                    const struct repoinit_statement *s)
{
	char *before = NULL, *after = NULL;
	bool  exists, same, done;

	if (!run_exists(run, path, &exists))
		return false;
	if (!exists && must_exist(s, path))
		return run_fail(run, path->at, "there is no node %s", path->text.p);
	if (!exists) {
		run_note(run, path->at, "note", "there is no node %s", path->text.p);
		return true;
	}
	done = run_sql(run, path->at, "SAVEPOINT acl") &&
	       acl_text(run, path->at, path->text.p, &before) && set_lines(run, path, s) &&
	       acl_text(run, path->at, path->text.p, &after);
	same = (before == NULL) == (after == NULL) &&
	       (before == NULL || strcmp(before, after) == 0);
	if (done && same)
		done = run_sql(run, path->at, "ROLLBACK TO SAVEPOINT acl");
	else if (done)
		run_changed(run, "changed the access control list of %s", path->text.p);
	free(before);
	free(after);
	return done && run_sql(run, path->at, "RELEASE SAVEPOINT acl");
}

bool run_set_acl(struct run *run, const struct repoinit_statement *s)
{
	return each_path(run, s, set_acl);
}

/* Entries of nobody and of no node are not there, which is what is wanted. */
static bool remove_line(struct run *run, const struct repoinit_word *path,
                        const struct repoinit_statement *s, const struct repoinit_acl_line *line)
{
	for (const struct repoinit_word *name = principals_of(s, line); name != NULL;
	     name = name->next) {
		char *principal;
		bool  removed = false, done = run_find_principal(run, name, &principal);

		if (done && principal != NULL)
			done = entry(run, path->text.p, line,
			             "SELECT repo.ace_remove($1, $2, $3, $4, $5)", principal,
			             &removed);
		if (removed)
			run_changed(run, "removed an entry of %s from %s", name->text.p,
			            path->text.p);
		free(principal);
		if (!done)
			return false;
	}
	return true;
}

static bool remove_lines(struct run *run, const struct repoinit_word *path,
                         const struct repoinit_statement *s)
{
	bool exists;

	if (!run_exists(run, path, &exists))
		return false;
	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next)
		if (bears_on(s, line, path) && (!run_check_entry(run, line, path) ||
		                                (exists && !remove_line(run, path, s, line))))
			return false;
	return true;
}

bool run_remove_ace(struct run *run, const struct repoinit_statement *s)
{
	return each_path(run, s, remove_lines);
}

/* sql answers how many entries there were; NULL: there is not even a list. */
static bool delete_list(struct run *run, const struct repoinit_word *of, const char *sql,
                        const char *param)
{
	char *removed = NULL;

	if (param != NULL && !run_ask(run, of->at, sql, 1, &param, &removed))
		return false;
	if (removed == NULL || strcmp(removed, "0") == 0)
		run_note(run, of->at, "note", "there are no entries of %s", of->text.p);
	else
		run_changed(run, "removed all entries of %s", of->text.p);
	free(removed);
	return true;
}

static bool delete_acl_on(struct run *run, const struct repoinit_word *path,
                          const struct repoinit_statement *s)
{
	bool exists;

	(void)s;
	return run_exists(run, path, &exists) &&
	       delete_list(run, path, "SELECT repo.acl_delete($1)", exists ? path->text.p : NULL);
}

bool run_delete_acl(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *name = s->acl.principals; name != NULL;
	     name = name->next) {
		char *principal;
		bool  done = run_find_principal(run, name, &principal) &&
		            delete_list(run, name, "SELECT repo.ace_forget($1)", principal);

		free(principal);
		if (!done)
			return false;
	}
	return each_path(run, s, delete_acl_on);
}

bool run_privilege(struct run *run, const struct repoinit_statement *s)
{
	char       *parts = run_array(s->privilege.parts);
	const char *params[] = { s->privilege.name->text.p, s->privilege.abstract ? "t" : "f",
		                 parts };
	bool        made = false, done;

	done = run_ask_bool(run, s->privilege.name->at,
	                    "SELECT repo.privilege_register($1, $2, $3)", 3, params, &made);
	if (made)
		run_changed(run, "registered privilege %s", params[0]);
	free(parts);
	return done;
}
