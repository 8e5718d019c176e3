/* privilege.h - the names of privileges and what they stand for: each leaf is a bit.
 *
 * The leaves of JCR 2.0 section 16.2.3 and Jackrabbit Oak's own have bits that never change. Those that
 * were registered get the bits behind them, anew with each loading: a bit of a registered one is good
 * for as long as the entries that were loaded with it. */
#pragma once
#include <boardwalk/types.h>

#define ACL_READ_NODES        (1ull << 0)
#define ACL_READ_PROPERTIES   (1ull << 1)
#define ACL_ADD_PROPERTIES    (1ull << 2)
#define ACL_ALTER_PROPERTIES  (1ull << 3)
#define ACL_REMOVE_PROPERTIES (1ull << 4)
#define ACL_ADD_CHILDREN      (1ull << 5)
#define ACL_REMOVE_CHILDREN   (1ull << 6)
#define ACL_REMOVE_NODE       (1ull << 7)
#define ACL_NODE_TYPES        (1ull << 8)
#define ACL_READ_ACL          (1ull << 9)
#define ACL_MODIFY_ACL        (1ull << 10)
#define ACL_VERSIONS          (1ull << 11)
#define ACL_LOCKS             (1ull << 12)
#define ACL_LIFECYCLE         (1ull << 13)
#define ACL_RETENTION         (1ull << 14)
#define ACL_USERS             (1ull << 15)
#define ACL_INDEXES           (1ull << 16)
#define ACL_WORKSPACES        (1ull << 17) /* from here on: of the whole repository */
#define ACL_DEFINE_TYPES      (1ull << 18)
#define ACL_NAMESPACES        (1ull << 19)
#define ACL_PRIVILEGES        (1ull << 20)
#define ACL_READ              (ACL_READ_NODES | ACL_READ_PROPERTIES)
#define ACL_ALL               UINT64_MAX /* jcr:all: also the bits that no privilege has yet */

#define PRIVILEGE_BUILT_IN 21u
#define PRIVILEGE_MAX      64u /* leaves; the database registers no more */

struct privileges;

struct privileges *privileges_new(void);
void               privileges_free(struct privileges *p);
void               privileges_forget(struct privileges *p); /* what was registered */
/* One that was registered, after its parts. leaves: names with a blank between, its own if it has no
 * parts, which is what gives it a bit. */
void privileges_add(struct privileges *p, struct bw_str name, struct bw_str leaves);
/* A leaf or an aggregate; 0: there is none of that name. */
uint64_t privilege_bits(const struct privileges *p, struct bw_str name);
/* The name of the leaf with that number; absent: none has it. Borrowed until the next
 * privileges_forget. */
struct bw_str privilege_leaf(const struct privileges *p, unsigned bit);
/* The bits of names with a blank between; what has no bit is passed over. */
uint64_t privilege_list_bits(const struct privileges *p, struct bw_str names);
