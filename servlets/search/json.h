/* json.h - JSON (RFC 8259). */
#pragma once
#include "out.h"

/* "text", escaped. */
void json_string(struct out *o, struct bw_str text);
/* The same of what out_html makes of it: what a page may show as it is. */
void json_marked(struct out *o, struct bw_str text);
/* A property: one value, or a list. Numbers and booleans as what they are. */
void json_values(struct out *o, const struct bw_values *values);
