/* A file of keys as an issuer might publish it: taken whole or not at all. */
#include <auth/jwk.h>
#include <sodium.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jwk_set set;
	char           err[256] = "";

	if (sodium_init() < 0)
		abort();
	if (jwk_set_parse((const char *)data, size, &set, err, sizeof(err)) ? set.n == 0
	                                                                    : err[0] == '\0')
		abort();
	jwk_set_done(&set);
	return 0;
}
