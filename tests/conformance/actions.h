/* actions.h - the words of a script (do=, init=). */
#pragma once
#include "things.h"

struct action {
	struct thing    *thing;
	struct bw_req   *req;   /* NULL in init */
	struct bw_chain *chain; /* of a filter */
	const char      *a, *b; /* arguments, NULL if not given */
};

struct word {
	const char *name;
	int (*fn)(struct action *x); /* anything but BW_OK ends the script and is returned */
};

extern const struct word listener_words[], watching_words[];

/* "word+word(x)+word", read once: what requests do leaves no text behind. */
struct script *script_parse(const char *text);
int script_run(const struct script *s, struct thing *t, struct bw_req *req, struct bw_chain *chain);
