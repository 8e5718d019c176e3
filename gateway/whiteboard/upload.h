/* upload.h - what a servlet's multipart.* properties allow (OSGi 140.4.5). */
#pragma once
#include "context.h"

struct upload;

/* The default folder of contexts that name none; copied. Before the first registration. */
void upload_init(const char *folder);
void upload_done(void);

/* Reads the properties into r->upload. False: a limit is no number. */
bool upload_read(struct reading *r);
/* Prepares what r allows, in *ret (NULL if it takes no multipart bodies); owned: upload_free.
 * Fails with FAILURE_DEFAULT_DENIED or FAILURE_LOCATION_DENIED if nothing can be written in its
 * folder. */
enum failure_code upload_bind(const struct reading *r, const struct bw_context *c,
                              struct upload **ret);
void              upload_free(struct upload *u);
