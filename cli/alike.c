/* alike.c - N workers are N registries: their answers are compared without what may differ, the numbers
 * that a registry gives in the order in which things came.
 *
 * Owns: nothing. Runs in: the operator's commands. Fails with: false after lines on stderr.
 * Tests: tests/unit/cli/alike_test.c. */
#include "alike.h"

#include "cli.h"

static const char *const may_differ[] = {
	"serviceId",           "service.id",   "servletContextId", "bundleId",
	"service.changecount", "usingBundles", "mapped",           NULL
};

static void strip_members(json_t *object, const char *const *names)
{
	for (; *names != NULL; names++)
		json_object_del(object, *names);
}

/* As deep as the parser lets it be. */
void alike_strip(json_t *value, const char *const *names)
{
	const char *key;
	json_t     *item;
	size_t      i;

	if (json_is_object(value))
		strip_members(value, names);
	json_object_foreach(value, key, item) alike_strip(item, names);
	json_array_foreach(value, i, item) alike_strip(item, names);
}

static json_t *stripped(const json_t *answer)
{
	json_t *copy = json_deep_copy(answer);

	alike_strip(copy, may_differ);
	return copy;
}

bool alike_check(const json_t *lines)
{
	json_t *first = NULL;
	int     first_worker = 0;
	bool    alike = true;
	size_t  i;
	json_t *line;

	json_array_foreach(lines, i, line)
	{
		int         worker = (int)json_integer_value(json_object_get(line, "worker"));
		json_t     *answer = json_object_get(line, "answer");
		const char *error = json_string_value(json_object_get(line, "error"));
		json_t     *copy = answer != NULL ? stripped(answer) : NULL;

		if (copy == NULL)
			alike = complain("worker %d: it %s", worker,
			                 error ? error : "says nothing");
		else if (first == NULL) {
			first = json_incref(copy);
			first_worker = worker;
		} else if (!json_equal(first, copy))
			alike = complain("worker %d differs from worker %d", worker, first_worker);
		json_decref(copy);
	}
	json_decref(first);
	return alike;
}
