/* json.c - see json.h. Text comes from the repository, where it is UTF-8.
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: what bw_res_write fails with.
 * Tests: tests/system/query_test.c. */
#include "json.h"
#include <stdio.h>

/* What stands for an octet in a string of JSON; NULL: itself. */
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

/* The same within HTML within JSON. */
static const char *html_of(unsigned char c, char room[8])
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case 2:
		return "<mark>";
	case 3:
		return "</mark>";
	default:
		return escape_of(c, room);
	}
}

static int put(struct bw_req *req, struct bw_str text,
               const char *(*escape)(unsigned char c, char room[8]))
{
	size_t from = 0;
	char   room[8];
	int    err = bw_res_puts(req, "\"");

	for (size_t i = 0; err == BW_OK && i < text.n; i++) {
		const char *other = escape((unsigned char)text.p[i], room);

		if (other == NULL)
			continue;
		err = bw_res_write(req, text.p + from, i - from);
		if (err == BW_OK)
			err = bw_res_puts(req, other);
		from = i + 1;
	}
	if (err == BW_OK)
		err = bw_res_write(req, text.p + from, text.n - from);
	return err == BW_OK ? bw_res_puts(req, "\"") : err;
}

int json_string(struct bw_req *req, struct bw_str text)
{
	return put(req, text, escape_of);
}

int json_marked(struct bw_req *req, struct bw_str text)
{
	return put(req, text, html_of);
}

int json_values(struct bw_req *req, const struct bw_values *values)
{
	bool bare = values->type == BW_VALUE_LONG || values->type == BW_VALUE_BOOLEAN;
	int  err = values->is_list ? bw_res_puts(req, "[") : BW_OK;

	for (size_t i = 0; err == BW_OK && i < values->n; i++) {
		if (i > 0)
			err = bw_res_puts(req, ",");
		if (err == BW_OK)
			err = bare ? bw_res_write(req, values->items[i].p, values->items[i].n)
			           : json_string(req, values->items[i]);
	}
	return err == BW_OK && values->is_list ? bw_res_puts(req, "]") : err;
}
