/* Fuzz target: gateway/path.c. The input is a request target. What is accepted is a path that rules,
 * matching and look-up can only read in one way. */
#include <boardwalk/err.h>
#include <path.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct path_target *t)
{
	const char *p = t->path.p, *end = p + t->path.n;

	if (t->path.n == 0 || *p != '/')
		abort();
	while (p < end) {
		const char *slash = memchr(p + 1, '/', (size_t)(end - p - 1));
		size_t      n = (size_t)((slash ? slash : end) - p - 1);

		if (n == 0 && slash != NULL)
			abort(); /* an empty segment that is not the last */
		if ((n == 1 && p[1] == '.') || (n == 2 && p[1] == '.' && p[2] == '.'))
			abort();
		p += n + 1;
	}
	for (p = t->path.p; p < end; p++)
		if ((unsigned char)*p < ' ' || *p == 127 || *p == '\\')
			abort();
	if (t->params.p != NULL && (t->params.n == 0 || t->params.p[0] != ';'))
		abort();
	if (t->authority.p != NULL && !path_is_authority(t->authority))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char              *text = malloc(size + 1); /* of its very size */
	struct arena       arena;
	struct path_target t;

	if (size > 0)
		memcpy(text, data, size);
	arena_init(&arena);
	if (path_canonical(&arena, (struct bw_str){ text, size }, &t) == BW_OK)
		check(&t);
	arena_done(&arena);
	free(text);
	return 0;
}
