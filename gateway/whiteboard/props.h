/* props.h - arrays of properties: copies, look-up, comparison. */
#pragma once
#include <base/ldap.h>
#include <boardwalk/service.h>

/* Names differ in more than case (OSGi core: such keys cannot coexist) and values are there. */
bool props_ok(const struct bw_prop *props, size_t n);
/* One block with everything it points to: free() it. */
struct bw_prop *props_dup(const struct bw_prop *props, size_t n);
/* By exact name; NULL. Borrowed. */
const struct bw_prop *props_find(const struct bw_prop *props, size_t n, const char *name);
/* Same type and value; trimmed: blanks at both ends of strings do not count. */
bool prop_equal(const struct bw_prop *a, const struct bw_prop *b, bool trimmed);
/* s without blanks at both ends. Borrows s. */
struct bw_str prop_trim(const char *s);
/* Value number i of a property, as ldap.h asks for it; false past the last. */
bool prop_ldap_value(const struct bw_prop *p, size_t i, struct ldap_value *ret);
