/* repoinit_own.c - repoinit's statements about lists of principals' own: what service users may do
 * wherever they are used as a list of principals.
 *
 * Only service users below /home/users/system have such lists. For others `ensure principal ACL`
 * fails, while `set principal ACL` goes on where there is nothing it could mean: the path is not
 * there, or an entry of the node's list says the same.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor. Fails with: false, as
 * repoinit_run.h says. Tests: tests/conformance/repoinit. */
#include <base/fatal.h>
#include <stdlib.h>

#include "repoinit_run.h"

/* One entry of one principal. */
struct entry {
	const struct repoinit_statement *s;
	const struct repoinit_acl_line  *line;
	const struct repoinit_word      *path, *name;
	const char                      *principal; /* its id */
};

/* sql: of principal, path, privileges and restrictions. *ret: its answer. */
static bool call(struct run *run, const struct entry *e, const char *sql, bool *ret)
{
	char *privileges = run_array(e->line->privileges),
	     *limits = run_restrictions(e->line->restrictions);
	const char *params[] = { e->principal, e->path->text.p, privileges, limits };
	bool        done = run_ask_bool(run, e->line->at, sql, 4, params, ret);

	free(limits);
	free(privileges);
	return done;
}

/* Of somebody who cannot have such a list. */
static bool do_without(struct run *run, const struct entry *e)
{
	bool exists, same = false;

	if (!run_exists(run, e->path, &exists))
		return false;
	if (e->s->kind == REPOINIT_SET_OWN_ACL && !exists) {
		run_note(run, e->path->at, "note", "there is no node %s", e->path->text.p);
		return true;
	}
	if (e->s->kind == REPOINIT_SET_OWN_ACL &&
	    !call(run, e,
	          "SELECT EXISTS (SELECT FROM repo.ace a WHERE coalesce(a.node, 0) ="
	          "  coalesce((SELECT id FROM repo.tree WHERE path = $2), 0) AND a.allow"
	          "  AND a.principal = $1 AND a.restrictions = repo.restrictions_check($4)"
	          "  AND (a.privileges = '{jcr:all}' OR a.privileges @>"
	          "    repo.privilege_leaves($3, $2 = ':repository')))",
	          &same))
		return false;
	return same || e->s->kind == REPOINIT_REMOVE_OWN_ACE ||
	       run_fail(run, e->name->at, "'%s' is no service user below /home/users/system",
	                e->name->text.p);
}

static bool change(struct run *run, const struct entry *e)
{
	bool        add = e->s->kind != REPOINIT_REMOVE_OWN_ACE, changed = false;
	const char *sql = add ? "SELECT repo.own_ace_append($1, $2, $3, $4)"
	                      : "SELECT repo.own_ace_remove($1, $2, $3, $4)";

	if (!call(run, e, sql, &changed))
		return false;
	if (changed)
		run_changed(run, "%s %s in the list of %s's own", add ? "granted" : "removed",
		            e->path->text.p, e->name->text.p);
	return true;
}

static bool has_own_list(struct run *run, const struct entry *e, bool *ret)
{
	return run_ask_bool(run, e->name->at,
	                    "SELECT own_list FROM auth.principal_public WHERE id = $1", 1,
	                    &e->principal, ret);
}

static bool change_line(struct run *run, struct entry *e)
{
	bool own;

	if (e->line->action != REPOINIT_ALLOW)
		return run_fail(run, e->line->at, "a list of a service user's own only allows");
	if (!has_own_list(run, e, &own))
		return false;
	for (e->path = e->line->paths; e->path != NULL; e->path = e->path->next)
		if (!run_check_entry(run, e->line, e->path) ||
		    !(own ? change(run, e) : do_without(run, e)))
			return false;
	return true;
}

bool run_own_acl(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *name = s->acl.principals; name != NULL;
	     name = name->next) {
		char *principal;
		bool  done = run_find_principal(run, name, &principal);

		if (done && principal == NULL && s->kind != REPOINIT_REMOVE_OWN_ACE &&
		    !s->acl.ignore_missing_principal)
			done = run_fail(run, name->at, "there is no principal '%s'", name->text.p);
		for (const struct repoinit_acl_line *l = s->acl.lines;
		     done && principal != NULL && l != NULL; l = l->next)
			done = change_line(run, &(struct entry){ s, l, NULL, name, principal });
		free(principal);
		if (!done)
			return false;
	}
	return true;
}

static bool delete_list(struct run *run, const struct entry *e)
{
	char *removed = NULL;
	bool  own = false;

	if (e->principal != NULL && !has_own_list(run, e, &own))
		return false;
	if (own && !run_ask(run, e->name->at, "SELECT repo.own_acl_delete($1)", 1, &e->principal,
	                    &removed))
		return false;
	if (removed == NULL || bw_str_eq(bw_str(removed), BW_STR("0")))
		run_note(run, e->name->at, "note", "%s has no list of its own", e->name->text.p);
	else
		run_changed(run, "removed the list of %s's own", e->name->text.p);
	free(removed);
	return true;
}

bool run_delete_own_acl(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *name = s->acl.principals; name != NULL;
	     name = name->next) {
		char *principal;
		bool  done =
			run_find_principal(run, name, &principal) &&
			delete_list(run, &(struct entry){ .name = name, .principal = principal });

		free(principal);
		if (!done)
			return false;
	}
	return true;
}
