/* scan.h - the words of a repoinit script. Private to lib/repoinit.
 *
 * The scanner is a small value: copying it is how the parser looks ahead. */
#pragma once
#include <base/arena.h>
#include <repoinit/repoinit.h>

enum token_kind {
	TOKEN_NEWLINE,
	TOKEN_END,     /* of the text */
	TOKEN_KEYWORD, /* a plain word that the language reserves */
	TOKEN_WORD,    /* letters, digits and - _ . / : * */
	TOKEN_NAME,    /* letters, colon, letters: jcr:read */
	TOKEN_PATH,    /* / and letters, digits and - _ . @ : + / */
	TOKEN_QUOTED,  /* "..." */
	TOKEN_PUNCT,   /* one of ( ) { } [ ] , = */
};

struct token {
	enum token_kind    kind;
	const char        *p; /* raw: quotes and escapes are still there */
	size_t             n;
	struct repoinit_at at;
};

struct scanner {
	const char        *p, *end;
	struct repoinit_at at;
};

/* Starts at the first octet. False, with *ret_error, if the text is not UTF-8 or holds a NUL. */
bool scan_init(struct scanner *s, const char *text, size_t n, struct repoinit_error *ret_error);
/* Over the character at s->p, of which there is one. */
void scan_step(struct scanner *s);
/* The next word. False, with *ret_error, where no word can begin. */
bool scan_next(struct scanner *s, struct token *ret_token, struct repoinit_error *ret_error);
/* The word's meaning: a quoted text without its quotes and escapes, anything else as it stands. */
struct bw_str scan_text(const struct token *t, struct arena *arena);
bool token_is(const struct token *t, const char *text); /* a keyword or a punctuation mark */
/* A message about the place of t. Always false, so that a caller can return it. */
__attribute__((format(printf, 3, 4))) bool
scan_fail(struct repoinit_error *error, struct repoinit_at at, const char *format, ...);
