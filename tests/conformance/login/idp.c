/* idp.c - signs with Ed25519 (RFC 8037), with a key that is made anew for each run.
 *
 * Owns: the key, a file. Fails with: fatal. */
#include "idp.h"

#include <base/fatal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint8_t public[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];

static void put(struct buf *out, const void *p, size_t n)
{
	char   text[2048];
	size_t size = sodium_base64_encoded_len(n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);

	if (size > sizeof(text))
		fatalx("too long for a token");
	sodium_bin2base64(text, sizeof(text), p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	buf_append(out, text, strlen(text));
}

char *idp_write_keys(void)
{
	char      *file = xstrdup("/tmp/login-rows-idp.XXXXXX");
	int        fd = mkstemp(file);
	struct buf text;

	if (sodium_init() < 0 || crypto_sign_keypair(public, secret) != 0)
		fatalx("libsodium does not start");
	buf_init(&text);
	buf_printf(&text, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"alg\":\"EdDSA\","
	                  "\"kid\":\"of the rows\",\"x\":\"");
	put(&text, public, sizeof(public));
	buf_printf(&text, "\"}]}\n");
	if (fd < 0 || fchmod(fd, 0644) != 0 ||
	    write(fd, buf_data(&text), buf_size(&text)) != (ssize_t)buf_size(&text))
		fatal("%s", file);
	close(fd);
	buf_done(&text);
	return file;
}

void idp_remove_keys(char *file)
{
	unlink(file);
	free(file);
}

void idp_put_token(struct buf *out, const char *rest)
{
	static const char header[] = "{\"alg\":\"EdDSA\",\"kid\":\"of the rows\"}";
	const char       *colon = strchr(rest, ':');
	int               n = colon != NULL ? (int)(colon - rest) : (int)strlen(rest);
	long              life = colon != NULL ? atol(colon + 1) : 630, now = (long)time(NULL);
	uint8_t           signature[crypto_sign_BYTES];
	struct buf        token, claims;

	buf_init(&token);
	buf_init(&claims);
	buf_printf(&claims,
	           "{\"iss\":\"https://idp.example\",\"aud\":\"board\",\"sub\":\"%.*s\","
	           "\"iat\":%ld,\"exp\":%ld}",
	           n, rest, now + life - 600, now + life);
	put(&token, header, sizeof(header) - 1);
	buf_append(&token, ".", 1);
	put(&token, buf_data(&claims), buf_size(&claims));
	crypto_sign_detached(signature, NULL, buf_data(&token), buf_size(&token), secret);
	buf_append(&token, ".", 1);
	put(&token, signature, sizeof(signature));
	buf_append(out, buf_data(&token), buf_size(&token));
	buf_done(&claims);
	buf_done(&token);
}
