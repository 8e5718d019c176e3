/* remember.c - footprints by file.
 *
 * Owns: nothing. Runs in: the loop's stack, and before the loop. Fails with: false. Text that is none of ours
 * is as good as none. Tests: tests/unit/whiteboard/generations_test.c. */
#include "remember.h"

#include "generations.h"

#include <base/buf.h>
#include <base/fatal.h>
#include <base/symbolic.h>
#include <jansson.h>

void remember_put(json_t *all, struct registry *r, const struct bw_bundle *b)
{
	struct buf text;
	json_t    *footprint;

	buf_init(&text);
	footprint_write(r, b, &text);
	footprint = json_loadb((const char *)buf_data(&text), buf_size(&text), 0, NULL);
	buf_done(&text);
	if (footprint)
		json_object_set_new(all, b->file,
		                    json_pack("{ss so}", "name", b->name, "footprint", footprint));
}

static json_t *find(json_t *all, const char *file, const char *name)
{
	json_t     *entry = json_object_get(all, file);
	const char *key;

	if (entry || !name)
		return entry;
	json_object_foreach (all, key, entry) {
		const char *its = json_string_value(json_object_get(entry, "name"));

		if (its && strcmp(its, name) == 0)
			return entry;
	}
	return NULL;
}

bool remember_find(const struct bundle_list *told, const char *file, const char *name,
                   char **ret_name, char **ret_footprint)
{
	bool found = false;

	for (size_t i = 0; told && i < BUNDLE_MEMORIES && !found; i++) {
		json_t     *all = told->remembered[i] ? json_loads(told->remembered[i],
		                                                   JSON_REJECT_DUPLICATES, NULL)
		                                      : NULL;
		json_t     *entry = find(all, file, name);
		const char *its = json_string_value(json_object_get(entry, "name"));
		char       *text = json_dumps(json_object_get(entry, "footprint"), JSON_COMPACT);

		found = text && its && symbolic_name_ok(its);
		if (found) {
			*ret_name = xstrdup(its);
			*ret_footprint = xstrdup(text);
		}
		free(text);
		json_decref(all);
	}
	return found;
}
