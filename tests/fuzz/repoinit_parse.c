/* Fuzz target: lib/repoinit. The input is a script. What is refused has a reason and a place inside
 * the text; what is accepted is walked to its last word. */
#include <repoinit/repoinit.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every octet, so that a word that lies outside its memory is noticed. */
static void check_words(const struct repoinit_word *word)
{
	for (; word != NULL; word = word->next)
		if (strlen(word->text.p) != word->text.n || word->at.line == 0 ||
		    word->at.column == 0)
			abort();
}

static void check_segments(const struct repoinit_segment *at)
{
	for (; at != NULL; at = at->next) {
		if (at->name.n == 0 || memchr(at->name.p, '/', at->name.n) != NULL)
			abort();
		check_words(at->type);
		check_words(at->mixins);
	}
}

/* One side stands in the statement, the other in each line. */
static void check_acl(const struct repoinit_statement *s)
{
	if ((s->acl.paths == NULL) == (s->acl.principals == NULL))
		abort();
	check_words(s->acl.paths);
	check_words(s->acl.principals);
	if ((s->acl.lines == NULL) !=
	    (s->kind == REPOINIT_DELETE_ACL || s->kind == REPOINIT_DELETE_OWN_ACL))
		abort();
	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next) {
		check_words(line->privileges);
		if ((s->acl.paths == NULL ? line->paths : line->principals) == NULL)
			abort();
		check_words(line->paths);
		check_words(line->principals);
		for (const struct repoinit_restriction *r = line->restrictions; r != NULL;
		     r = r->next) {
			check_words(r->name);
			check_words(r->values);
		}
	}
}

static void check_node_types(const struct repoinit_statement *s)
{
	for (const struct repoinit_prefix *p = s->node_types.prefixes; p != NULL; p = p->next) {
		check_words(p->prefix);
		check_words(p->uri);
	}
	for (const struct repoinit_node_type *t = s->node_types.types; t != NULL; t = t->next) {
		check_words(t->supers);
		for (const struct repoinit_item *i = t->items; i != NULL; i = i->next) {
			if (strlen(i->name.p) != i->name.n || i->type == NULL ||
			    i->on_version == NULL)
				abort();
			check_words(i->required);
			check_words(i->defaults);
			check_words(i->constraints);
		}
	}
}

static void check_statement(const struct repoinit_statement *s)
{
	switch (s->kind) {
	case REPOINIT_CREATE_PATH:
	case REPOINIT_ENSURE_NODES:
		check_words(s->path.default_type);
		check_segments(s->path.segments);
		break;
	case REPOINIT_CREATE_PRINCIPAL:
	case REPOINIT_DELETE_PRINCIPAL:
		check_words(s->principal.names);
		check_words(s->principal.folder);
		check_words(s->principal.password);
		break;
	case REPOINIT_DISABLE_USER:
		check_words(s->disable.name);
		check_words(s->disable.reason);
		break;
	case REPOINIT_ADD_MEMBERS:
	case REPOINIT_REMOVE_MEMBERS:
		check_words(s->membership.members);
		check_words(s->membership.group);
		break;
	case REPOINIT_SET_ACL:
	case REPOINIT_REMOVE_ACE:
	case REPOINIT_DELETE_ACL:
	case REPOINIT_SET_OWN_ACL:
	case REPOINIT_ENSURE_OWN_ACL:
	case REPOINIT_REMOVE_OWN_ACE:
	case REPOINIT_DELETE_OWN_ACL:
		check_acl(s);
		break;
	case REPOINIT_SET_PROPERTIES:
		check_words(s->properties.paths);
		for (const struct repoinit_property *p = s->properties.lines; p != NULL;
		     p = p->next)
			check_words(p->values);
		break;
	case REPOINIT_ADD_MIXIN:
	case REPOINIT_REMOVE_MIXIN:
		check_words(s->mixins.names);
		check_words(s->mixins.paths);
		break;
	case REPOINIT_REGISTER_NAMESPACE:
		check_words(s->name_space.prefix);
		check_words(s->name_space.uri);
		break;
	case REPOINIT_REGISTER_NODE_TYPES:
		check_node_types(s);
		break;
	case REPOINIT_REGISTER_PRIVILEGE:
		check_words(s->privilege.name);
		check_words(s->privilege.parts);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct repoinit_script *script;
	struct repoinit_error   error;

	if (repoinit_parse((const char *)data, size, &script, &error) != 0) {
		if (error.text[0] == '\0' || error.at.line == 0 || error.at.column == 0)
			abort();
		return 0;
	}
	for (const struct repoinit_statement *s = repoinit_first(script); s != NULL; s = s->next)
		check_statement(s);
	repoinit_free(script);
	return 0;
}
