/* bundle_file.h - a bundle as a file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <store/store.h>

/* A file that an operator names as a bundle, whole in memory, found to be one. */
struct bundle_file {
	const char *path; /* borrowed */
	void       *image;
	size_t      n;
	const char *name, *version; /* inside the image */
	char        sha256[STORE_SHA256 + 1];
};

/* Reads and checks it; nothing of it is run. False after a line on stderr; bundle_file_done in any
 * case. */
bool bundle_file_read(struct bundle_file *ret, const char *path);
void bundle_file_done(struct bundle_file *f);
/* Writes it to the disk under a name that was never there. */
bool bundle_file_put(const struct bundle_file *f, const char *path);
/* Another file with the same octets. The dynamic linker knows files by name and number, and what it
 * knows it does not load again. */
bool bundle_file_copy(const char *from, const char *to);
