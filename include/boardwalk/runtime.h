/* runtime.h - looking inside the whiteboard (OSGi 140.9, HttpServiceRuntime): what is active, what has
 * failed and why, and who would answer a request. Of the worker that runs the caller; each has its own
 * registry.
 *
 * OSGi's runtime is a service, and its property service.changecount rises with each change; who wants to
 * follow it listens to that service. Here such a one registers a struct bw_runtime_watcher.
 *
 * The text is JSON with OSGi's names (RuntimeDTO, RequestInfoDTO; docs/bundles.md); a record that failed has
 * an enum bw_failure (whiteboard.h) as its failureReason. It is a plain copy of
 * one moment: tell is called once, before the call returns, and borrows it for that long. */
#pragma once
#include <boardwalk/bundle.h>

typedef void (*bw_json_cb)(void *arg, struct bw_str json);

/* Rises with each change of what bw_runtime_snapshot would show of the whiteboard, never otherwise. */
static inline int64_t bw_runtime_change_count(void)
{
	return bw_host->runtime_change_count();
}

#define BW_RUNTIME_WATCHER "boardwalk.RuntimeWatcher" /* the interface */

struct bw_runtime_watcher {
	size_t size; /* = sizeof(struct bw_runtime_watcher) */
	/* What bw_runtime_snapshot shows has changed, and count is the change count now: 10 ms after
	 * the first of the changes that it tells of, never from inside a call of yours. It may register
	 * and unregister, and read the snapshot, but not wait. */
	void (*changed)(void *self, int64_t count);
};

/* Everything: contexts, servlets, filters, resources, error pages, listeners, preprocessors, and those
 * that failed. */
static inline void bw_runtime_snapshot(bw_json_cb tell, void *arg)
{
	bw_host->runtime_snapshot(tell, arg);
}

/* Who would answer this method and target ("/a?x=1"), through which filters, and why each other
 * candidate would not. BW_EINVAL: a request with it is answered 400; the text says so. */
static inline int bw_runtime_route(const char *method, const char *target, bw_json_cb tell,
                                   void *arg)
{
	return bw_host->runtime_route(method, target, tell, arg);
}
