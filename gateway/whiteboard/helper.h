/* helper.h - what a context helper is asked beside security, and what holds where it has no answer
 * (OSGi 140.2.5): the bundle's embedded files, the server's media types. */
#pragma once
#include "context.h"

/* h: the one for bundle b. path: as the caller has it. */
/* Absent: neither the helper nor the server knows. */
struct bw_str helper_mime_type(const struct helper *h, struct bw_str name);
/* BW_ENOTFOUND, or what the helper returned. *ret: file_close. */
int helper_resource(const struct helper *h, const struct bw_bundle *b, struct bw_str path,
                    struct bw_file *ret);
int helper_real_path(const struct helper *h, struct bw_str path, char *buf, size_t n);
int helper_resource_paths(const struct helper *h, const struct bw_bundle *b, struct bw_str path,
                          bw_path_cb tell, void *arg);

/* ---- embedded.c: the files in a bundle's shared object ---- */

/* Do the names of the table ascend, so that they can be looked up? NULL: there is none, which is fine. */
bool embedded_is_sorted(const struct bw_embedded *e);
/* BW_ENOTFOUND; a leading slash is dropped. b may be NULL. */
int embedded_find(const struct bw_bundle *b, struct bw_str path, struct bw_file *ret);
/* Tells the direct children of path, each once, in order. BW_ENOTFOUND: it has none. */
int embedded_paths(const struct bw_bundle *b, struct bw_str path, bw_path_cb tell, void *arg);

/* ---- mime.c ---- */

/* The media type for the extension of a name, absent if it is not known. Static. */
struct bw_str mime_of(struct bw_str name);
