/* The table of canonicalisation as requests: what the path is, all of the whiteboard has to see, and what is
 * refused, neither filter nor preprocessor may.
 *
 *   U9 | /foo/b%25r | /foo/b%r | - | -     200, path info /foo/b%r, and so for a filter's regular expression
 *   U6 | /foo%00/bar/ | 400                400, and nobody was called
 *
 * Tests: canonical.rows. */
#include "targets.h"

#include <stdlib.h>
#include <string.h>

bool targets_are(const char *first_line)
{
	return text_begins(first_line, "# rows: canonical");
}

struct words targets_set_up(void)
{
	struct words w = { NULL, 0 };

	words_add(&w, text_printf("P p:"));
	words_add(&w, text_printf("F f: /*"));
	words_add(&w, text_printf("S A: /*"));
	return w;
}

/* \xHH is an octet. */
static char *octets(const char *text)
{
	char *all = text_dup(text, strlen(text)), *to = all;

	for (; *text; text++) {
		if (text_begins(text, "\\x") && strlen(text) >= 4) {
			*to++ = (char)strtoul(text_dup(text + 2, 2), NULL, 16);
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
	return all;
}

struct target_row targets_read(char *line)
{
	struct words      w = text_split(line, "|");
	struct target_row r = { .id = w.n > 0 ? w.items[0] : NULL };
	char             *path;

	if (w.n < 3)
		return r;
	path = octets(w.items[2]);
	r.request = text_printf("GET %s", octets(w.items[1]));
	if (strcmp(path, "400") == 0) {
		words_add(&r.items, text_printf("400"));
		words_add(&r.items, text_printf("calls:"));
		return r;
	}
	words_add(&r.steps, text_printf("F g: ~\"\\Q%s\\E\"", path));
	words_add(&r.items, text_printf("200 fgAgf sp=\"\" pi=\"%s\" query=%s", path,
	                                w.n > 3 ? w.items[3] : "-"));
	words_add(&r.items, text_printf("calls: p, f, g, A, g, f, p"));
	return r;
}
