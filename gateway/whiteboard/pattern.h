/* pattern.h - the patterns of servlets and filters (Jakarta Servlet 12.1, 12.2), one at a time.
 * match.h compiles many of them into a table. */
#pragma once
#include <boardwalk/types.h>

enum pattern_kind {
	PATTERN_EXACT,     /* "/a/b" */
	PATTERN_ROOT,      /* "": the context root only; counts as exact */
	PATTERN_PREFIX,    /* "/a/" followed by an asterisk, for /a and all below it */
	PATTERN_EXTENSION, /* "*.html" */
	PATTERN_DEFAULT,   /* "/": what nobody else takes */
};

struct pattern {
	enum pattern_kind kind;
	struct bw_str     text; /* as registered, blanks at both ends dropped */
	struct bw_str     key;  /* what is compared: "/a/b"; "/a" of a prefix; "html" */
};

/* Reads text, which it borrows. False: no pattern, or one that can never match a canonical path. */
bool pattern_parse(struct bw_str text, struct pattern *ret);
/* Does a filter with this pattern take the context-relative path? path is "/" at the context's root
 * in both of its forms. */
bool pattern_filters(const struct pattern *p, struct bw_str path);
