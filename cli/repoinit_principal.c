/* repoinit_principal.c - repoinit's statements about users, service users and groups.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor. Fails with: false, as
 * repoinit_run.h says. Tests: tests/conformance/repoinit. */
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "password.h"
#include "repoinit_run.h"

/* Of each class: in the database, in a sentence, and where its relative paths begin. */
static const struct {
	const char *class, *noun, *root;
} classes[] = {
	[REPOINIT_USER] = { "user", "user", "/home/users" },
	[REPOINIT_SERVICE] = { "service", "service user", "/home/users" },
	[REPOINIT_GROUP] = { "group", "group", "/home/groups" },
};

/* What there is of a name. */
struct principal {
	char *name;  /* in NFC */
	char *class; /* NULL: nobody */
	char *home;  /* the path of its node */
};

static void principal_done(struct principal *p)
{
	free(p->name);
	free(p->class);
	free(p->home);
}

/* principal_done in any case. */
static bool look_up(struct run *run, const struct repoinit_word *name, struct principal *ret)
{
	const char *params[1];

	*ret = (struct principal){ .name = normalise_name(name->text) };
	if (ret->name == NULL)
		return run_fail(run, name->at, "'%s' is no name for a user or group", name->text.p);
	params[0] = ret->name;
	return run_ask(run, name->at, "SELECT class FROM auth.principal WHERE name = $1", 1, params,
	               &ret->class) &&
	       run_ask(run, name->at, "SELECT home FROM auth.principal_public WHERE name = $1", 1,
	               params, &ret->home);
}

/* Fails if there is somebody of that name who is something else. */
static bool look_up_class(struct run *run, const struct repoinit_word     *name,
                          enum repoinit_principal class, struct principal *ret)
{
	if (!look_up(run, name, ret))
		return false;
	if (ret->class == NULL || strcmp(ret->class, classes[class].class) == 0)
		return true;
	return run_fail(run, name->at, "'%s' exists as a %s", ret->name, ret->class);
}

/* Runs sql with at most two texts. */
static bool call(struct run *run, struct repoinit_at at, const char *sql, const char *a,
                 const char *b)
{
	const char *params[] = { a, b };
	char       *nothing = NULL;
	bool        done = run_ask(run, at, sql, b != NULL ? 2 : 1, params, &nothing);

	free(nothing);
	return done;
}

/* The account's path for a folder as stated, owned. */
static char *place(const struct repoinit_statement *s, const char *name)
{
	const struct repoinit_word *folder = s->principal.folder;
	bool slash = folder->text.n > 0 && folder->text.p[folder->text.n - 1] == '/';

	if (folder->text.p[0] == '/')
		return xasprintf("%s%s%s", folder->text.p, slash ? "" : "/", name);
	return xasprintf("%s/%s%s%s", classes[s->principal.class].root, folder->text.p,
	                 slash ? "" : "/", name);
}

/* With `forced` whoever does not live below the folder is made anew there. */
static bool must_move(const struct repoinit_statement *s, const struct principal *p)
{
	char *there;
	bool  below;

	if (p->class == NULL || !s->principal.forced)
		return false;
	there = place(s, "");
	below = strncmp(p->home, there, strlen(there)) == 0;
	free(there);
	return !below;
}

static bool set_password(struct run *run, const struct repoinit_statement *s, const char *name)
{
	const struct repoinit_word *password = s->principal.password;
	char                        made[PASSWORD_VERIFIER];
	const char                 *verifier = s->principal.hashed ? password->text.p : made;

	if (!s->principal.hashed) {
		run_note(run, password->at, "warning", "a password in the open");
		if (!password_verifier(run->settings, password->text.p, password->text.n, made))
			return run_fail(run, password->at, "the password cannot be used");
	}
	return call(run, password->at, "SELECT auth.password_set($1, $2)", name, verifier);
}

static bool delete_one(struct run *run, const struct repoinit_word           *name,
                       enum repoinit_principal class, const struct principal *p)
{
	if (!call(run, name->at, "SELECT auth.principal_delete($1)", p->name, NULL))
		return false;
	run_changed(run, "deleted %s %s", classes[class].noun, p->name);
	return true;
}

static bool make(struct run *run, const struct repoinit_statement *s,
                 const struct repoinit_word *name, const struct principal *p)
{
	enum repoinit_principal class = s->principal.class;
	bool done;

	if (!call(run, name->at, "SELECT auth.principal_create($1, $2)", p->name,
	          classes[class].class))
		return false;
	if (s->principal.folder != NULL) {
		char *there = place(s, p->name);

		done = call(run, s->principal.folder->at, "SELECT auth.principal_place($1, $2)",
		            p->name, there);
		free(there);
		if (!done)
			return false;
	}
	run_changed(run, "created %s %s", classes[class].noun, p->name);
	return s->principal.password == NULL || set_password(run, s, p->name);
}

/* Who exists stays as he is, password and place included, unless he is forced to move. */
bool run_create_principals(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *name = s->principal.names; name != NULL;
	     name = name->next) {
		struct principal p;
		bool             done = look_up_class(run, name, s->principal.class, &p);

		if (done && must_move(s, &p))
			done = delete_one(run, name, s->principal.class, &p) &&
			       make(run, s, name, &p);
		else if (done && p.class == NULL)
			done = make(run, s, name, &p);
		principal_done(&p);
		if (!done)
			return false;
	}
	return true;
}

bool run_delete_principals(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *name = s->principal.names; name != NULL;
	     name = name->next) {
		struct principal p;
		bool             done = look_up_class(run, name, s->principal.class, &p);

		if (done && p.class != NULL)
			done = delete_one(run, name, s->principal.class, &p);
		principal_done(&p);
		if (!done)
			return false;
	}
	return true;
}

bool run_disable(struct run *run, const struct repoinit_statement *s)
{
	struct principal p;
	bool             changed = false, done = look_up(run, s->disable.name, &p);

	if (done && p.class != NULL) {
		const char *params[] = { p.name, s->disable.reason->text.p };

		done = run_ask_bool(run, s->disable.name->at,
		                    "SELECT auth.principal_disable($1, $2::text)", 2, params,
		                    &changed);
	}
	if (changed)
		run_changed(run, "disabled %s", p.name);
	principal_done(&p);
	return done;
}

static bool change_member(struct run *run, const struct repoinit_word *member, const char *group,
                          bool add)
{
	struct principal p;
	bool             changed = false, done = look_up(run, member, &p);

	if (done && p.class != NULL) {
		const char *params[] = { group, p.name };

		done = run_ask_bool(run, member->at,
		                    add ? "SELECT auth.membership_add($1, $2)"
		                        : "SELECT auth.membership_remove($1, $2)",
		                    2, params, &changed);
	} else if (done && add)
		done = run_fail(run, member->at, "there is no principal '%s'", p.name);
	if (changed)
		run_changed(run, add ? "added %s to %s" : "removed %s from %s", p.name, group);
	principal_done(&p);
	return done;
}

bool run_membership(struct run *run, const struct repoinit_statement *s)
{
	bool             add = s->kind == REPOINIT_ADD_MEMBERS;
	struct principal group;
	bool             done = look_up_class(run, s->membership.group, REPOINIT_GROUP, &group);

	if (done && group.class == NULL)
		done = run_fail(run, s->membership.group->at, "there is no group '%s'", group.name);
	for (const struct repoinit_word *m = s->membership.members; m != NULL && done; m = m->next)
		done = change_member(run, m, group.name, add);
	principal_done(&group);
	return done;
}
