/* A token from outside: whatever it is, it is refused or has the claims that its signature covers. */
#include <auth/jws.h>
#include <sodium.h>
#include <stdlib.h>

static const struct jws_key *find(void *arg, struct bw_str kid)
{
	static const struct jws_key key = {
		.kid = BW_STR("k"),
		.alg = JWS_HS256,
		.secret = BW_STR("0123456789abcdef0123456789abcdef"),
	};

	(void)arg;
	return bw_str_eq(kid, key.kid) ? &key : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct jws_key *key = NULL;
	const char           *why = NULL;
	json_t               *claims = NULL;
	int err = jws_verify((struct bw_str){ (const char *)data, size }, find, NULL, &claims, &key,
	                     &why);

	if (err == BW_OK ? !json_is_object(claims) || key == NULL : why == NULL || claims != NULL)
		abort();
	json_decref(claims);
	return 0;
}
