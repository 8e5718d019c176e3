/* A file of keys of our own, as somebody's editor may have left it. */
#include <base/key_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct key_line lines[KEY_LINES];
	char                   path[64], err[256] = "", text[KEY_FILE_BYTES];
	int                    n, fd = memfd_create("keys", MFD_CLOEXEC);

	if (fd < 0 || fchmod(fd, 0600) != 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = key_file_load(path, KEY_LINES, lines, NULL, err, sizeof(err));
	close(fd);
	if (n < 0 ? err[0] == '\0' : key_file_text(lines, (unsigned)n, text) == 0)
		abort();
	return 0;
}
