/* Fuzz target: gateway/forms/cookies.c. The input is a Cookie header's value. What is accepted keeps
 * to the rules: names are tokens, values have no control and no ';', and written one behind the
 * other they are read again as the same list. */
#include <forms/cookies.h>
#include <request.h>
#include <stdlib.h>
#include <string.h>
#include <token.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pair(const struct bw_pair *p)
{
	if (p->name.n == 0 || p->name.p[p->name.n] || p->value.p[p->value.n])
		abort();
	for (size_t i = 0; i < p->name.n; i++)
		if (!token_lower[(unsigned char)p->name.p[i]])
			abort();
	for (size_t i = 0; i < p->value.n; i++)
		if ((unsigned char)p->value.p[i] < ' ' || p->value.p[i] == 127 ||
		    p->value.p[i] == ';')
			abort();
}

static void check_again(struct arena *a, const struct pairs *list)
{
	struct pairs again = { 0 };
	const char  *text = "";

	for (size_t i = 0; i < list->n; i++)
		text = arena_printf(a, "%s%s=%s; ", text, list->items[i].name.p,
		                    list->items[i].value.p);
	if (cookies_parse(a, bw_str(text), &again) != BW_OK || again.n != list->n)
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
	if (cookies_parse(&a, (struct bw_str){ (const char *)data, size }, &list) == BW_OK) {
		for (size_t i = 0; i < list.n; i++)
			check_pair(&list.items[i]);
		if (list.n < 100) /* writing is quadratic */
			check_again(&a, &list);
	}
	arena_done(&a);
	return 0;
}
