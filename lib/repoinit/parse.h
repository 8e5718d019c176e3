/* parse.h - the parser's state and the helpers its files share. Private to lib/repoinit.
 *
 * Every function answers false after it has filled p->error, and its callers pass that on. */
#pragma once
#include "scan.h"

struct repoinit_script {
	struct arena               arena; /* everything the statements point to */
	struct repoinit_statement *first;
};

struct parser {
	struct scanner          scan;  /* behind token */
	struct token            token; /* the word to look at now */
	struct repoinit_script *script;
	struct repoinit_error  *error;
};

bool parse_next(struct parser *p);
bool parse_is(const struct parser *p, const char *text);
/* Over that keyword or mark, which must be here. */
bool parse_expect(struct parser *p, const char *text);
/* Over the end of this line. */
bool parse_line_end(struct parser *p);
/* "expected WHAT instead of ..." about the word here. */
bool parse_wrong(struct parser *p, const char *what);
/* "'WHAT' is not supported by this version" */
bool parse_unsupported(struct parser *p, struct repoinit_at at, const char *what);
/* One word of one of the kinds in the mask (1u << TOKEN_WORD | ...); what: for the message. */
bool parse_word(struct parser *p, unsigned kinds, const char *what, struct repoinit_word **ret);
/* The same, one or more with commas between. */
bool parse_words(struct parser *p, unsigned kinds, const char *what, struct repoinit_word **ret);
/* Absolute paths with commas between. */
bool parse_paths(struct parser *p, struct repoinit_word **ret);
/* Whether a block's next line is here: false at `end`, which is then consumed with its line. Blank
 * lines are passed over. *ret_more is valid only if the answer is true. */
bool parse_block_line(struct parser *p, bool first, bool *ret_more);

/* The blocks, from the word behind their header's fixed words. */
bool parse_acl(struct parser *p, struct repoinit_statement *s);              /* acl.c */
bool parse_properties(struct parser *p, struct repoinit_statement *s);       /* property.c */
bool parse_property_lines(struct parser *p, struct repoinit_property **ret); /* property.c */

#define PARSE_NAMES (1u << TOKEN_WORD | 1u << TOKEN_QUOTED)
