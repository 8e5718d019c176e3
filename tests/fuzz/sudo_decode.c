/* Fuzz target: gateway/security/sudo.c. The input is a cookie's value. What is accepted is a name within
 * its limits and without controls, and what is written for it is read as the same name again. */
#include <security/sudo.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char   name[SUDO_MAX_USER], again[SUDO_MAX_USER], text[3 * SUDO_MAX_USER + 3];
	size_t n, n_again, n_text;

	if (!sudo_decode((struct bw_str){ (const char *)data, size }, name, &n))
		return 0;
	if (n < 1 || n > SUDO_MAX_USER)
		abort();
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 127)
			abort();
	n_text = sudo_encode((struct bw_str){ name, n }, text);
	if (n_text > sizeof(text) ||
	    !sudo_decode((struct bw_str){ text, n_text }, again, &n_again) || n_again != n ||
	    memcmp(name, again, n) != 0)
		abort();
	return 0;
}
