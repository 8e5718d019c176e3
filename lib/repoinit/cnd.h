/* cnd.h - the words of the node type definition language (JCR 2.0 section 25.2). Private to
 * lib/repoinit.
 *
 * The text stands between two lines of a script, and each of its lines may begin with "<< ", which
 * belongs to neither. */
#pragma once
#include "scan.h"

enum cnd_kind {
	CND_END,
	CND_WORD,
	CND_QUOTED,
	CND_PUNCT, /* one of [ ] ( ) < > = , + - * ? ! */
};

struct cnd_token {
	enum cnd_kind      kind;
	const char        *p; /* raw: quotes and escapes are still there */
	size_t             n;
	struct repoinit_at at;
};

/* The next word of the text from s->p to s->end. False, with *ret_error, where none can begin. */
bool cnd_next(struct scanner *s, struct cnd_token *ret_token, struct repoinit_error *ret_error);
/* The word's meaning, NUL-terminated. */
struct bw_str cnd_text(const struct cnd_token *t, struct arena *arena);
