/* remember.h - what the bundles of the setting `gateway.bundles` registered when they last ran, so that their
 * patterns answer 503 when one of them cannot be started.
 *
 *    { "/opt/boardwalk/demo.so": { "name": "boardwalk.demo", "footprint": [ ... ] }, ... } */
#pragma once
#include "bundles.h"

struct buf;
struct json_t;

/* One more entry; b has a file and a name. */
void remember_put(struct json_t *all, struct registry *r, const struct bw_bundle *b);
/* What is known of a file, or of a bundle of that name (NULL: not known). False: nothing. Both results
 * are heap. */
bool remember_find(const struct bundle_list *told, const char *file, const char *name,
                   char **ret_name, char **ret_footprint);
