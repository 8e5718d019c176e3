/* alike.c - N workers are N registries: their answers are compared without what may differ, the numbers
 * that a registry gives in the order in which things came.
 *
 * Owns: nothing. Runs in: the operator's commands. Fails with: false after lines on stderr.
 * Tests: tests/unit/cli/alike_test.c. */
#include "alike.h"

#include "cli.h"

#include <string.h>

static const char *const may_differ[] = {
	"serviceId", "service.id", "servletContextId", "id", "service.changecount", "usingBundles",
	"mapped",    "attributes", /* of a context: each worker has its own */
	NULL
};

/* A servlet without a name is called BUNDLE/ID, its service's number. */
static void strip_name(json_t *object, const char *key)
{
	const char *name = json_string_value(json_object_get(object, key));
	const char *bundle = json_string_value(json_object_get(object, "bundle"));
	size_t      n = bundle != NULL ? strlen(bundle) : 0;

	if (name != NULL && n > 0 && strncmp(name, bundle, n) == 0 && name[n] == '/' &&
	    name[n + 1 + strspn(name + n + 1, "0123456789")] == '\0')
		json_object_set_new(object, key, json_string(bundle));
}

static void strip_members(json_t *object)
{
	strip_name(object, "name");
	strip_name(object, "servlet"); /* of the engine */
	for (const char *const *name = may_differ; *name != NULL; name++)
		json_object_del(object, *name);
}

/* As deep as the parser lets it be. */
static void strip(json_t *value)
{
	const char *key;
	json_t     *item;
	size_t      i;

	if (json_is_object(value))
		strip_members(value);
	json_object_foreach (value, key, item)
		strip(item);
	json_array_foreach (value, i, item)
		strip(item);
}

static json_t *stripped(const json_t *answer)
{
	json_t *copy = json_deep_copy(answer);

	strip(copy);
	return copy;
}

bool alike(const json_t *a, const json_t *b)
{
	json_t *x = stripped(a), *y = stripped(b);
	bool    is = json_equal(x, y) == 1;

	json_decref(x);
	json_decref(y);
	return is;
}

bool alike_check(const json_t *lines)
{
	json_t *first = NULL;
	int     first_worker = 0;
	bool    all_alike = true;
	size_t  i;
	json_t *line;

	json_array_foreach (lines, i, line) {
		int         worker = (int)json_integer_value(json_object_get(line, "worker"));
		json_t     *answer = json_object_get(line, "answer");
		const char *error = json_string_value(json_object_get(line, "error"));
		json_t     *copy = answer != NULL ? stripped(answer) : NULL;

		if (copy == NULL)
			all_alike = complain("worker %d: it %s", worker,
			                     error ? error : "says nothing");
		else if (first == NULL) {
			first = json_incref(copy);
			first_worker = worker;
		} else if (!json_equal(first, copy))
			all_alike =
				complain("worker %d differs from worker %d", worker, first_worker);
		json_decref(copy);
	}
	json_decref(first);
	return all_alike;
}
