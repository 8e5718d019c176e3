/* repoinit_types.c - repoinit's node types: the definitions of a script as the database takes them.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor. Fails with: false, as
 * repoinit_run.h says. Tests: tests/conformance/repoinit. */
#include <stdlib.h>

#include "repoinit_run.h"
#include "value.h"

static const char *json_bool(bool value)
{
	return value ? "true" : "false";
}

static void put_words(struct buf *out, const struct repoinit_word *word)
{
	buf_printf(out, "[");
	for (; word != NULL; word = word->next) {
		value_put_text(out, word->text);
		buf_printf(out, "%s", word->next != NULL ? "," : "");
	}
	buf_printf(out, "]");
}

/* What only properties have, or only children. */
static void put_own(struct buf *out, const struct repoinit_item *item)
{
	if (!item->child) {
		buf_printf(out, "\"type\":\"%s\",\"multiple\":%s,\"default\":", item->type,
		           json_bool(item->multiple));
		put_words(out, item->defaults);
		buf_printf(out, ",\"constraints\":");
		put_words(out, item->constraints);
		return;
	}
	buf_printf(out, "\"required\":");
	if (item->required != NULL)
		put_words(out, item->required);
	else
		buf_printf(out, "[\"nt:base\"]");
	buf_printf(out, ",\"default\":");
	if (item->defaults != NULL)
		value_put_text(out, item->defaults->text);
	else
		buf_printf(out, "null");
}

static void put_items(struct buf *out, const struct repoinit_item *item, bool children)
{
	bool first = true;

	buf_printf(out, ",\"%s\":[", children ? "children" : "properties");
	for (; item != NULL; item = item->next) {
		if (item->child != children)
			continue;
		buf_printf(out, "%s{\"name\":", first ? "" : ",");
		value_put_text(out, item->name);
		buf_printf(out, ",\"mandatory\":%s,\"auto\":%s,\"protected\":%s,\"opv\":\"%s\",",
		           json_bool(item->mandatory), json_bool(item->auto_created),
		           json_bool(item->is_protected), item->on_version);
		put_own(out, item);
		buf_printf(out, "}");
		first = false;
	}
	buf_printf(out, "]");
}

/* In the form of repo.node_types_register. */
static void put_type(struct buf *out, const struct repoinit_node_type *t)
{
	buf_printf(out, "{\"name\":");
	value_put_text(out, t->name);
	buf_printf(out, ",\"supers\":");
	put_words(out, t->supers);
	buf_printf(out, ",\"abstract\":%s,\"mixin\":%s,\"orderable\":%s,\"primary_item\":",
	           json_bool(t->abstract), json_bool(t->mixin), json_bool(t->orderable));
	if (t->primary_item.p != NULL)
		value_put_text(out, t->primary_item);
	else
		buf_printf(out, "null");
	put_items(out, t->items, false);
	put_items(out, t->items, true);
	buf_printf(out, "}");
}

/* By itself, so that a message is about this definition. */
static bool check_type(struct run *run, const struct repoinit_node_type *t)
{
	struct buf  json;
	const char *params[1];
	char       *nothing = NULL;
	bool        done;

	buf_init(&json);
	put_type(&json, t);
	buf_append(&json, "", 1);
	params[0] = (const char *)buf_data(&json);
	done = run_ask(run, t->at,
	               "SELECT repo.node_type_declaration_check(repo.node_type_qualify($1))", 1,
	               params, &nothing);
	free(nothing);
	buf_done(&json);
	return done;
}

static bool register_types(struct run *run, const struct repoinit_statement *s)
{
	struct buf  json;
	const char *params[1];
	char       *names = NULL;
	bool        done;

	buf_init(&json);
	buf_printf(&json, "[");
	for (const struct repoinit_node_type *t = s->node_types.types; t != NULL; t = t->next) {
		put_type(&json, t);
		buf_printf(&json, "%s", t->next != NULL ? "," : "");
	}
	buf_printf(&json, "]%c", '\0');
	params[0] = (const char *)buf_data(&json);
	done = run_ask(run, s->at,
	               "SELECT nullif(array_to_string(repo.node_types_register($1), ', '), '')", 1,
	               params, &names);
	if (names != NULL)
		run_changed(run, "registered node types %s", names);
	free(names);
	buf_done(&json);
	return done;
}

bool run_node_types(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_prefix *p = s->node_types.prefixes; p != NULL; p = p->next)
		if (!run_register_namespace(run, p->prefix, p->uri))
			return false;
	for (const struct repoinit_node_type *t = s->node_types.types; t != NULL; t = t->next)
		if (!check_type(run, t))
			return false;
	return s->node_types.types == NULL || register_types(run, s);
}
