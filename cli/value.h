/* value.h - property values in the form the database holds them. */
#pragma once
#include <base/buf.h>
#include <repoinit/repoinit.h>

/* Appends a text as a JSON string. It is UTF-8 without NUL. */
void value_put_text(struct buf *out, struct bw_str text);
/* Appends {"TAG":value} or {"TAG":[value, ...]} and a NUL: the typed form of repo.property_set. */
void value_put(struct buf *out, const struct repoinit_property *property);
