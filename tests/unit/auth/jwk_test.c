/* Under test: auth/jwk.c. A set of keys is taken as a whole or not at all; what is not for us is skipped. */
#include <auth/jwk.h>
#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define SECRET32         "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"
#define OCT(kid, alg, k) "{\"kty\":\"oct\",\"kid\":\"" kid "\",\"alg\":\"" alg "\",\"k\":\"" k "\"}"
#define GOOD             OCT("a", "HS256", SECRET32)
#define P256 \
	"{\"kty\":\"EC\",\"kid\":\"p\",\"alg\":\"ES256\",\"crv\":\"P-256\"," \
	"\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"," \
	"\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}"
#define ED \
	"{\"kty\":\"OKP\",\"kid\":\"e\",\"alg\":\"EdDSA\",\"crv\":\"Ed25519\"," \
	"\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}"

static struct jwk_set set;
static char           err[200];

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
}

TestSuite(jwk, .init = set_up);

static bool parse(const char *text)
{
	return jwk_set_parse(text, strlen(text), &set, err, sizeof(err));
}

Test(jwk, kinds)
{
	cr_assert(parse("{\"keys\":[" GOOD "," P256 "," ED "]}"), "%s", err);
	cr_assert(set.n == 3 && set.has_secret && set.skipped == 0);
	cr_assert_eq(jwk_set_find(&set, BW_STR("p"))->alg, JWS_ES256);
	cr_assert_not_null(jwk_set_find(&set, BW_STR("e"))->public);
	cr_assert_eq(jwk_set_find(&set, BW_STR("a"))->secret.n, 32);
	cr_assert_null(jwk_set_find(&set, BW_STR("b")));
	jwk_set_done(&set);
	jwk_set_done(&set);
	cr_assert(parse("{\"keys\":[" ED ",{\"use\":\"enc\"},{\"alg\":\"PS256\"}]}"), "%s", err);
	cr_assert(set.n == 1 && !set.has_secret && set.skipped == 2);
	jwk_set_done(&set);
}

Test(jwk, refused)
{
	static const struct {
		const char *text, *reason; /* is part of the message */
	} rows[] = {
		{ "", "no set" },
		{ "[]", "no set" },
		{ "{}", "no set" },
		{ "{\"keys\":{}}", "no set" },
		{ "{\"keys\":[" GOOD "],\"keys\":[]}", "no set" },
		{ "{\"keys\":[" GOOD "]} x", "no set" },
		{ "{\"keys\":[]}", "no key" },
		{ "{\"keys\":[{\"use\":\"enc\"}]}", "no key" },
		{ "{\"keys\":[7]}", "no object" },
		{ "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"a\"}]}", "key 1: it has no \"alg\"" },
		{ "{\"keys\":[" GOOD "," GOOD "]}", "key 2: its \"kid\" is another" },
		{ "{\"keys\":[" OCT("", "HS256", SECRET32) "]}", "no \"kid\"" },
		{ "{\"keys\":[" OCT("a", "RS256", SECRET32) "]}", "\"kty\" is not" },
		{ "{\"keys\":[" OCT("a", "HS256", "AAAA") "]}", "no secret" },
		{ "{\"keys\":[" OCT("a", "HS512", SECRET32) "]}", "no secret" },
		{ "{\"keys\":[" OCT("a", "HS256", SECRET32 "=") "]}", "no secret" },
		{ "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r\",\"alg\":\"RS256\",\"n\":\"AQAB\","
		  "\"e\":"
		  "\"AQAB\"}]}",
		  "no RSA key" },
		{ "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"r\",\"alg\":\"RS256\",\"n\":\"AQAB\","
		  "\"d\":"
		  "\"AQAB\"}]}",
		  "private" },
		{ "{\"keys\":[{\"kty\":\"EC\",\"kid\":\"p\",\"alg\":\"ES384\",\"crv\":\"P-256\"}]}",
		  "\"crv\"" },
		{ "{\"keys\":[{\"kty\":\"EC\",\"kid\":\"p\",\"alg\":\"ES256\",\"crv\":\"P-256\","
		  "\"x\":\"" SECRET32 "\",\"y\":\"" SECRET32 "\"}]}",
		  "no point" },
		{ "{\"keys\":[{\"kty\":\"EC\",\"kid\":\"p\",\"alg\":\"ES256\",\"crv\":\"P-256\","
		  "\"x\":\"AAAA\",\"y\":\"AAAA\"}]}",
		  "size" },
		{ "{\"keys\":[{\"kty\":\"OKP\",\"kid\":\"e\",\"alg\":\"EdDSA\",\"crv\":\"Ed448\"}]"
		  "}",
		  "Ed25519" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_not(parse(rows[i].text), "row %zu", i);
		cr_assert(strstr(err, rows[i].reason) != NULL, "row %zu: %s", i, err);
		cr_assert_eq(set.n, 0, "row %zu", i);
	}
}

Test(jwk, too_many)
{
	char   text[8192] = "{\"keys\":[";
	size_t n = strlen(text);

	for (unsigned i = 0; i <= JWK_KEYS; i++)
		n += (size_t)sprintf(
			text + n,
			"%s{\"kty\":\"oct\",\"kid\":\"%u\",\"alg\":\"HS256\",\"k\":\"%s\"}",
			i > 0 ? "," : "", i, SECRET32);
	strcpy(text + n, "]}");
	cr_assert_not(parse(text));
	cr_assert(strstr(err, "too many") != NULL);
}
