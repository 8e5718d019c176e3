/* journal.h - keeps what repo holds in memory up to date with the database, and tells the events.
 *
 *   DOWN --connection--> version --as ours--> snapshot --> entries, super types --> CURRENT
 *    ^                    | older: waits                                              |
 *    `------- both connections lost: that which listens, that for reads <-------------'
 */
#pragma once
#include "events.h"
#include "resource.h"

struct journal;

struct journal_settings {
	const char  *conninfo;
	unsigned     statement_timeout_ms;
	unsigned     interval_ms; /* between two readings that no bell has asked for */
	char *const *search_path;
	size_t       n_search_path;
};

/* Listens, polls and loads for r, from now on, and tells events. settings: its strings are copied.
 * A schema newer than this program ends the process. */
struct journal *journal_new(struct ev_loop *loop, const struct journal_settings *settings,
                            struct resources *r, struct events *events);
void            journal_free(struct journal *j);
/* Entries newer than those in memory have been seen: loads them. */
void journal_want_entries(struct journal *j);
/* Super types have been written here: loads them. They are there when journal_types_loaded has come
 * to the number that is returned. */
uint64_t journal_want_types(struct journal *j);
uint64_t journal_types_loaded(const struct journal *j);
/* Something was committed here: has all nodes read it, at once, but at most every 10 ms. */
void journal_ring(struct journal *j);
