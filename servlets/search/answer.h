/* answer.h - what a search has found, as a document. */
#pragma once
#include "out.h"
#include "params.h"

struct answer {
	const struct params  *params;
	const struct bw_hits *hits; /* NULL: nothing has been asked for */
	const char *query; /* the request's, without its cursor; NUL-terminated, in URI letters */
};

/* BW_E*: a property could not be read. */
int answer_json(struct out *o, const struct answer *a);
int answer_html(struct out *o, const struct answer *a);
int answer_suggestions(struct out *o, const struct bw_hits *hits);

/* ---- for both: an item's own property, else that of its content ---- */

struct bw_str answer_title(const struct bw_hits *hits, size_t i); /* absent: it has none */
/* A URL of this server: with .html, but for a file. */
void answer_url(struct out *o, struct bw_resource *res);
/* 2026-12-01T03:04:05.678Z */
void answer_date(int64_t ms, char text[32]);
