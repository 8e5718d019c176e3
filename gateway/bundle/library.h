/* library.h - one shared object: checked, mapped, unmapped. Private to bundles.c and
 * generations.c. */
#pragma once
#include <stdbool.h>

struct bw_bundle;

/* Maps b->file and fills library and descriptor. NULL, or why it cannot be used, as the end of "it
 * ..."; static text, or b->failure. What was mapped stays in b for library_close. */
const char *library_open(struct bw_bundle *b);
/* Unmaps. False: it is still there (NODELETE, or another one holds it), and stays. */
bool library_close(struct bw_bundle *b);
