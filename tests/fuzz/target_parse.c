/* Fuzz target: servlets/users/target.c. The input is a path below /system/userManager. A name that is
 * found stands inside it, is not empty and has no slash. */
#include <servlets/users/target.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size > 0 ? size : 1); /* of exactly that size: a read beyond is seen */
	struct target t;

	if (size > 0)
		memcpy(copy, data, size);
	if (target_parse((struct bw_str){ copy, size }, &t) && t.name.p != NULL &&
	    (t.name.n == 0 || t.name.p < copy || t.name.p + t.name.n > copy + size ||
	     memchr(t.name.p, '/', t.name.n) != NULL))
		abort();
	free(copy);
	return 0;
}
