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
/* "WHAT: WHY", for what belongs to the language and not to this version. */
bool parse_unsupported(struct parser *p, struct repoinit_at at, const char *what, const char *why);
/* One word of one of the kinds in the mask (1u << TOKEN_WORD | ...); what: for the message. */
bool parse_word(struct parser *p, unsigned kinds, const char *what, struct repoinit_word **ret);
/* The same, one or more with commas between. */
bool parse_words(struct parser *p, unsigned kinds, const char *what, struct repoinit_word **ret);
/* Absolute paths with commas between, or nodes of accounts. */
bool parse_paths(struct parser *p, struct repoinit_word **ret);
/* The same, and the repository itself: whatever has a list of entries. */
bool parse_places(struct parser *p, struct repoinit_word **ret);
/* Whether a block's next line is here: false at `end`, which is then consumed with its line. Blank
 * lines are passed over. *ret_more is valid only if the answer is true. */
bool parse_block_line(struct parser *p, bool first, bool *ret_more);

/* The rest of a statement, from the word behind its fixed words. s->kind is set. */
bool parse_path(struct parser *p, struct repoinit_statement *s);                /* path.c */
bool parse_mixins(struct parser *p, struct repoinit_statement *s);              /* path.c */
bool parse_create_service_user(struct parser *p, struct repoinit_statement *s); /* principal.c */
bool parse_create_user(struct parser *p, struct repoinit_statement *s);         /* principal.c */
bool parse_create_group(struct parser *p, struct repoinit_statement *s);        /* principal.c */
bool parse_delete_service_user(struct parser *p, struct repoinit_statement *s); /* principal.c */
bool parse_delete_user(struct parser *p, struct repoinit_statement *s);         /* principal.c */
bool parse_delete_group(struct parser *p, struct repoinit_statement *s);        /* principal.c */
bool parse_disable(struct parser *p, struct repoinit_statement *s);             /* principal.c */
bool parse_membership(struct parser *p, struct repoinit_statement *s);          /* principal.c */
bool parse_acl_on(struct parser *p, struct repoinit_statement *s);              /* acl.c */
bool parse_acl_for(struct parser *p, struct repoinit_statement *s);             /* acl.c */
bool parse_own_acl(struct parser *p, struct repoinit_statement *s);             /* acl.c */
bool parse_repository_acl(struct parser *p, struct repoinit_statement *s);      /* acl.c */
bool parse_properties(struct parser *p, struct repoinit_statement *s);          /* property.c */
bool parse_property_lines(struct parser *p, struct repoinit_property **ret);    /* property.c */
bool parse_namespace(struct parser *p, struct repoinit_statement *s);           /* registry.c */
bool parse_privilege(struct parser *p, struct repoinit_statement *s);           /* registry.c */
bool parse_abstract_privilege(struct parser *p, struct repoinit_statement *s);  /* registry.c */
bool parse_node_types(struct parser *p, struct repoinit_statement *s);          /* node_type.c */

#define PARSE_NAMES    (1u << TOKEN_WORD | 1u << TOKEN_QUOTED)
#define PARSE_PREFIXED (PARSE_NAMES | 1u << TOKEN_NAME) /* types, privileges, principals */
#define PARSE_PATHS    (1u << TOKEN_PATH | 1u << TOKEN_QUOTED)
