/* contexts.h - the words of do= for the context, and what a context's helper says of files: with root=/www
 * those of its own bundle below /www, with folder=test those in tests/conformance/files/test; without
 * them, the default. */
#pragma once
#include "actions.h"

extern const struct word context_words[];

struct bw_str on_get_mime_type(void *self, struct bw_str name);
int           on_get_resource(void *self, struct bw_str path, struct bw_file *ret);
int           on_get_real_path(void *self, struct bw_str path, char *buf, size_t n);
int           on_get_resource_paths(void *self, struct bw_str path, bw_path_cb cb, void *arg);
