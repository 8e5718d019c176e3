/* What the engine would do with a path, as far as that is known without asking repo: a servlet
 * mounted at the path, or at what is left of it when it is cut at its dots, answers; all else
 * depends on content.
 *
 * Owns: nothing. Runs in: the worker's thread, without a pause. Fails with: nothing.
 * Tests: tests/unit/engine/engine_test.c. */
#include "engine/explain.h"

#include "engine/mount.h"
#include "engine/pathinfo.h"
#include "whiteboard/records.h"

#include <base/json.h>

#define AT_PATH   "the servlet mounted at this very path answers, whatever is stored there"
#define AT_PREFIX "the mounted servlet answers, unless a longer path of this one is stored"
#define BY_TYPE   "the resource's type, its super types, selectors, extension and method decide"

static struct mount_servlet *mounted_at(struct bw_str path)
{
	const struct mount_node *node = mount_find(path);

	return node ? mount_node_servlet(node) : NULL;
}

int engine_explain(struct json_out *j, struct bw_str path)
{
	struct bw_str               at = pathinfo_first(path);
	const struct mount_servlet *m = mounted_at(at);
	bool                        is_exact = m != NULL, unavailable;

	while (!m && pathinfo_cut(&at))
		m = mounted_at(at);
	json_out_key(j, "engine");
	json_out_object(j);
	json_out_key(j, "servlet");
	json_out_text(j, m ? m->name : NULL);
	json_out_key(j, "bundle");
	json_out_text(j, m && service_bundle(m->service) ? service_bundle(m->service)->name : NULL);
	json_out_key(j, "path");
	json_out_string(j, m ? at.p : NULL, m ? at.n : 0);
	json_out_key(j, "note");
	json_out_text(j, is_exact ? AT_PATH : m ? AT_PREFIX : BY_TYPE);
	unavailable =
		record_unavailable(j, m ? m->limit : NULL, m ? service_bundle(m->service) : NULL);
	json_out_object_end(j);
	return is_exact && unavailable ? 503 : 0;
}
