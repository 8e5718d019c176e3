/* place.h - where a login comes from, as far as it matters: an IPv4 address, or the /64 of an IPv6
 * address, which is what one customer of a network has. */
#pragma once
#include <boardwalk/types.h>

#define PLACE_TEXT 64u /* room for place_text */
#define PLACE_HEX  17u /* room for place_hex */

struct place {
	uint8_t n; /* 4, 8, or 0: nobody knows */
	uint8_t octets[8];
};

/* address: 4 or 16 octets in network order. An IPv4 address written as IPv6 is the IPv4 one; any
 * other size is a place that nobody knows. */
struct place place_of(struct bw_str address);
/* False for places that nobody knows: two of them may be two. */
bool is_same_place(const struct place *a, const struct place *b);
/* "192.0.2.1", "2001:db8::/64"; "" if nobody knows. Returns out. */
const char *place_text(const struct place *p, char out[PLACE_TEXT]);
/* The octets as hexadecimal digits, the form in which PostgreSQL has them. Returns out. */
const char *place_hex(const struct place *p, char out[PLACE_HEX]);
/* What place_hex has written, in hex.n digits; of anything else a place that nobody knows. */
struct place place_of_hex(struct bw_str hex);
