/* preprocess.h - the filters around everything, 404s included (OSGi 140.7). */
#pragma once
#include <request.h>

struct preprocess;

/* Stands for the pattern's context where a crash is reported. */
#define PREPROCESS_SCOPE "preprocessor"

/* Serves the request through the preprocessors of its snapshot, of which there is at least one. */
void preprocess_request(struct bw_req *req);
/* dispatch.c, for bw_chain_next: preprocessor number i and what comes behind it. */
int preprocess_from(struct preprocess *p, struct bw_req *req, size_t i);
