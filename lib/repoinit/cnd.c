/* cnd.c - cuts definitions of node types into words.
 *
 * White space and comments separate, newlines mean no more than blanks. A word goes on to the next
 * character that is none of its own; - and + are marks only where a word could begin.
 *
 * Owns: nothing; words point into the text. Runs in: the CLI, blocking.
 * Fails with: false and a place in the text. Tests: tests/conformance/repoinit, tests/fuzz. */
#include "cnd.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool begins(const struct scanner *s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s->end - s->p) >= n && memcmp(s->p, text, n) == 0;
}

/* Over one comment. False: it has no end. */
static bool skip_comment(struct scanner *s)
{
	bool line = begins(s, "//");

	while (s->p < s->end && !begins(s, line ? "\n" : "*/"))
		scan_step(s);
	if (s->p == s->end)
		return line;
	if (!line)
		scan_step(s);
	scan_step(s);
	return true;
}

/* What Apache Sling's repoinit lets stand in front of a line. */
static bool is_prefix(const struct scanner *s)
{
	return s->at.column == 1 && begins(s, "<<") && (s->end - s->p == 2 || is_blank(s->p[2]));
}

/* To the next word. */
static bool skip(struct scanner *s, struct repoinit_error *ret_error)
{
	while (s->p < s->end) {
		struct repoinit_at at = s->at;

		if (is_blank(*s->p))
			scan_step(s);
		else if (is_prefix(s)) {
			scan_step(s);
			scan_step(s);
		} else if (!begins(s, "//") && !begins(s, "/*"))
			return true;
		else if (!skip_comment(s))
			return scan_fail(ret_error, at, "comment without an end");
	}
	return true;
}

static bool scan_quoted(struct scanner *s, struct cnd_token *t, struct repoinit_error *ret_error)
{
	char quote = *s->p;

	scan_step(s);
	while (s->p < s->end && *s->p != quote && *s->p != '\n') {
		if (*s->p == '\\' && s->p + 1 < s->end && s->p[1] != '\n')
			scan_step(s);
		scan_step(s);
	}
	if (s->p == s->end || *s->p == '\n')
		return scan_fail(ret_error, t->at, "quoted text without an end in its line");
	scan_step(s);
	t->kind = CND_QUOTED;
	return true;
}

static bool ends_word(char c)
{
	return is_blank(c) || strchr("[]()<>=,'\"*?!", c) != NULL;
}

bool cnd_next(struct scanner *s, struct cnd_token *ret_token, struct repoinit_error *ret_error)
{
	if (!skip(s, ret_error))
		return false;
	*ret_token = (struct cnd_token){ CND_END, s->p, 0, s->at };
	if (s->p == s->end)
		return true;
	if (*s->p == '"' || *s->p == '\'') {
		if (!scan_quoted(s, ret_token, ret_error))
			return false;
	} else if (strchr("[]()<>=,+-*?!", *s->p) != NULL) {
		ret_token->kind = CND_PUNCT;
		scan_step(s);
	} else {
		ret_token->kind = CND_WORD;
		while (s->p < s->end && !ends_word(*s->p))
			scan_step(s);
	}
	ret_token->n = (size_t)(s->p - ret_token->p);
	return true;
}

struct bw_str cnd_text(const struct cnd_token *t, struct arena *arena)
{
	char  *out;
	size_t n = 0;

	if (t->kind != CND_QUOTED)
		return (struct bw_str){ arena_dup(arena, t->p, t->n), t->n };
	out = arena_alloc(arena, t->n);
	for (size_t i = 1; i < t->n - 1; i++) {
		if (t->p[i] == '\\' && i + 1 < t->n - 1)
			i++;
		out[n++] = t->p[i];
	}
	out[n] = '\0';
	return (struct bw_str){ out, n };
}
