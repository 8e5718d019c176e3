/* figures.c - repo's cache in the metrics, asked for when they are.
 *
 * Owns: nothing. Runs in: the gateway, on the fiber of a management request. Fails with: nothing;
 * while repo is away its metrics are missing. Tests: tests/system/events_test.c. */
#include "figures.h"
#include "ask_impl.h"
#include <base/buf.h>

static int take_state(void *arg, const struct wire_frame *f)
{
	struct wire_message m;

	ask_parse(f, &m);
	*(Bw__Wire__CacheState *)arg = m.u->cache_state;
	return BW_OK;
}

static void put(struct buf *out, const char *name, const char *type, const char *help,
                uint64_t value)
{
	buf_printf(out,
	           "# HELP boardwalk_repo_%s %s\n# TYPE boardwalk_repo_%s %s\nboardwalk_repo_%s "
	           "%llu\n",
	           name, help, name, type, name, (unsigned long long)value);
}

void figures_put(struct bw_req *req, struct buf *out)
{
	Bw__Wire__CacheFigures m = BW__WIRE__CACHE_FIGURES__INIT;
	Bw__Wire__CacheState   s;

	if (ask_peer(WIRE_REPO, req, WIRE_CACHE_FIGURES, &m.base, take_state, &s, NULL) != BW_OK)
		return;
	put(out, "cache_bytes", "gauge", "Memory that repo's cache of resources takes.", s.bytes);
	put(out, "cache_max_bytes", "gauge", "What it may take: repo.cache_bytes.", s.max_bytes);
	put(out, "cache_entries", "gauge", "Resources, lists and absences in it.", s.entries);
	put(out, "cache_hits_total", "counter", "Questions answered at once.", s.hits);
	put(out, "cache_misses_total", "counter", "Questions that waited for PostgreSQL.",
	    s.misses);
	put(out, "cache_evictions_total", "counter", "Entries that went for want of room.",
	    s.evictions);
	put(out, "cache_stale_fills_total", "counter",
	    "Answers of PostgreSQL not kept: a change came between.", s.stale);
}
