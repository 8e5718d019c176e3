/* The form encoding of the web (URL standard, "application/x-www-form-urlencoded parsing", made
 * strict):
 *
 *    name=value & name & =value & & name=a%20b+c
 *
 * A piece without '=' is a name with an empty value; an empty piece is nothing. What browsers
 * repair is refused here: a client that cannot encode does not mean what it says. A NUL is refused
 * as well, since in C it would end the text for some who read it and not for others.
 *
 * Owns: nothing. Runs in: anywhere. Fails with: BW_ESYNTAX, BW_EFORMSIZE.
 * Tests: tests/unit/gateway/params_test.c, tests/fuzz/urlform_parse.c. */
#include "urlform.h"

#include "percent.h"

#include <base/utf8.h>
#include <boardwalk/err.h>

/* Decodes where it lies and puts a NUL behind it, so text[n] is overwritten. False: malformed. */
static bool decode(char *text, size_t n, struct bw_str *ret)
{
	char *to = text;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			c = percent_octet(text + i, n - i);
			i += 2;
		} else if (c == '+') {
			c = ' ';
		}
		if (c <= 0)
			return false;
		*to++ = (char)c;
	}
	*to = '\0';
	*ret = (struct bw_str){ text, (size_t)(to - text) };
	return utf8_ok(ret->p, ret->n);
}

static int add_piece(struct arena *a, char *piece, size_t n, size_t max, struct pairs *to)
{
	char         *equals = memchr(piece, '=', n);
	size_t        n_name = equals ? (size_t)(equals - piece) : n;
	struct bw_str name, value = BW_STR("");

	if (n == 0)
		return BW_OK;
	if (to->n >= max)
		return BW_EFORMSIZE;
	if (!decode(piece, n_name, &name) || name.n > URLFORM_MAX_NAME)
		return BW_ESYNTAX;
	if (equals && !decode(equals + 1, n - n_name - 1, &value))
		return BW_ESYNTAX;
	pairs_add(a, to, name, value);
	return BW_OK;
}

int urlform_parse(struct arena *a, char *text, size_t n, size_t max, struct pairs *to)
{
	char *end = text + n;
	int   err = BW_OK;

	while (err == BW_OK && text < end) {
		char  *separator = memchr(text, '&', (size_t)(end - text));
		size_t len = (size_t)((separator ? separator : end) - text);

		err = add_piece(a, text, len, max, to);
		text += len + 1;
	}
	return err;
}
