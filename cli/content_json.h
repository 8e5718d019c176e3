/* content_json.h - initial content as Apache Sling's content loader reads it, from JSON to items of
 * repo.import_nodes; and the spelling of values in it, which the export shares.
 *
 *   { "jcr:primaryType": "nt:unstructured", "jcr:mixinTypes": ["mix:title"],
 *     "title": "x", "size": 5, "ratio": 2.5, "open": true, "at": "2026-11-30T16:20:05.123+01:00",
 *     "tags": ["a", "b"], "jcr:name:kind": "nt:file", "jcr:double:limit": "NaN",
 *     "jcr:binary:data": { "hash": "...", "length": 70000, "octets": ["base64", "base64"] },
 *     "security:acl": [ { "principal": "everyone", "granted": ["jcr:read"], "denied": [],
 *                         "restrictions": { "rep:glob": "/x" } } ],
 *     "child": { ... } }
 *
 * A number is a Long if it is written as digits, else a Double; text that is a date of that form is a
 * Date. jcr:TYPE: in front of a name says the type where that would be another one; its values are texts
 * then (string, long, double, decimal, date, boolean, name, path, reference, weakreference, uri, binary). A
 * list without a type and without values is of Strings. */
#pragma once
#include <base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENT_LEVELS 64u

struct content_reader;

struct content_ops {
	/* An item is whole: a JSON object of repo.import_nodes. False ends the reading. */
	bool (*item)(void *arg, const char *json, size_t n);
	/* Octets of a binary value, in order; then its end: the text that is to be its value, in value.
	 * expected: what the file says of it, "" if it does not. */
	bool (*octets)(void *arg, const void *p, size_t n);
	bool (*binary)(void *arg, const char *expected, char value[96]);
};

/* path: of the node that the outermost object is, absolute. */
struct content_reader *content_reader_new(const char *path, const struct content_ops *ops,
                                          void *arg);
void                   content_reader_free(struct content_reader *r);
/* The next octets of the file; n 0: its end. False: an operation said so, or the reader did, which
 * then knows why. */
bool content_read(struct content_reader *r, const void *p, size_t n);
/* Line, column and reason; NULL if it was not the reader. */
const char *content_error(const struct content_reader *r);

/* The prefix of a type by its tag in repo.content ("s", "l", ...); NULL: there is no such tag. */
const char *content_prefix(const char *tag);
/* Whether a text is a Date as the file spells it. */
bool content_is_date(const char *text, size_t n);
/* Whether a text is a number that the reader takes for a Long (whole) or a Double (not whole). */
bool content_is_number(const char *text, size_t n, bool whole);
