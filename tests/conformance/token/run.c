/* Which bearer tokens are believed, by rows. Tokens are made here, with OpenSSL alone, and judged by
 * auth's issuer.c and all that is behind it; the clock stands still.
 *
 * Usage: conformance_token FILE... ; the files explain their lines. Fails if a row fails, if a line is
 * not understood, or if there was none. */
#include <auth/issuer.h>
#include <base/log.h>
#include <inttypes.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW  INT64_C(1800000000)
#define LINE 8192

enum key_id { HS, HS512, RS, ES, ES384, ED, N_KEYS };

static uint8_t         secrets[2][64];
static EVP_PKEY       *pairs[N_KEYS];
static struct issuers *issuers;

static void give_up(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

/* ---- keys ---- */

static void encode(const uint8_t *p, size_t n, char *out, size_t size)
{
	sodium_bin2base64(out, size, p, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static void put_number(FILE *out, const char *member, EVP_PKEY *key, const char *name, int size)
{
	uint8_t octets[512];
	char    text[1024];
	BIGNUM *n = NULL;

	if (EVP_PKEY_get_bn_param(key, name, &n) != 1)
		give_up("a number of a key");
	if (size == 0)
		size = BN_num_bytes(n);
	BN_bn2binpad(n, octets, size);
	encode(octets, (size_t)size, text, sizeof(text));
	fprintf(out, ",\"%s\":\"%s\"", member, text);
	BN_free(n);
}

static void put_secret(FILE *out, const uint8_t *secret, size_t n)
{
	char text[128];

	encode(secret, n, text, sizeof(text));
	fprintf(out, ",\"k\":\"%s\"", text);
}

static void put_edwards(FILE *out)
{
	uint8_t octets[32];
	char    text[64];
	size_t  n = sizeof(octets);

	if (EVP_PKEY_get_raw_public_key(pairs[ED], octets, &n) != 1)
		give_up("the key of Ed25519");
	encode(octets, n, text, sizeof(text));
	fprintf(out, ",\"x\":\"%s\"", text);
}

static void write_set(const char *file)
{
	FILE *out = fopen(file, "we");

	if (out == NULL || chmod(file, 0600) != 0)
		give_up(file);
	fputs("{\"keys\":[{\"kty\":\"oct\",\"kid\":\"hs\",\"alg\":\"HS256\"", out);
	put_secret(out, secrets[0], 32);
	fputs("},{\"kty\":\"oct\",\"kid\":\"hs512\",\"alg\":\"HS512\"", out);
	put_secret(out, secrets[1], 64);
	fputs("},{\"kty\":\"RSA\",\"kid\":\"rs\",\"alg\":\"RS256\",\"use\":\"sig\"", out);
	put_number(out, "n", pairs[RS], OSSL_PKEY_PARAM_RSA_N, 0);
	put_number(out, "e", pairs[RS], OSSL_PKEY_PARAM_RSA_E, 0);
	fputs("},{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"es\",\"alg\":\"ES256\"", out);
	put_number(out, "x", pairs[ES], OSSL_PKEY_PARAM_EC_PUB_X, 32);
	put_number(out, "y", pairs[ES], OSSL_PKEY_PARAM_EC_PUB_Y, 32);
	fputs("},{\"kty\":\"EC\",\"crv\":\"P-384\",\"kid\":\"es384\",\"alg\":\"ES384\"", out);
	put_number(out, "x", pairs[ES384], OSSL_PKEY_PARAM_EC_PUB_X, 48);
	put_number(out, "y", pairs[ES384], OSSL_PKEY_PARAM_EC_PUB_Y, 48);
	fputs("},{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\",\"alg\":\"EdDSA\"", out);
	put_edwards(out);
	fputs("},{\"kty\":\"RSA\",\"kid\":\"for something "
	      "else\",\"use\":\"enc\",\"n\":\"AQAB\"}]}\n",
	      out);
	fclose(out);
}

static void make_keys(void)
{
	char             file[] = "/tmp/token-rows.XXXXXX", item[128], err[256];
	char            *items[] = { item };
	struct conf_list list = { items, 1 };

	randombytes_buf(secrets, sizeof(secrets));
	pairs[RS] = EVP_RSA_gen(2048);
	pairs[ES] = EVP_EC_gen("P-256");
	pairs[ES384] = EVP_EC_gen("P-384");
	pairs[ED] = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	close(mkstemp(file));
	write_set(file);
	snprintf(item, sizeof(item), "https://idp.example audience=board keys=%s", file);
	issuers = issuers_new(&list, err, sizeof(err));
	unlink(file);
	if (issuers == NULL)
		give_up(err);
}

/* ---- signatures: of the text, into out; the octets ---- */

static size_t hmac(const char *hash, const void *key, size_t n_key, const char *text, uint8_t *out)
{
	unsigned n = 0;

	HMAC(EVP_get_digestbyname(hash), key, (int)n_key, (const uint8_t *)text, strlen(text), out,
	     &n);
	return n;
}

static size_t hmac_of_public_key(const char *text, uint8_t *out)
{
	BIO   *bio = BIO_new(BIO_s_mem());
	char  *pem;
	size_t n;

	PEM_write_bio_PUBKEY(bio, pairs[RS]);
	n = (size_t)BIO_get_mem_data(bio, &pem);
	n = hmac("SHA256", pem, n, text, out);
	BIO_free(bio);
	return n;
}

/* The two numbers of RFC 7518 3.4 in place of their sequence. */
static size_t plain_ecdsa(uint8_t *signature, size_t n, int half)
{
	const uint8_t *p = signature;
	ECDSA_SIG     *numbers = d2i_ECDSA_SIG(NULL, &p, (long)n);

	BN_bn2binpad(ECDSA_SIG_get0_r(numbers), signature, half);
	BN_bn2binpad(ECDSA_SIG_get0_s(numbers), signature + half, half);
	ECDSA_SIG_free(numbers);
	return 2 * (size_t)half;
}

static size_t sign(enum key_id id, const char *hash, const char *text, uint8_t *out)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t      n = 512;

	if (EVP_DigestSignInit_ex(context, NULL, hash, NULL, NULL, pairs[id], NULL) != 1 ||
	    EVP_DigestSign(context, out, &n, (const uint8_t *)text, strlen(text)) != 1)
		give_up("a signature");
	EVP_MD_CTX_free(context);
	return n;
}

static size_t signature_of(const char *with, const char *text, uint8_t *out)
{
	static const uint8_t other[32] = { 42 };

	if (strcmp(with, "hs") == 0)
		return hmac("SHA256", secrets[0], 32, text, out);
	if (strcmp(with, "cut") == 0)
		return hmac("SHA256", secrets[0], 32, text, out) - 1;
	if (strcmp(with, "hs/512") == 0)
		return hmac("SHA512", secrets[0], 32, text, out);
	if (strcmp(with, "hs512") == 0)
		return hmac("SHA512", secrets[1], 64, text, out);
	if (strcmp(with, "other") == 0)
		return hmac("SHA256", other, 32, text, out);
	if (strcmp(with, "pem") == 0)
		return hmac_of_public_key(text, out);
	if (strcmp(with, "rs") == 0)
		return sign(RS, "SHA256", text, out);
	if (strcmp(with, "es") == 0)
		return plain_ecdsa(out, sign(ES, "SHA256", text, out), 32);
	if (strcmp(with, "es384") == 0)
		return plain_ecdsa(out, sign(ES384, "SHA384", text, out), 48);
	if (strcmp(with, "ed") == 0)
		return sign(ED, NULL, text, out);
	return SIZE_MAX;
}

/* ---- rows ---- */

/* @NOW, @NOW+90, @NOW-1. */
static void put_times(const char *text, char *out)
{
	const char *at;
	char       *end;
	long        shift;

	while ((at = strstr(text, "@NOW")) != NULL) {
		out += sprintf(out, "%.*s", (int)(at - text), text);
		text = at + 4;
		shift = *text == '+' || *text == '-' ? strtol(text, &end, 10) : 0;
		if (shift != 0)
			text = end;
		out += sprintf(out, "%" PRId64, NOW + shift);
	}
	strcpy(out, text);
}

/* {x*5000} */
static void put_runs(const char *text, char *out)
{
	char     c;
	unsigned n;
	int      used;

	while (*text != '\0')
		if (sscanf(text, "{%c*%u}%n", &c, &n, &used) == 2 && n < LINE / 2) {
			memset(out, c, n);
			out += n;
			text += used;
		} else {
			*out++ = *text++;
		}
	*out = '\0';
}

static bool put_token(const char *header, const char *claims, const char *with, char *out)
{
	char    text[LINE];
	uint8_t octets[512];
	size_t  n;

	encode((const uint8_t *)header, strlen(header), out, LINE);
	put_times(claims, text);
	n = strlen(out);
	out[n++] = '.';
	encode((const uint8_t *)text, strlen(text), out + n, LINE - n);
	if (strcmp(with, "none") != 0 && strcmp(with, "junk") != 0)
		n = signature_of(with, out, octets);
	else
		n = 0;
	strcat(out, ".");
	if (n == SIZE_MAX)
		return false;
	if (strcmp(with, "junk") == 0)
		strcat(out, "x");
	encode(octets, n, out + strlen(out), 1024);
	return true;
}

/* The parts of a line between " | ", cut in place. */
static unsigned cut(char *line, char *parts[6])
{
	unsigned n = 0;
	char    *next;

	for (; line != NULL && n < 6; line = next) {
		next = strstr(line, " | ");
		if (next != NULL) {
			*next = '\0';
			next += 3;
		}
		parts[n++] = line;
	}
	return line == NULL ? n : 7;
}

static bool judge(const char *id, const char *token, const char *verdict)
{
	struct issuer_claims c = { 0 };
	const char          *got = c.user;

	if (issuers_verify(issuers, bw_str(token), NOW, &c, &got) == BW_OK)
		c.user[c.n_user] = '\0';
	if (strcmp(got, verdict) == 0)
		return true;
	printf("%s: expected %s, got %s\n", id, verdict, got);
	return false;
}

/* -1: not understood. */
static int run_line(char *line)
{
	char     token[2 * LINE], *parts[6];
	unsigned n = cut(line, parts);

	if (n == 6 && strcmp(parts[0], "token") == 0) {
		if (!put_token(parts[2], parts[3], parts[4], token))
			return -1;
		return judge(parts[1], token, parts[5]);
	}
	if (n != 4 || strcmp(parts[0], "raw") != 0)
		return -1;
	put_runs(strcmp(parts[2], "-") == 0 ? "" : parts[2], token);
	return judge(parts[1], token, parts[3]);
}

static void run_file(const char *file, unsigned *passed, unsigned *failed)
{
	FILE    *in = fopen(file, "re");
	char     line[LINE];
	unsigned number = 0;

	if (in == NULL)
		give_up(file);
	while (fgets(line, sizeof(line), in) != NULL) {
		int verdict;

		number++;
		line[strcspn(line, "\n")] = '\0';
		if (*line == '\0' || *line == '#')
			continue;
		verdict = run_line(line);
		if (verdict < 0)
			printf("%s:%u: not understood\n", file, number);
		*(verdict == 1 ? passed : failed) += 1;
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	unsigned passed = 0, failed = 0;

	log_init("rows", LOG_LEVEL_ERROR);
	if (sodium_init() < 0)
		give_up("libsodium does not start");
	make_keys();
	for (int i = 1; i < argc; i++)
		run_file(argv[i], &passed, &failed);
	issuers_free(issuers);
	for (unsigned i = 0; i < N_KEYS; i++)
		EVP_PKEY_free(pairs[i]);
	printf("%u passed, %u failed\n", passed, failed);
	return passed == 0 || failed > 0;
}
