/* Fuzz target: gateway/security/basic.c. The input is an Authorization header's value. Credentials that
 * are accepted keep to their bounds, and encoded again they are the token they came from: no two
 * headers mean the same. */
#include <request.h>
#include <security/handler.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t encode(const char *p, size_t n, char *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t at = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)(uint8_t)p[i] << 16;

		bits |= i + 1 < n ? (uint32_t)(uint8_t)p[i + 1] << 8 : 0;
		bits |= i + 2 < n ? (uint8_t)p[i + 2] : 0;
		out[at++] = alphabet[bits >> 18];
		out[at++] = alphabet[bits >> 12 & 63];
		out[at++] = i + 1 < n ? alphabet[bits >> 6 & 63] : '=';
		out[at++] = i + 2 < n ? alphabet[bits & 63] : '=';
	}
	return at;
}

static void check(struct bw_str value, const struct auth_credentials *c)
{
	char   plain[AUTH_MAX_USER + 1 + AUTH_MAX_PASSWORD], token[2048];
	size_t n = c->user.n, at;

	if (n == 0 || n > AUTH_MAX_USER || c->password.n > AUTH_MAX_PASSWORD ||
	    memchr(c->user.p, ':', n) != NULL)
		abort();
	memcpy(plain, c->user.p, n);
	plain[n++] = ':';
	if (c->password.n > 0)
		memcpy(plain + n, c->password.p, c->password.n);
	n += c->password.n;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)plain[i] < ' ' || plain[i] == 0x7f)
			abort();
	at = encode(plain, n, token);
	if (value.n >= at && memcmp(value.p + value.n - at, token, at) == 0)
		return;
	/* A name without a colon: the password was empty. */
	at = encode(plain, n - 1, token);
	if (c->password.n > 0 || value.n < at || memcmp(value.p + value.n - at, token, at) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bw_str           value = { (const char *)data, size };
	struct bw_res_header    header = { BW_STR("authorization"), value };
	struct bw_req           req = { .headers = &header, .n_headers = 1 };
	struct auth_credentials c;

	if (basic_handler.extract(&basic_handler, &req, &c) == AUTH_CREDENTIALS)
		check(value, &c);
	return 0;
}
