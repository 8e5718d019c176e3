/* repoinit_node.c - repoinit's statements about nodes, their types and properties, and namespaces.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor. Fails with: false, as
 * repoinit_run.h says. Tests: tests/conformance/repoinit. */
#include <base/fatal.h>
#include <stdlib.h>
#include <string.h>

#include "repoinit_run.h"
#include "value.h"

/* One mixin more on a node; each is a change of its own. */
static bool add_mixin(struct run *run, const char *path, const struct repoinit_word *mixin)
{
	const char *params[] = { path, mixin->text.p };
	bool        added = false;

	if (!run_ask_bool(run, mixin->at, "SELECT repo.mixin_add($1, $2)", 2, params, &added))
		return false;
	if (added) {
		run_changed(run, "added mixin %s to %s", mixin->text.p, path);
		run_touched(run, path);
	}
	return true;
}

static bool add_mixins(struct run *run, const char *path, const struct repoinit_word *mixin)
{
	for (; mixin != NULL; mixin = mixin->next)
		if (!add_mixin(run, path, mixin))
			return false;
	return true;
}

/* By itself, so that a message is about the word. */
static bool check_type(struct run *run, const struct repoinit_word *type)
{
	const char *params[] = { type->text.p };
	char       *nothing = NULL;
	bool done = run_ask(run, type->at, "SELECT repo.node_type_check($1)", 1, params, &nothing);

	free(nothing);
	return done;
}

/* Makes the node if it is missing. A parent that has no type for children gets a sling:Folder. */
static bool create_node(struct run *run, struct repoinit_at at, const char *parent,
                        const char *path, const char *type, bool *ret_made)
{
	const char *params[] = { path, type, *parent != '\0' ? parent : "/" };

	return run_ask_bool(run, at,
	                    "SELECT repo.node_create($1, coalesce($2, (SELECT repo.child_type(id,"
	                    "  substring($1 FROM '[^/]*$')) FROM repo.tree WHERE path = $3),"
	                    "  'sling:Folder'))",
	                    3, params, ret_made);
}

/* A node that is there and is ensured gets the type that its segment states. */
static bool set_type(struct run *run, const struct repoinit_segment *at, const char *path)
{
	const char *params[] = { path, at->type->text.p };
	bool        typed = false;

	if (!run_ask_bool(run, at->at, "SELECT repo.node_type_set($1, $2)", 2, params, &typed))
		return false;
	if (typed) {
		run_changed(run, "made %s a %s", path, at->type->text.p);
		run_touched(run, path);
	}
	return true;
}

/* One node of the path. An existing one gets the stated type and mixins only if it is ensured. */
static bool make_node(struct run *run, const struct repoinit_statement *s,
                      const struct repoinit_segment *at, const char *parent, const char *path)
{
	const struct repoinit_word *type = at->type != NULL ? at->type : s->path.default_type;
	bool                        made = false;

	if (type != NULL && !check_type(run, type))
		return false;
	if (!create_node(run, at->at, parent, path, type != NULL ? type->text.p : NULL, &made))
		return false;
	if (made) {
		run_changed(run, "created %s", path);
		run_touched(run, path);
	} else if (s->kind != REPOINIT_ENSURE_NODES)
		return true;
	else if (at->type != NULL && !set_type(run, at, path))
		return false;
	return add_mixins(run, path, at->mixins);
}

bool run_path(struct run *run, const struct repoinit_statement *s)
{
	char *parent = xstrdup("");
	bool  done = true;

	for (const struct repoinit_segment *at = s->path.segments; at != NULL && done;
	     at = at->next) {
		char *path = xasprintf("%s/%s", parent, at->name.p);

		done = make_node(run, s, at, parent, path);
		free(parent);
		parent = path;
	}
	free(parent);
	return done;
}

static bool remove_mixin(struct run *run, const char *path, const struct repoinit_word *mixin)
{
	const char *params[] = { path, mixin->text.p };
	bool        removed = false;

	if (!run_ask_bool(run, mixin->at, "SELECT repo.mixin_remove($1, $2)", 2, params, &removed))
		return false;
	if (removed) {
		run_changed(run, "removed mixin %s from %s", mixin->text.p, path);
		run_touched(run, path);
	}
	return true;
}

bool run_mixins(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *path = s->mixins.paths; path != NULL; path = path->next) {
		bool exists;

		if (!run_exists(run, path, &exists))
			return false;
		if (!exists) {
			run_note(run, path->at, "warning", "there is no node %s", path->text.p);
			continue;
		}
		for (const struct repoinit_word *m = s->mixins.names; m != NULL; m = m->next)
			if (s->kind == REPOINIT_ADD_MIXIN ? !add_mixin(run, path->text.p, m)
			                                  : !remove_mixin(run, path->text.p, m))
				return false;
	}
	return true;
}

static bool set_property(struct run *run, const char *path, const struct repoinit_property *line)
{
	struct buf  value;
	const char *params[] = { path, line->name.p, NULL };
	bool        skip = false, written = false, done = true;

	/* What came with the type by itself counts as missing. */
	if (line->only_if_missing)
		done = run_ask_bool(
			run, line->at,
			"SELECT p.value <> coalesce(d.created -> p.key, '{}')"
			" FROM repo.tree t JOIN repo.content c ON c.id = t.id,"
			"  repo.definition(t.primary_type, t.mixins) d, jsonb_each(c.properties) p"
			" WHERE t.path = $1 AND p.key = repo.name_qualify($2)",
			2, params, &skip);
	if (!done || skip)
		return done;
	buf_init(&value);
	value_put(&value, line);
	params[2] = (const char *)buf_data(&value);
	done = run_ask_bool(run, line->at,
	                    "SELECT repo.property_set($1, repo.name_qualify($2), $3::jsonb)", 3,
	                    params, &written);
	if (written) {
		run_changed(run, "set %s of %s", line->name.p, path);
		run_touched(run, path);
	}
	buf_done(&value);
	return done;
}

bool run_set_properties(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *path = s->properties.paths; path != NULL;
	     path = path->next) {
		const struct repoinit_property *line;
		bool                            exists;

		if (!run_exists(run, path, &exists))
			return false;
		if (!exists)
			return run_fail(run, path->at, "there is no node %s", path->text.p);
		for (line = s->properties.lines; line != NULL; line = line->next)
			if (!set_property(run, path->text.p, line))
				return false;
	}
	return true;
}

/* RFC 3986, section 3: a URI has a scheme and so a colon. */
bool run_register_namespace(struct run *run, const struct repoinit_word *prefix,
                            const struct repoinit_word *uri)
{
	const char *params[] = { prefix->text.p, uri->text.p };
	bool        made = false;

	if (strchr(params[1], ':') == NULL)
		run_note(run, uri->at, "warning", "'%s' is no URI: it has no colon", params[1]);
	if (!run_ask_bool(run, prefix->at, "SELECT repo.namespace_register($1, $2)", 2, params,
	                  &made))
		return false;
	if (made)
		run_changed(run, "registered namespace %s", params[0]);
	return true;
}

bool run_namespace(struct run *run, const struct repoinit_statement *s)
{
	return run_register_namespace(run, s->name_space.prefix, s->name_space.uri);
}
