/* property.c - the `set properties on` block of the repoinit language and its typed values.
 *
 * Owns: nothing; what it makes lives in the script's arena. Runs in: the CLI, blocking.
 * Fails with: false and the place of the value. Tests: tests/conformance/repoinit. */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_string(const char *text)
{
	(void)text;
	return true;
}

static bool is_long(const char *text)
{
	char *end;

	if (text[0] != '-' && !isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	(void)strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0';
}

/* A decimal number; strtod alone would also take hexadecimal, infinity and NaN. */
static bool is_double(const char *text)
{
	char  *end;
	double value;

	if (text[strspn(text, "+-.0123456789eE")] != '\0' || text[0] == '\0')
		return false;
	value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(value);
}

static bool is_boolean(const char *text)
{
	return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

static bool is_zone(const char *text)
{
	unsigned hour, minute;
	int      n = 0;

	if (strcmp(text, "Z") == 0)
		return true;
	if (strlen(text) != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':')
		return false;
	return isdigit((unsigned char)text[1]) && isdigit((unsigned char)text[4]) &&
	       sscanf(text + 1, "%2u:%2u%n", &hour, &minute, &n) == 2 && n == 5 && hour <= 14 &&
	       minute <= 59;
}

/* ISO 8601 with a zone: 2026-11-30T16:20:05[.123]+01:00 */
static bool is_date(const char *text)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	static const int  days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	unsigned          year, month, day, hour, minute, second;

	for (size_t i = 0; i < sizeof(shape) - 1; i++)
		if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
			return false;
	if (sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u", &year, &month, &day, &hour, &minute, &second) !=
	    6)
		return false;
	if (month < 1 || month > 12 || day < 1 || day > (unsigned)days[month - 1] || hour > 23 ||
	    minute > 59 || second > 59)
		return false;
	if (month == 2 && day == 29 && (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)))
		return false;
	text += sizeof(shape) - 1;
	if (*text == '.') {
		size_t digits = strspn(++text, "0123456789");

		if (digits < 1 || digits > 3)
			return false;
		text += digits;
	}
	return is_zone(text);
}

static const struct {
	const char *name;
	bool (*fits)(const char *text);
} types[] = {
	[REPOINIT_STRING] = { "String", is_string },    [REPOINIT_LONG] = { "Long", is_long },
	[REPOINIT_DOUBLE] = { "Double", is_double },    [REPOINIT_DATE] = { "Date", is_date },
	[REPOINIT_BOOLEAN] = { "Boolean", is_boolean },
};

/* {T} or {T[]}, if it is here. */
static bool parse_property_type(struct parser *p, struct repoinit_property *property)
{
	struct repoinit_word *name;

	if (!parse_is(p, "{"))
		return true;
	if (!parse_next(p) || !parse_word(p, 1u << TOKEN_WORD, "a type", &name))
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(types[i].name, name->text.p) != 0)
			continue;
		property->type = (enum repoinit_type)i;
		if (parse_is(p, "[")) {
			property->multiple = true;
			if (!parse_next(p) || !parse_expect(p, "]"))
				return false;
		}
		return parse_expect(p, "}");
	}
	return scan_fail(p->error, name->at,
	                 "'%.40s' is no type: String, Long, Double, Date or Boolean", name->text.p);
}

/* No value at all is an empty list; two or more are a list whatever the type says. */
static bool parse_values(struct parser *p, struct repoinit_property *property)
{
	unsigned kinds = PARSE_PREFIXED | 1u << TOKEN_PATH;

	if (p->token.kind != TOKEN_NEWLINE && p->token.kind != TOKEN_END &&
	    !parse_words(p, kinds, "a value", &property->values))
		return false;
	if (property->values == NULL || property->values->next != NULL)
		property->multiple = true;
	for (const struct repoinit_word *v = property->values; v != NULL; v = v->next)
		if (!types[property->type].fits(v->text.p))
			return scan_fail(p->error, v->at, "'%.40s' is no %s", v->text.p,
			                 types[property->type].name);
	return true;
}

static bool parse_property(struct parser *p, struct repoinit_property **ret)
{
	struct repoinit_property *property = arena_zalloc(&p->script->arena, sizeof(*property));
	struct repoinit_word     *name;

	property->at = p->token.at;
	property->only_if_missing = parse_is(p, "default");
	if (!property->only_if_missing && !parse_is(p, "set"))
		return parse_wrong(p, "'set', 'default' or 'end'");
	if (!parse_next(p) || !parse_word(p, PARSE_PREFIXED, "a property's name", &name) ||
	    !parse_property_type(p, property) || !parse_expect(p, "to") ||
	    !parse_values(p, property))
		return false;
	if (name->text.n == 0)
		return scan_fail(p->error, name->at, "an empty name");
	property->name = name->text;
	*ret = property;
	return parse_line_end(p);
}

bool parse_property_lines(struct parser *p, struct repoinit_property **ret)
{
	struct repoinit_property **tail = ret;
	bool                       more;

	*ret = NULL;
	for (;;) {
		if (!parse_block_line(p, *ret == NULL, &more))
			return false;
		if (!more)
			return true;
		if (!parse_property(p, tail))
			return false;
		tail = &(*tail)->next;
	}
}

bool parse_properties(struct parser *p, struct repoinit_statement *s)
{
	return parse_paths(p, &s->properties.paths) && parse_line_end(p) &&
	       parse_property_lines(p, &s->properties.lines);
}
