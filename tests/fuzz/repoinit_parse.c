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

static void check_statement(const struct repoinit_statement *s)
{
	switch (s->kind) {
	case REPOINIT_CREATE_PATH:
		for (const struct repoinit_segment *at = s->path.segments; at != NULL;
		     at = at->next)
			if (at->name.n == 0 || memchr(at->name.p, '/', at->name.n) != NULL)
				abort();
		break;
	case REPOINIT_CREATE_SERVICE_USER:
		check_words(s->service_users.names);
		break;
	case REPOINIT_CREATE_USER:
		check_words(s->user.name);
		check_words(s->user.password);
		break;
	case REPOINIT_SET_ACL:
		check_words(s->acl.paths);
		for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL;
		     line = line->next) {
			check_words(line->privileges);
			check_words(line->principals);
		}
		break;
	case REPOINIT_SET_PROPERTIES:
		check_words(s->properties.paths);
		for (const struct repoinit_property *p = s->properties.lines; p != NULL;
		     p = p->next)
			check_words(p->values);
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
