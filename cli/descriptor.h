/* descriptor.h - reads what a shared object says of itself as a bundle, without loading it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Strings point into the image, where they end. */
struct descriptor {
	const char *name, *version;
};

/* NULL, or why this is no bundle that this version could run, as the end of "it ...". */
const char *descriptor_read(const void *image, size_t n, struct descriptor *ret);
