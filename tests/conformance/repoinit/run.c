/* The repoinit parser against its rows: each row's script is parsed and what came out, written as one
 * line, is compared with what the row wants.
 *
 * Usage: conformance_repoinit FILE... ; the files explain their lines. Fails if a row fails, if a
 * line is not understood, or if there was none. */
#include "rowfile.h"

#include <base/buf.h>
#include <repoinit/repoinit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what came out, as text ---- */

static void put_words(struct buf *out, const struct repoinit_word *word, const char *quote)
{
	for (; word != NULL; word = word->next) {
		if (word->home.p != NULL)
			buf_printf(out, "home(%s)%s", word->home.p, word->below.p);
		else
			buf_printf(out, "%s%s%s", quote, word->text.p, quote);
		buf_printf(out, "%s", word->next ? "," : "");
	}
}

static void put_path(struct buf *out, const struct repoinit_statement *s)
{
	buf_printf(out, "%s%s%s", s->kind == REPOINIT_ENSURE_NODES ? "ensure" : "path",
	           s->path.default_type ? " default " : "",
	           s->path.default_type ? s->path.default_type->text.p : "");
	for (const struct repoinit_segment *at = s->path.segments; at != NULL; at = at->next) {
		buf_printf(out, " %s%s%s%s", at->name.p, at->type ? "(" : "",
		           at->type ? at->type->text.p : "", at->type ? ")" : "");
		for (const struct repoinit_word *m = at->mixins; m != NULL; m = m->next)
			buf_printf(out, "+%s", m->text.p);
	}
}

static void put_principal(struct buf *out, const struct repoinit_statement *s)
{
	static const char *const    classes[] = { "user ", "service user ", "group " };
	const struct repoinit_word *password = s->principal.password;

	buf_printf(out, "%s%s", s->kind == REPOINIT_DELETE_PRINCIPAL ? "delete " : "",
	           classes[s->principal.class]);
	put_words(out, s->principal.names, "");
	if (s->principal.folder != NULL)
		buf_printf(out, "%s at %s", s->principal.forced ? " forced" : "",
		           s->principal.folder->text.p);
	if (password != NULL)
		buf_printf(out, " %s %s", s->principal.hashed ? "hash" : "password",
		           password->text.p);
}

static void put_acl_line(struct buf *out, const struct repoinit_acl_line *line)
{
	static const char *const actions[] = { "allow", "deny", "remove *" };

	buf_printf(out, " %s ", actions[line->action]);
	put_words(out, line->privileges, "");
	buf_printf(out, "%s%s ", line->privileges ? " " : "", line->paths ? "on" : "for");
	put_words(out, line->paths ? line->paths : line->principals, "");
	for (const struct repoinit_restriction *r = line->restrictions; r != NULL; r = r->next) {
		buf_printf(out, " %s=[", r->name->text.p);
		put_words(out, r->values, "");
		buf_printf(out, "]");
	}
}

static void put_acl(struct buf *out, const struct repoinit_statement *s)
{
	static const char *const what[] = {
		[REPOINIT_SET_ACL] = "",
		[REPOINIT_REMOVE_ACE] = "remove from ",
		[REPOINIT_DELETE_ACL] = "delete ",
		[REPOINIT_SET_OWN_ACL] = "own ",
		[REPOINIT_ENSURE_OWN_ACL] = "ensure own ",
		[REPOINIT_REMOVE_OWN_ACE] = "remove from own ",
		[REPOINIT_DELETE_OWN_ACL] = "delete own ",
	};

	buf_printf(out, "%sacl %s", what[s->kind], s->acl.paths ? "" : "of ");
	put_words(out, s->acl.paths ? s->acl.paths : s->acl.principals, "");
	buf_printf(out, "%s%s", s->acl.ignore_missing_principal ? " ignoring" : "",
	           s->acl.lines ? ":" : "");
	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next)
		put_acl_line(out, line);
}

static void put_properties(struct buf *out, const struct repoinit_statement *s)
{
	static const char *const types[] = { "String", "Long", "Double", "Date", "Boolean" };

	buf_printf(out, "properties ");
	put_words(out, s->properties.paths, "");
	buf_printf(out, ":");
	for (const struct repoinit_property *p = s->properties.lines; p != NULL; p = p->next) {
		buf_printf(out, " %s %s %s%s ", p->only_if_missing ? "default" : "set", p->name.p,
		           types[p->type], p->multiple ? "[]" : "");
		put_words(out, p->values, "'");
	}
}

/* The two lists of words of a statement that has no more than these. */
static void put_two(struct buf *out, const char *what, const struct repoinit_word *a,
                    const char *between, const struct repoinit_word *b)
{
	buf_printf(out, "%s ", what);
	put_words(out, a, "");
	if (b != NULL)
		buf_printf(out, " %s ", between);
	put_words(out, b, "");
}

static void put_item(struct buf *out, const struct repoinit_item *i)
{
	buf_printf(out, " %s %s (", i->child ? "+" : "-", i->name.p);
	if (i->child)
		put_words(out, i->required, "");
	else
		buf_printf(out, "%s", i->type);
	buf_printf(out, ")%s", i->defaults ? " = " : "");
	put_words(out, i->defaults, i->child ? "" : "'");
	buf_printf(out, "%s%s%s%s", i->mandatory ? " mandatory" : "",
	           i->auto_created ? " autocreated" : "", i->is_protected ? " protected" : "",
	           i->multiple ? " multiple" : "");
	if (strcmp(i->on_version, "COPY") != 0)
		buf_printf(out, " %s", i->on_version);
	if (i->constraints != NULL)
		buf_printf(out, " < ");
	put_words(out, i->constraints, "'");
}

