/* Fuzz target: gateway/engine/pathinfo.c. The input is a path. At each place where it may be cut, the
 * resource and the left-over make up the path, and the parts of the left-over lie in it, in order. */
#include <engine/pathinfo.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(struct bw_str part, const char **at, const char *end)
{
	if (part.p == NULL)
		return;
	if (part.n == 0 || part.p < *at || part.p + part.n > end)
		abort();
	*at = part.p + part.n;
}

static void check_selectors(struct bw_str selectors)
{
	struct bw_str rest = selectors, one;
	const char   *at = selectors.p;
	size_t        n = 0;

	while (pathinfo_selector(&rest, &one)) {
		if (one.p < at || one.p + one.n > selectors.p + selectors.n ||
		    (one.n > 0 && memchr(one.p, '.', one.n) != NULL))
			abort();
		at = one.p + one.n;
		n++;
	}
	if ((n > 0) != (selectors.p != NULL))
		abort();
}

static void check_split(struct bw_str path, size_t n)
{
	struct bw_str   left = { path.p + n, path.n - n };
	struct pathinfo p = { .resource_path = { path.p, n } };
	const char     *at = left.p, *end = left.p + left.n;

	pathinfo_split(left, &p);
	check_within(p.selectors, &at, end);
	check_within(p.extension, &at, end);
	check_within(p.suffix, &at, end);
	if (p.suffix.p != NULL && (p.suffix.p[0] != '/' || p.suffix.p + p.suffix.n != end))
		abort();
	if (p.extension.p != NULL && memchr(p.extension.p, '.', p.extension.n) != NULL)
		abort();
	check_selectors(p.selectors);
	pathinfo_is_valid(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char         *text = malloc(size + 1); /* a path begins with a slash */
	struct bw_str path = { text, size + 1 }, first;

	text[0] = '/';
	if (size > 0)
		memcpy(text + 1, data, size);
	first = pathinfo_first(path);
	do
		check_split(path, first.n);
	while (pathinfo_cut(&first));
	free(text);
	return 0;
}
