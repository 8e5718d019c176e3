/* principal.c - the statements about users, service users and groups.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and a place. Tests: tests/conformance/repoinit. */
#include "parse.h"

/* [{enc}] pw, from behind `password`. The one encoding is a whole argon2id verifier. */
static bool parse_password(struct parser *p, struct repoinit_statement *s)
{
	if (parse_is(p, "{")) {
		struct repoinit_word *encoding;

		if (!parse_next(p) || !parse_word(p, 1u << TOKEN_WORD, "an encoding", &encoding))
			return false;
		if (!bw_str_eq(encoding->text, BW_STR("argon2id")))
			return scan_fail(p->error, encoding->at,
			                 "the one password encoding is argon2id");
		if (!parse_expect(p, "}"))
			return false;
		s->principal.hashed = true;
	}
	if (!parse_word(p, PARSE_NAMES, "a password", &s->principal.password))
		return false;
	if (s->principal.hashed && strncmp(s->principal.password->text.p, "$argon2id$", 10) != 0)
		return scan_fail(p->error, s->principal.password->at,
		                 "not a complete argon2id hash");
	if (s->principal.password->text.n == 0 || s->principal.password->text.n > 1024)
		return scan_fail(p->error, s->principal.password->at,
		                 "a password has 1 to 1024 octets");
	return true;
}

/* with [forced] path P and with password [{enc}] pw, in this order; without either the line ends. */
static bool parse_with(struct parser *p, struct repoinit_statement *s, bool may_have_password)
{
	unsigned kinds = PARSE_NAMES | 1u << TOKEN_PATH;

	if (!parse_is(p, "with"))
		return parse_line_end(p);
	if (!parse_next(p))
		return false;
	s->principal.forced = parse_is(p, "forced");
	if (s->principal.forced && !parse_next(p))
		return false;
	if (s->principal.forced || parse_is(p, "path") || !may_have_password) {
		if (!parse_expect(p, "path") ||
		    !parse_word(p, kinds, "a path", &s->principal.folder))
			return false;
		if (!may_have_password || !parse_is(p, "with"))
			return parse_line_end(p);
		if (!parse_next(p))
			return false;
	}
	return parse_expect(p, "password") && parse_password(p, s) && parse_line_end(p);
}

bool parse_create_service_user(struct parser *p, struct repoinit_statement *s)
{
	s->principal.class = REPOINIT_SERVICE;
	return parse_words(p, PARSE_NAMES, "a user's name", &s->principal.names) &&
	       parse_with(p, s, false);
}

bool parse_create_user(struct parser *p, struct repoinit_statement *s)
{
	s->principal.class = REPOINIT_USER;
	return parse_word(p, PARSE_NAMES, "a user's name", &s->principal.names) &&
	       parse_with(p, s, true);
}

bool parse_create_group(struct parser *p, struct repoinit_statement *s)
{
	s->principal.class = REPOINIT_GROUP;
	return parse_word(p, PARSE_NAMES, "a group's name", &s->principal.names) &&
	       parse_with(p, s, false);
}

bool parse_delete_service_user(struct parser *p, struct repoinit_statement *s)
{
	s->principal.class = REPOINIT_SERVICE;
	return parse_words(p, PARSE_NAMES, "a user's name", &s->principal.names) &&
	       parse_line_end(p);
}

bool parse_delete_user(struct parser *p, struct repoinit_statement *s)
{
	s->principal.class = REPOINIT_USER;
	return parse_word(p, PARSE_NAMES, "a user's name", &s->principal.names) &&
	       parse_line_end(p);
}

bool parse_delete_group(struct parser *p, struct repoinit_statement *s)
{
	s->principal.class = REPOINIT_GROUP;
	return parse_word(p, PARSE_NAMES, "a group's name", &s->principal.names) &&
	       parse_line_end(p);
}

/* u : "reason". A colon with blanks around it is a word. */
bool parse_disable(struct parser *p, struct repoinit_statement *s)
{
	if (!parse_word(p, PARSE_NAMES, "a user's name", &s->disable.name))
		return false;
	if (p->token.kind != TOKEN_WORD || p->token.n != 1 || p->token.p[0] != ':')
		return parse_wrong(p, "':'");
	if (!parse_next(p) ||
	    !parse_word(p, 1u << TOKEN_QUOTED, "a reason in quotes", &s->disable.reason))
		return false;
	if (s->disable.reason->text.n > 1024)
		return scan_fail(p->error, s->disable.reason->at,
		                 "a reason of more than 1024 octets");
	return parse_line_end(p);
}

bool parse_membership(struct parser *p, struct repoinit_statement *s)
{
	return parse_words(p, PARSE_NAMES, "a member", &s->membership.members) &&
	       parse_expect(p, s->kind == REPOINIT_ADD_MEMBERS ? "to" : "from") &&
	       parse_expect(p, "group") &&
	       parse_word(p, PARSE_NAMES, "a group's name", &s->membership.group) &&
	       parse_line_end(p);
}
