/* event.h - who is told of changes in the repository (Apache Sling's ResourceChangeListener).
 *
 * A service of BW_CHANGE_LISTENER with the table struct bw_change_listener and these properties:
 *
 *   resource.paths                changes at these paths and below; String or a list of them,
 *                                 required: an absolute path; a relative one, for that path below
 *                                 each search path; "." for everything; "glob:" and a path with *
 *                                 for any octets but a slash and ** for any octets, which stands
 *                                 for what fits it, and not for what is below that
 *   resource.change.types         of these kinds: ADDED, CHANGED, REMOVED; absent: all three
 *   resource.property.names.hint  of these properties; changes of others need not be told
 *
 * It is told what this node's servlets change. Registered as BW_EXTERNAL_CHANGE_LISTENER, too or
 * alone, it is also told what other nodes and the operator's tools change. A registration that
 * makes no sense is recorded as failed, with the reason (boardwalk ctl whiteboard), and logged. */
#pragma once
#include <boardwalk/service.h>

#define BW_CHANGE_LISTENER "org.apache.sling.api.resource.observation.ResourceChangeListener"
#define BW_EXTERNAL_CHANGE_LISTENER \
	"org.apache.sling.api.resource.observation.ExternalResourceChangeListener"

#define BW_RESOURCE_PATHS          "resource.paths"
#define BW_RESOURCE_CHANGE_TYPES   "resource.change.types"
#define BW_RESOURCE_PROPERTY_NAMES "resource.property.names.hint"

enum bw_change_kind {
	BW_CHANGE_ADDED = 1,
	BW_CHANGE_CHANGED,
	BW_CHANGE_REMOVED,
	/* Changes have been lost: the worker or the repository has come up anew, or there were too
	 * many. Whatever the listener has made of earlier ones may be out of date. Sent to all
	 * listeners, whatever they want, and without a path. */
	BW_CHANGE_RESYNC,
};

struct bw_change {
	enum bw_change_kind kind;
	bool                external; /* made by another node, or by a tool */
	/* The change speaks of all that is or was below path, too, which is told nothing of its
	 * own: REMOVED always; ADDED by a move or a copy; CHANGED if it was removed and added again
	 * in one commit. Such a change of an ancestor is told to whoever listens below. */
	bool                 subtree;
	struct bw_str        path;
	struct bw_str        from;    /* ADDED: where it was moved or copied from; else absent */
	struct bw_str        user;    /* who did it; absent: not known */
	size_t               n_names; /* CHANGED: of the properties that changed; 0: not known */
	const struct bw_str *names;
};

struct bw_change_listener {
	size_t size; /* = sizeof(struct bw_change_listener) */

	/* What one commit has changed and this listener wants, ordered by path, each path once; a
	 * commit of thousands of changes may come in several calls. Calls come one after the other,
	 * in the order of the commits, after the commit and as soon as the listener has returned
	 * from the one before; what comes meanwhile waits, up to a megabyte for each worker, beyond
	 * which there is one RESYNC. Each worker tells its own listeners.
	 *
	 * Runs on a coroutine of its own and may wait: job stands for the request that there is
	 * not, in bw_service_resolver, bw_sleep_ms, bw_offload, bw_req_alloc and whatever takes
	 * one; what is written to its response goes nowhere. After a minute every call that waits
	 * answers BW_ETIME. Arguments are borrowed for the call. An error is logged. Nobody's right
	 * to read was looked at: who hands a change on to a user checks whether he may read path.
	 * */
	int (*on_change)(void *self, struct bw_req *job, const struct bw_change *const *changes,
	                 size_t n);
};
