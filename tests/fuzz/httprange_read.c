/* Fuzz target: lib/base/httprange.c. The input is eight octets of a file's size, then the field's value. A
 * part that is read lies in the file; nothing is written where there is none. */
#include <base/httprange.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t file, first = 7, n = 0;
	char    *text;

	if (size < sizeof(file))
		return 0;
	memcpy(&file, data, sizeof(file));
	size -= sizeof(file);
	text = malloc(size + 1); /* a block of its own, so that reading past it is seen */
	memcpy(text, data + sizeof(file), size);
	if (httprange_read(text, size, file, &first, &n) == HTTPRANGE_PART) {
		if (n == 0 || first >= file || n > file - first)
			abort();
	} else if (first != 7 || n != 0) {
		abort();
	}
	free(text);
	return 0;
}
