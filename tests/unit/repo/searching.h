/* searching.h - questions to repo's search as a test writes them, and their answers.
 *
 * A question is a statement (it begins with SELECT), or parameters joined by '&': q, path, depth, type,
 * p.NAME (.min .max .exists .not .like .is, with .type=LONG before them), modified.min, modified.max, lang,
 * sort (a '-' before it: downward), limit, offset, total, facet, facet.limit, highlight, fields, hits=none,
 * as=pages, suggest (instead of q), cursor. {x*3000} stands for 3,000 times x, \0 for a NUL. */
#pragma once
#include "world.h"
#include <wire/search.h>

struct answer {
	struct arena       arena;
	struct call        call;
	int                err; /* of the call; the page is set if BW_OK */
	struct search_page page;
};

/* Asks and waits. cursor: of a page before, or absent. limit: 0: as the question says. Free with
 * answer_done. */
void search_ask(struct client *c, uint64_t sequence, const char *question, struct bw_str cursor,
                unsigned limit, struct answer *ret);
void answer_done(struct answer *a);
/* Paths of the items, a blank between; heap. "-": none. */
char *answer_paths(const struct answer *a);
/* The same of all pages of that size, one after the other. */
char *search_all(struct client *c, uint64_t sequence, const char *question, unsigned limit);
/* The pages from the last to the first, as previous leads there, a '|' between. */
char *search_back(struct client *c, uint64_t sequence, const char *question, unsigned limit);
/* Page number n (from 1), which is there. Free with answer_done. */
void search_page_at(struct client *c, uint64_t sequence, const char *question, unsigned limit,
                    unsigned n, struct answer *ret);
