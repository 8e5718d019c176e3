/* repoinit_home.c - repoinit's home(NAME) and authorizable(NAME): the node of a user or group.
 *
 * An account has a path from its beginning and a node from the first statement on that names it and
 * writes there. The node goes with the account.
 *
 * Owns: the texts of the paths, in the run's arena. Runs in: the command, or a job of the supervisor.
 * Fails with: false, as repoinit_run.h says. Tests: tests/conformance/repoinit. */
#include <base/fatal.h>
#include <stdlib.h>

#include "password.h"
#include "repoinit_run.h"

/* make: also its node, if it is not there. */
static bool find_home(struct run *run, struct repoinit_word *path, bool make)
{
	char       *name = normalise_name(path->home), *home = NULL;
	const char *params[] = { name };
	bool        made = false, done;

	if (name == NULL)
		return run_fail(run, path->at, "'%s' is no name for a user or group", path->home.p);
	done = (!make ||
	        run_ask_bool(run, path->at, "SELECT repo.home_make($1)", 1, params, &made)) &&
	       run_ask(run, path->at, "SELECT repo.home_path($1)", 1, params, &home);
	free(name);
	if (!done)
		return false;
	if (made) {
		run_touched(run, home);
		run_changed(run, "created %s", home);
	}
	path->text = bw_str(arena_printf(&run->homes, "%s%s", home, path->below.p));
	free(home);
	return true;
}

static bool find_homes(struct run *run, struct repoinit_word *paths, bool make)
{
	for (; paths != NULL; paths = paths->next)
		if (paths->home.p != NULL && !find_home(run, paths, make))
			return false;
	return true;
}

bool run_find_homes(struct run *run, const struct repoinit_statement *s)
{
	bool make = s->kind == REPOINIT_SET_ACL;

	switch (s->kind) {
	case REPOINIT_SET_PROPERTIES:
		return find_homes(run, s->properties.paths, true);
	case REPOINIT_ADD_MIXIN:
	case REPOINIT_REMOVE_MIXIN:
		return find_homes(run, s->mixins.paths, s->kind == REPOINIT_ADD_MIXIN);
	case REPOINIT_SET_ACL:
	case REPOINIT_REMOVE_ACE:
	case REPOINIT_DELETE_ACL:
	case REPOINIT_SET_OWN_ACL:
	case REPOINIT_ENSURE_OWN_ACL:
	case REPOINIT_REMOVE_OWN_ACE:
		for (const struct repoinit_acl_line *l = s->acl.lines; l != NULL; l = l->next)
			if (!find_homes(run, l->paths, make))
				return false;
		return find_homes(run, s->acl.paths, make);
	default:
		return true;
	}
}
