/* Fuzz target: gateway/security/redirect.c. The input is what a client asks to be sent to. What is let
 * through is a path of this host and nothing else, as ASCII, and is let through again as it stands. */
#include <security/redirect.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bw_str uri = BW_STR("/a/b.html");

static void check(struct arena *a, const struct redirect_site *site, struct bw_str s)
{
	struct bw_str again = redirect_check(a, site, s);

	if (s.n == 0 || s.p[0] != '/' || (s.n > 1 && s.p[1] == '/') || s.p[s.n] != '\0' ||
	    strlen(s.p) != s.n || strstr(s.p, "//") != NULL)
		abort();
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f || strchr("\\\"<>'^`{|}", s.p[i]) != NULL)
			abort();
	/* Escaped it may have become too long, and a quote needs a resource no more. */
	if (s.n <= REDIRECT_MAX && !bw_str_eq(s, again))
		abort();
}

static void try(struct arena *a, const struct redirect_site *site, struct bw_str target)
{
	struct bw_str found = redirect_check(a, site, redirect_resolve(a, site, uri, target));

	if (found.p != NULL)
		check(a, site, found);
}

static bool exists(void *arg, struct bw_str path)
{
	(void)arg;
	return path.n % 2 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct redirect_site root = { BW_STR(""), NULL, NULL };
	static const struct redirect_site site = { BW_STR("/bw"), exists, NULL };
	struct arena                      a;
	char *copy = malloc(size > 0 ? size : 1); /* of exactly that size: a read beyond is seen */

	arena_init(&a);
	if (size > 0)
		memcpy(copy, data, size);
	try(&a, &root, (struct bw_str){ copy, size });
	try(&a, &site, (struct bw_str){ copy, size });
	arena_done(&a);
	free(copy);
	return 0;
}
