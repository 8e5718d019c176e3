/* credential.c - Unicode normalisation (NFC) of user names and passwords, and their limits.
 *
 * The same letters can be typed as different octets; a verifier is made of one of them. Almost all
 * names and passwords are ASCII, which NFC leaves alone: those are only looked at.
 * Owns: nothing; what it normalised on the stack is wiped. Runs in: the loop.
 * Fails with: BW_EINVAL. Tests: tests/unit/auth/credential_test.c. */
#include "credential.h"
#include <sodium.h>
#include <utf8proc.h>

/* A canonical decomposition has at most 4 code points for each one, and each is an octet or more. */
#define MAX_DECOMPOSED (4u * CREDENTIAL_PASSWORD)

static bool is_ascii(struct bw_str s)
{
	unsigned char high = 0;

	for (size_t i = 0; i < s.n; i++)
		high |= (unsigned char)s.p[i];
	return high < 0x80;
}

/* text to NFC in mem (max + 1 octets). */
static int normalise(struct bw_str text, size_t max, char *mem, struct bw_str *ret)
{
	const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
	utf8proc_int32_t        points[MAX_DECOMPOSED + 1]; /* reencode adds a NUL */
	utf8proc_ssize_t        n;
	int                     err = BW_EINVAL;

	n = utf8proc_decompose((const utf8proc_uint8_t *)text.p, (utf8proc_ssize_t)text.n, points,
	                       MAX_DECOMPOSED, options);
	if (n > 0 && n <= MAX_DECOMPOSED)
		n = utf8proc_reencode(points, n, options);
	else
		n = 0;
	if (n > 0 && (size_t)n <= max) {
		memcpy(mem, points, (size_t)n);
		mem[n] = '\0';
		*ret = (struct bw_str){ mem, (size_t)n };
		err = BW_OK;
	}
	sodium_memzero(points, sizeof(points));
	return err;
}

/* C0, DEL, and C1 as UTF-8 writes them (C2 80 to C2 9F). */
static bool has_controls(struct bw_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c == 0x7f)
			return true;
		if (c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0)
			return true;
	}
	return false;
}

int credential_name(struct bw_str text, char *mem, struct bw_str *ret)
{
	if (text.n < 1 || text.n > CREDENTIAL_NAME || has_controls(text))
		return BW_EINVAL;
	if (!is_ascii(text))
		return normalise(text, CREDENTIAL_NAME, mem, ret);
	*ret = text;
	return BW_OK;
}

int credential_password(struct bw_str text, char *mem, struct bw_str *ret)
{
	if (text.n < 1 || text.n > CREDENTIAL_PASSWORD)
		return BW_EINVAL;
	if (!is_ascii(text))
		return normalise(text, CREDENTIAL_PASSWORD, mem, ret);
	*ret = text;
	return BW_OK;
}