static void put_node_types(struct buf *out, const struct repoinit_statement *s)
{
	buf_printf(out, "types");
	for (const struct repoinit_prefix *p = s->node_types.prefixes; p != NULL; p = p->next)
		buf_printf(out, " <%s=%s>", p->prefix->text.p, p->uri->text.p);
	for (const struct repoinit_node_type *t = s->node_types.types; t != NULL; t = t->next) {
		buf_printf(out, " [%s]%s", t->name.p, t->supers ? " > " : "");
		put_words(out, t->supers, "");
		buf_printf(out, "%s%s%s%s%s", t->orderable ? " orderable" : "",
		           t->mixin ? " mixin" : "", t->abstract ? " abstract" : "",
		           t->primary_item.p ? " primaryitem " : "",
		           t->primary_item.p ? t->primary_item.p : "");
		for (const struct repoinit_item *i = t->items; i != NULL; i = i->next)
			put_item(out, i);
	}
}

static void put_statement(struct buf *out, const struct repoinit_statement *s)
{
	switch (s->kind) {
	case REPOINIT_CREATE_PATH:
	case REPOINIT_ENSURE_NODES:
		put_path(out, s);
		break;
	case REPOINIT_CREATE_PRINCIPAL:
	case REPOINIT_DELETE_PRINCIPAL:
		put_principal(out, s);
		break;
	case REPOINIT_DISABLE_USER:
		put_two(out, "disable", s->disable.name, "because", s->disable.reason);
		break;
	case REPOINIT_ADD_MEMBERS:
		put_two(out, "add", s->membership.members, "to", s->membership.group);
		break;
	case REPOINIT_REMOVE_MEMBERS:
		put_two(out, "remove", s->membership.members, "from", s->membership.group);
		break;
	case REPOINIT_SET_ACL:
	case REPOINIT_REMOVE_ACE:
	case REPOINIT_DELETE_ACL:
	case REPOINIT_SET_OWN_ACL:
	case REPOINIT_ENSURE_OWN_ACL:
	case REPOINIT_REMOVE_OWN_ACE:
	case REPOINIT_DELETE_OWN_ACL:
		put_acl(out, s);
		break;
	case REPOINIT_SET_PROPERTIES:
		put_properties(out, s);
		break;
	case REPOINIT_ADD_MIXIN:
		put_two(out, "add mixin", s->mixins.names, "to", s->mixins.paths);
		break;
	case REPOINIT_REMOVE_MIXIN:
		put_two(out, "remove mixin", s->mixins.names, "from", s->mixins.paths);
		break;
	case REPOINIT_REGISTER_NAMESPACE:
		put_two(out, "namespace", s->name_space.prefix, "is", s->name_space.uri);
		break;
	case REPOINIT_REGISTER_NODE_TYPES:
		put_node_types(out, s);
		break;
	case REPOINIT_REGISTER_PRIVILEGE:
		put_two(out, s->privilege.abstract ? "abstract privilege" : "privilege",
		        s->privilege.name, "with", s->privilege.parts);
		break;
	}
}

/* Newlines become ⏎ again, so that a row stays a line. */
static void put_escaped(struct buf *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n')
			buf_printf(out, "⏎");
		else
			buf_append(out, text + i, 1);
	buf_append(out, "", 1);
}

/* Heap memory. */
static char *parse_to_text(const char *script, size_t n)
{
	struct repoinit_script *parsed;
	struct repoinit_error   error;
	struct buf              out, line;

	buf_init(&out);
	buf_init(&line);
	if (repoinit_parse(script, n, &parsed, &error) != 0)
		buf_printf(&out, "error %u:%u %s", error.at.line, error.at.column, error.text);
	else {
		for (const struct repoinit_statement *s = repoinit_first(parsed); s; s = s->next) {
			put_statement(&out, s);
			if (s->next != NULL)
				buf_printf(&out, "; ");
		}
		repoinit_free(parsed);
	}
	put_escaped(&line, buf_size(&out) ? (char *)buf_data(&out) : "", buf_size(&out));
	buf_done(&out);
	return (char *)line.mem;
}

/* ---- the rows ---- */

/* ⏎ becomes a newline, in place. */
static size_t unescape(char *script)
{
	static const char mark[] = "⏎";
	char             *out = script;

	for (char *in = script; *in != '\0';)
		if (strncmp(in, mark, sizeof(mark) - 1) == 0) {
			*out++ = '\n';
			in += sizeof(mark) - 1;
		} else
			*out++ = *in++;
	*out = '\0';
	return (size_t)(out - script);
}

/* id | script | result */
static void run_row(const char *file, unsigned number, char *line)
{
	char *script = strstr(line, " | "), *want = script ? strstr(script + 3, " | ") : NULL;
	char *got;

	if (want == NULL) {
		rowfile.failed++;
		printf("%s:%u: not understood\n", file, number);
		return;
	}
	*script = *want = '\0';
	script += 3;
	want += 3;
	got = parse_to_text(script, unescape(script));
	if (strcmp(got, want) == 0)
		rowfile.passed++;
	else {
		rowfile.failed++;
		printf("%s:%u: %s\n  want %s\n  got  %s\n", file, number, line, want, got);
	}
	free(got);
}

int main(int argc, char **argv)
{
	return rowfile_run(argv + 1, argc - 1, run_row);
}
