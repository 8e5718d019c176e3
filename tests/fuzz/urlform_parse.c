/* Fuzz target: gateway/forms/urlform.c. The input is a query or a form. What is accepted is UTF-8
 * without NUL, keeps to the limits, and encoded again is read as the same list. */
#include <base/utf8.h>
#include <boardwalk/err.h>
#include <stdlib.h>
#include <string.h>
#include <forms/urlform.h>

#define MAX 50

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct bw_str s)
{
	if (s.p[s.n] || memchr(s.p, '\0', s.n) || !utf8_ok(s.p, s.n))
		abort();
}

static char *encode(char *to, struct bw_str s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		*to++ = '%';
		*to++ = hex[c >> 4];
		*to++ = hex[c & 15];
	}
	return to;
}

static void check_again(struct arena *a, const struct pairs *list, size_t size)
{
	struct pairs again = { 0 };
	char        *text = arena_alloc(a, 3 * size + 2 * MAX + 1), *at = text;

	for (size_t i = 0; i < list->n; i++) {
		at = encode(at, list->items[i].name);
		*at++ = '=';
		at = encode(at, list->items[i].value);
		*at++ = '&';
	}
	*at = '\0';
	if (urlform_parse(a, text, (size_t)(at - text), MAX, &again) != BW_OK || again.n != list->n)
		abort();
	for (size_t i = 0; i < list->n; i++)
		if (!bw_str_eq(again.items[i].name, list->items[i].name) ||
		    !bw_str_eq(again.items[i].value, list->items[i].value))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pairs list = { 0 };
	struct arena a;

	arena_init(&a);
	if (urlform_parse(&a, arena_dup(&a, data, size), size, MAX, &list) == BW_OK) {
		for (size_t i = 0; i < list.n; i++) {
			check_text(list.items[i].name);
			check_text(list.items[i].value);
			if (list.items[i].name.n > URLFORM_MAX_NAME)
				abort();
		}
		check_again(&a, &list, size);
	}
	if (list.n > MAX)
		abort();
	arena_done(&a);
	return 0;
}
