/* records.h - one record of the whiteboard each, as a JSON object with the names of OSGi's DTOs. */
#pragma once
#include "snapshot.h"

#include <base/json.h>

/* ---- records.c ---- */

void record_servlet(struct json_out *j, const struct snapshot_servlet *servlet);
void record_page(struct json_out *j, const struct snapshot_servlet *page);
void record_resource(struct json_out *j, const struct snapshot_servlet *resource);
void record_filter(struct json_out *j, const struct reading *filter, int64_t context_id);
void record_listener(struct json_out *j, const struct reading *listener, int64_t context_id);
void record_preprocessor(struct json_out *j, const struct reading *preprocessor);

/* Fields inside an open object. An absent string is null. */
void record_str(struct json_out *j, const char *key, struct bw_str value);
void record_int(struct json_out *j, const char *key, int64_t value);
void record_bool(struct json_out *j, const char *key, bool value);
void record_strs(struct json_out *j, const char *key, const struct bw_str *items, size_t n);
void record_params(struct json_out *j, const struct reading *r);
/* The service: its id, the name of its bundle, and "standIn": true if that does not run. */
void record_service(struct json_out *j, const struct reading *r);
/* "unavailable": why whoever comes now gets a 503, or null. True: there is a reason. limit and b: NULL
 * if there is none. */
bool record_unavailable(struct json_out *j, const struct shared_limit *limit,
                        const struct bw_bundle *b);
/* What servlets and error pages have in common. */
/* info: what an active one says of itself. */
void record_servlet_head(struct json_out *j, const struct reading *r, int64_t context_id,
                         struct bw_str info);
/* bound: what came of it; NULL: it is not bound. */
void record_upload(struct json_out *j, const struct reading *servlet, const struct upload *bound);
void record_dispatchers(struct json_out *j, const struct reading *filter);
void record_filter_tail(struct json_out *j, const struct reading *filter, int64_t context_id);
void record_types(struct json_out *j, const struct reading *listener);

/* ---- failures.c ---- */

/* All lists of failed records, inside an open object. */
void record_failures(struct json_out *j, const struct snapshot *s);
/* OSGi's name of a failure code, without its prefix: "SHADOWED_BY_OTHER_SERVICE". */
const char *record_failure(enum failure_code code);
