/* Fuzz target: cli/descriptor.c. The input is a file that is said to be a bundle. What is accepted has a
 * name and a version that end within the file. */
#include <base/symbolic.h>
#include <descriptor.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct descriptor d;
	const char       *end = (const char *)data + size;

	if (descriptor_read(data, size, &d) != NULL)
		return 0;
	if (!symbolic_name_ok(d.name) || d.name + strlen(d.name) >= end ||
	    d.version + strlen(d.version) >= end)
		abort();
	return 0;
}
