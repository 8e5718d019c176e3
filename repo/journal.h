/* journal.h - keeps what repo holds in memory up to date with the database.
 *
 *   DOWN --connection--> version --as ours--> snapshot --> entries, super types --> CURRENT
 *    ^                    | older: waits                                              |
 *    `------------------- connection lost <-------------------------------------------'
 */
#pragma once
#include "resource.h"

struct journal;

/* Listens, polls and loads for r, from now on. A schema newer than this program ends the
 * process. */
struct journal *journal_new(struct ev_loop *loop, const char *conninfo,
                            unsigned statement_timeout_ms, char *const *search_path,
                            size_t n_search_path, struct resources *r);
void            journal_free(struct journal *j);
/* Entries newer than those in memory have been seen: loads them. */
void journal_want_entries(struct journal *j);
/* Super types have been written here: loads them. They are there when journal_types_loaded has come to
 * the number that is returned. */
uint64_t journal_want_types(struct journal *j);
uint64_t journal_types_loaded(const struct journal *j);
/* Something was committed here: has all nodes read it, at once, but at most every 10 ms. */
void journal_ring(struct journal *j);
