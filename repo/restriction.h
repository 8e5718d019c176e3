/* restriction.h - what limits an entry to some of the items at and below its node.
 *
 * The names and their meaning are those of Oak's restriction management: rep:glob, rep:globs,
 * rep:ntNames, rep:itemNames, rep:prefixes, rep:current, rep:subtrees. All restrictions of an entry
 * must hold. */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>

/* What is asked about: a node, or one of its properties. */
struct acl_item {
	struct bw_str path;     /* of the node */
	struct bw_str type;     /* its primary type; absent: not known */
	struct bw_str property; /* absent: the node itself */
};

struct restriction;

/* From {"rep:glob": ["/x*"], "rep:ntNames": ["a", "b"]}; *ret lives in the arena, NULL for {}. BW_EIO:
 * not of this form, which the database never lets in. */
int restriction_parse(const char *json, size_t n, struct arena *arena,
                      const struct restriction **ret);
/* Names and values, one restriction after the other from the first on, by name; NULL: no more. */
const struct restriction *restriction_read(const struct restriction *r, const char **ret_name,
                                           const struct bw_str **ret_values, unsigned *ret_n);
/* Whether an entry of that node bears on the item, which is at or below it. NULL: always. */
bool restriction_holds(const struct restriction *r, struct bw_str node,
                       const struct acl_item *item);
