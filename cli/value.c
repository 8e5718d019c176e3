/* value.c - repoinit's values as typed JSON: an object with one member, named by the type's tag.
 *
 * Long and Boolean become JSON values; Double and Date stay text, since JSON numbers have no NaN and
 * jsonb loses the sign of zero. A Date gets three digits of a second, as everywhere in the database.
 *
 * Owns, fails with: nothing (the parser has checked each value). Runs in: the command repoinit.
 * Tests: tests/unit/cli/value_test.c. */
#include "value.h"

#include <stdlib.h>
#include <string.h>

static const char *const tags[] = {
	[REPOINIT_STRING] = "s",  [REPOINIT_LONG] = "l",    [REPOINIT_DOUBLE] = "d",
	[REPOINIT_DATE] = "date", [REPOINIT_BOOLEAN] = "b",
};

/* RFC 8259, section 7. */
void value_put_text(struct buf *out, struct bw_str text)
{
	buf_append(out, "\"", 1);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20)
			buf_printf(out, "\\u%04x", c);
		else
			buf_append(out, &c, 1);
	}
	buf_append(out, "\"", 1);
}

/* 2026-11-30T16:20:05Z and ...05.1Z become ...05.000Z and ...05.100Z. */
static void put_date(struct buf *out, struct bw_str text)
{
	const size_t seconds = sizeof("2026-11-30T16:20:05") - 1;
	const char  *fraction = text.p + seconds;
	size_t       digits = *fraction == '.' ? strspn(fraction + 1, "0123456789") : 0;

	buf_printf(out, "\"%.*s.%.*s%.*s%s\"", (int)seconds, text.p, (int)digits, fraction + 1,
	           (int)(3 - digits), "000", fraction + (digits > 0 ? digits + 1 : 0));
}

static void put_value(struct buf *out, enum repoinit_type type, struct bw_str text)
{
	if (type == REPOINIT_LONG)
		buf_printf(out, "%lld", strtoll(text.p, NULL, 10)); /* 007 is no JSON number */
	else if (type == REPOINIT_BOOLEAN)
		buf_append(out, text.p, text.n);
	else if (type == REPOINIT_DATE)
		put_date(out, text);
	else
		value_put_text(out, text);
}

void value_put(struct buf *out, const struct repoinit_property *property)
{
	buf_printf(out, "{\"%s\":%s", tags[property->type], property->multiple ? "[" : "");
	for (const struct repoinit_word *v = property->values; v != NULL; v = v->next) {
		put_value(out, property->type, v->text);
		if (v->next != NULL)
			buf_append(out, ",", 1);
	}
	buf_printf(out, "%s}", property->multiple ? "]" : "");
	buf_append(out, "", 1);
}
