/* replay.c - runs a fuzz target over the files and folders named, without a fuzzer. No input at all
 * is an error: a corpus that has got lost must not pass. */
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned inputs;

/* The block has exactly the input's size, so that a sanitizer sees the first octet beyond. */
static int run_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t   size = (size_t)st->st_size;
	uint8_t *data;
	FILE    *in;

	(void)ftw;
	if (type != FTW_F)
		return type == FTW_D ? 0 : -1;
	in = fopen(path, "rb");
	data = malloc(size > 0 ? size : 1);
	if (in == NULL || data == NULL || fread(data, 1, size, in) != size) {
		perror(path);
		exit(2);
	}
	fclose(in);
	printf("%s\n", path);
	fflush(stdout); /* the last name is the one that failed */
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	inputs++;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (nftw(argv[i], run_file, 16, FTW_PHYS) != 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			return 2;
		}
	}
	printf("%u inputs\n", inputs);
	return inputs > 0 ? 0 : 1;
}
