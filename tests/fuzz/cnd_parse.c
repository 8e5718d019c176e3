/* Fuzz target: lib/repoinit/cnd.c and node_type.c. The input is what stands between the lines of
 * `register nodetypes`. What is refused has a reason and a place inside the script; what is accepted is
 * one statement, whose words are walked to the last. */
#include <base/buf.h>
#include <repoinit/repoinit.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const struct repoinit_word *word)
{
	for (; word != NULL; word = word->next)
		if (strlen(word->text.p) != word->text.n || word->at.line < 3 ||
		    word->at.column == 0)
			abort();
}

static void check_type(const struct repoinit_node_type *t)
{
	if (strlen(t->name.p) != t->name.n || t->at.line < 3)
		abort();
	check_words(t->supers);
	for (const struct repoinit_item *i = t->items; i != NULL; i = i->next) {
		if (strlen(i->name.p) != i->name.n || i->type == NULL || i->on_version == NULL ||
		    (i->child && (i->constraints != NULL || i->multiple)) ||
		    (!i->child && i->required != NULL))
			abort();
		check_words(i->required);
		check_words(i->defaults);
		check_words(i->constraints);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf              script;
	struct repoinit_script *parsed;
	struct repoinit_error   error = { 0 };

	buf_init(&script);
	buf_printf(&script, "register nodetypes\n<<===\n");
	buf_append(&script, data, size);
	buf_printf(&script, "\n===>>\n");
	if (repoinit_parse((const char *)buf_data(&script), buf_size(&script), &parsed, &error) !=
	    0) {
		if (error.text[0] == '\0' || error.at.line == 0 || error.at.column == 0)
			abort();
	} else {
		const struct repoinit_statement *s = repoinit_first(parsed);

		if (s == NULL || s->kind != REPOINIT_REGISTER_NODE_TYPES)
			abort();
		for (const struct repoinit_node_type *t = s->node_types.types; t; t = t->next)
			check_type(t);
		for (const struct repoinit_prefix *p = s->node_types.prefixes; p; p = p->next) {
			check_words(p->prefix);
			check_words(p->uri);
		}
		repoinit_free(parsed);
	}
	buf_done(&script);
	return 0;
}
