/* place.c - the part of a client's address that counts.
 *
 * Owns: nothing. Runs in: the loop. Fails with: nothing. Tests: tests/unit/auth/throttle_test.c. */
#include "place.h"
#include <arpa/inet.h>
#include <stdio.h>

struct place place_of(struct bw_str address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }; /* RFC 4291 2.5.5.2 */
	struct place         p = { 0 };

	if (address.n == 16 && memcmp(address.p, mapped, sizeof(mapped)) == 0)
		address = (struct bw_str){ address.p + sizeof(mapped), 4 };
	if (address.n != 4 && address.n != 16)
		return p;
	p.n = address.n == 4 ? 4 : 8;
	memcpy(p.octets, address.p, p.n);
	return p;
}

bool is_same_place(const struct place *a, const struct place *b)
{
	return a->n != 0 && a->n == b->n && memcmp(a->octets, b->octets, a->n) == 0;
}

const char *place_text(const struct place *p, char out[PLACE_TEXT])
{
	uint8_t whole[16] = { 0 };
	char    text[INET6_ADDRSTRLEN];

	out[0] = '\0';
	if (p->n == 0)
		return out;
	memcpy(whole, p->octets, p->n);
	inet_ntop(p->n == 4 ? AF_INET : AF_INET6, whole, text, sizeof(text));
	snprintf(out, PLACE_TEXT, "%s%s", text, p->n == 4 ? "" : "/64");
	return out;
}

const char *place_hex(const struct place *p, char out[PLACE_HEX])
{
	out[0] = '\0';
	for (unsigned i = 0; i < p->n; i++)
		snprintf(out + 2 * i, PLACE_HEX - 2 * i, "%02x", p->octets[i]);
	return out;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct place place_of_hex(struct bw_str hex)
{
	struct place p = { 0 };

	if (hex.n != 8 && hex.n != 16)
		return p;
	for (size_t i = 0; i < hex.n; i += 2) {
		int high = digit(hex.p[i]), low = digit(hex.p[i + 1]);

		if (high < 0 || low < 0)
			return (struct place){ 0 };
		p.octets[i / 2] = (uint8_t)(high << 4 | low);
	}
	p.n = (uint8_t)(hex.n / 2);
	return p;
}
