/* ldap.h - LDAP search filters (RFC 4515 as OSGi uses it) over a map of typed properties.
 *
 * (&(..)(..)) (|..) (!(..)) = >= <= ~= presence and substrings. Keys ignore case, values do not,
 * except ~=, which also ignores blanks. A missing key makes any comparison false. A list matches if
 * one item does. The operand takes the property's type. At most 32 levels and 4 KiB. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ldap_filter;

enum ldap_type { LDAP_STRING, LDAP_INTEGER, LDAP_BOOL };

struct ldap_value {
	enum ldap_type type;
	const char    *string; /* NUL-terminated */
	int64_t        integer;
	bool           boolean;
};

/* Hands value number i of the property key (case ignored) to *ret; false if there is no such value.
 * Values of one property are asked for i = 0, 1, ... */
typedef bool (*ldap_lookup_cb)(void *map, const char *key, size_t i, struct ldap_value *ret);

/* NULL if text is no filter; err (may be NULL) then says why and where. Free with ldap_free. */
struct ldap_filter *ldap_parse(const char *text, char *err, size_t err_size);

bool ldap_match(const struct ldap_filter *f, ldap_lookup_cb lookup, void *map);
void ldap_free(struct ldap_filter *f); /* NULL is fine */
