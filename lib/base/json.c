/* json.c - writes JSON into a buffer.
 *
 * Owns: nothing. Runs in: anywhere. Fails with: nothing; nesting that is too deep is fatal.
 * Tests: tests/unit/base/json_test.c. */
#include "json.h"

#include <math.h>
#include <string.h>

#include "buf.h"
#include "fatal.h"
#include "utf8.h"

void json_out_init(struct json_out *j, struct buf *to)
{
	*j = (struct json_out){ .to = to };
}

/* Before every key, and every value that has no key. */
static void separate(struct json_out *j)
{
	uint32_t level = (uint32_t)1 << j->depth;

	if (j->after_key)
		j->after_key = false;
	else if (j->filled & level)
		buf_append(j->to, ",", 1);
	j->filled |= level;
}

static void open_bracket(struct json_out *j, const char *bracket)
{
	separate(j);
	if (j->depth + 1 == JSON_DEPTH_MAX)
		fatalx("json: nested too deeply");
	j->depth++;
	j->filled &= ~((uint32_t)1 << j->depth);
	buf_append(j->to, bracket, 1);
}

static void close_bracket(struct json_out *j, const char *bracket)
{
	if (j->depth == 0 || j->after_key)
		fatalx("json: %s has nothing to end", bracket);
	j->depth--;
	buf_append(j->to, bracket, 1);
}

void json_out_object(struct json_out *j)
{
	open_bracket(j, "{");
}

void json_out_object_end(struct json_out *j)
{
	close_bracket(j, "}");
}

void json_out_array(struct json_out *j)
{
	open_bracket(j, "[");
}

void json_out_array_end(struct json_out *j)
{
	close_bracket(j, "]");
}

/* ---- text ---- */

static void put_control(struct buf *to, unsigned char c)
{
	switch (c) {
	case '"':
	case '\\':
		buf_printf(to, "\\%c", c);
		break;
	case '\n':
		buf_append(to, "\\n", 2);
		break;
	case '\r':
		buf_append(to, "\\r", 2);
		break;
	case '\t':
		buf_append(to, "\\t", 2);
		break;
	default:
		buf_printf(to, "\\u%04x", c);
		break;
	}
}

static void put_string(struct buf *to, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t               plain = 0; /* where what was not written yet begins */

	buf_append(to, "\"", 1);
	for (size_t i = 0; i < n;) {
		size_t length = utf8_length(p + i, n - i);

		if (length == 0 || p[i] < ' ' || p[i] == '"' || p[i] == '\\' || p[i] == 0x7f) {
			buf_append(to, p + plain, i - plain);
			if (length == 0)
				buf_append(to, "\xef\xbf\xbd", 3);
			else
				put_control(to, p[i]);
			plain = ++i;
		} else {
			i += length;
		}
	}
	buf_append(to, p + plain, n - plain);
	buf_append(to, "\"", 1);
}

void json_out_key(struct json_out *j, const char *key)
{
	separate(j);
	put_string(j->to, key, strlen(key));
	buf_append(j->to, ":", 1);
	j->after_key = true;
}

/* ---- values ---- */

void json_out_string(struct json_out *j, const char *p, size_t n)
{
	if (!p) {
		json_out_null(j);
		return;
	}
	separate(j);
	put_string(j->to, p, n);
}

void json_out_text(struct json_out *j, const char *text)
{
	json_out_string(j, text, text ? strlen(text) : 0);
}

void json_out_int(struct json_out *j, int64_t value)
{
	separate(j);
	buf_printf(j->to, "%lld", (long long)value);
}

void json_out_double(struct json_out *j, double value)
{
	if (!isfinite(value)) {
		json_out_null(j);
		return;
	}
	separate(j);
	buf_printf(j->to, "%.17g", value);
}

void json_out_bool(struct json_out *j, bool value)
{
	separate(j);
	if (value)
		buf_append(j->to, "true", 4);
	else
		buf_append(j->to, "false", 5);
}

void json_out_null(struct json_out *j)
{
	separate(j);
	buf_append(j->to, "null", 4);
}
