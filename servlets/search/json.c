/* json.c - see json.h.
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: nothing.
 * Tests: tests/system/query_test.c. */
#include "json.h"
#include <stdio.h>

/* What stands for an octet in a string; NULL: itself. */
static const char *escape_of(unsigned char c, char room[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	default:
		if (c >= 0x20)
			return NULL;
		snprintf(room, 8, "\\u%04x", c);
		return room;
	}
}

void json_string(struct out *o, struct bw_str text)
{
	size_t from = 0;
	char   room[8];

	out_puts(o, "\"");
	for (size_t i = 0; i < text.n; i++) {
		const char *other = escape_of((unsigned char)text.p[i], room);

		if (other == NULL)
			continue;
		out_add(o, text.p + from, i - from);
		out_puts(o, other);
		from = i + 1;
	}
	if (from < text.n)
		out_add(o, text.p + from, text.n - from);
	out_puts(o, "\"");
}

void json_marked(struct out *o, struct bw_str text)
{
	struct out html = { .req = o->req };

	out_html(&html, text);
	json_string(o, (struct bw_str){ html.p, html.n });
}

void json_values(struct out *o, const struct bw_values *values)
{
	bool bare = values->type == BW_VALUE_LONG || values->type == BW_VALUE_BOOLEAN;

	out_puts(o, values->is_list ? "[" : "");
	for (size_t i = 0; i < values->n; i++) {
		out_puts(o, i > 0 ? "," : "");
		if (bare)
			out_add(o, values->items[i].p, values->items[i].n);
		else
			json_string(o, values->items[i]);
	}
	out_puts(o, values->is_list ? "]" : "");
}
