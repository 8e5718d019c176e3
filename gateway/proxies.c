/* proxies.c - networks, and what a proxy says about the client.
 *
 *     X-Forwarded-For: forged, 192.0.2.7, 10.0.0.3        peer 10.0.0.2
 *                              ^ the client: the last that is not one of ours; what stands
 *                                before it the client may have written himself
 *
 * Owns: the list. Runs in: start-up; a request of a trusted peer. Fails with: a reason at start. Tests:
 * tests/unit/gateway/proxies_test.c. */
#include "proxies.h"

#include <arpa/inet.h>
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct address {
	uint8_t octets[16]; /* IPv4 as ::ffff:a.b.c.d */
};

struct network {
	struct address address;
	unsigned       bits; /* of 128 */
};

struct proxies {
	bool           is_unix;
	size_t         n;
	struct network networks[];
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }; /* RFC 4291 2.5.5.2 */

/* *ret_bits: of the family, as they count in a struct network. */
static bool parse_address(const char *text, struct address *ret, unsigned *ret_bits)
{
	memcpy(ret->octets, mapped, sizeof(mapped));
	*ret_bits = 32;
	if (inet_pton(AF_INET, text, ret->octets + 12) == 1)
		return true;
	*ret_bits = 128;
	return inet_pton(AF_INET6, text, ret->octets) == 1;
}

static bool parse_network(const char *text, struct network *ret)
{
	const char *slash = strchr(text, '/');
	char        address[INET6_ADDRSTRLEN], *end;
	size_t      n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	unsigned    most;
	long        bits;

	if (n >= sizeof(address))
		return false;
	memcpy(address, text, n);
	address[n] = '\0';
	if (!parse_address(address, &ret->address, &most))
		return false;
	bits = (long)most;
	if (slash != NULL) {
		if (slash[1] < '0' || slash[1] > '9')
			return false;
		bits = strtol(slash + 1, &end, 10);
		if (*end != '\0' || bits > (long)most)
			return false;
	}
	ret->bits = 128 - most + (unsigned)bits;
	return true;
}

struct proxies *proxies_new(const struct conf_list *list, char *err, size_t err_size)
{
	struct proxies *p = xcalloc(1, sizeof(*p) + list->n * sizeof(p->networks[0]));

	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->items[i], "unix") == 0) {
			p->is_unix = true;
		} else if (!parse_network(list->items[i], &p->networks[p->n++])) {
			snprintf(err, err_size, "\"%s\" is no address, no network and not \"unix\"",
			         list->items[i]);
			free(p);
			return NULL;
		}
	}
	return p;
}

void proxies_free(struct proxies *p)
{
	free(p);
}

static bool is_in(const struct network *n, const struct address *a)
{
	unsigned whole = n->bits / 8, rest = n->bits % 8;

	if (memcmp(n->address.octets, a->octets, whole) != 0)
		return false;
	return rest == 0 || (n->address.octets[whole] ^ a->octets[whole]) >> (8 - rest) == 0;
}

/* False: it is no address. */
static bool read_address(struct bw_str text, struct address *ret)
{
	char     copy[INET6_ADDRSTRLEN];
	unsigned bits;

	if (text.n == 0 || text.n >= sizeof(copy))
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	return parse_address(copy, ret, &bits);
}

static bool is_trusted(const struct proxies *p, const struct address *a)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_in(&p->networks[i], a))
			return true;
	return false;
}

bool proxies_trust(const struct proxies *p, struct bw_str address)
{
	struct address a;

	if (p == NULL)
		return false;
	if (bw_str_eq(address, BW_STR("unix")))
		return p->is_unix;
	return read_address(address, &a) && is_trusted(p, &a);
}

/* ---- what a proxy says ---- */

static struct bw_str trim(struct bw_str s)
{
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct bw_str){ s.p + 1, s.n - 1 };
	return s;
}

/* The last element of a list, which *list loses. */
static struct bw_str take_last(struct bw_str *list)
{
	const char   *comma = list->n > 0 ? memrchr(list->p, ',', list->n) : NULL;
	size_t        at = comma != NULL ? (size_t)(comma - list->p) + 1 : 0;
	struct bw_str last = { list->p + at, list->n - at };

	list->n = comma != NULL ? at - 1 : 0;
	return trim(last);
}

struct bw_str proxies_client(const struct proxies *p, struct bw_str forwarded, bool *ret_all)
{
	struct address a;

	*ret_all = false;
	while (forwarded.n > 0) {
		struct bw_str last = take_last(&forwarded);

		if (!read_address(last, &a))
			return BW_ABSENT;
		if (!is_trusted(p, &a))
			return last;
	}
	*ret_all = true;
	return BW_ABSENT;
}

struct bw_str proxies_scheme(struct bw_str forwarded)
{
	struct bw_str last = take_last(&forwarded);

	if (last.n == 4 && strncasecmp(last.p, "http", 4) == 0)
		return BW_STR("http");
	if (last.n == 5 && strncasecmp(last.p, "https", 5) == 0)
		return BW_STR("https");
	return BW_ABSENT;
}

struct bw_str proxies_host(struct bw_str forwarded)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-._:[]";
	struct bw_str     last = take_last(&forwarded);

	for (size_t i = 0; i < last.n; i++)
		if (last.p[i] == '\0' || strchr(allowed, last.p[i]) == NULL)
			return BW_ABSENT;
	return last.n > 0 && last.n <= 255 + 6 ? last : BW_ABSENT;
}
