/* Fuzz target: repo/commit_text.c. Whatever list of changes is well formed becomes JSON with as many
 * changes, or is refused with a reason; repo does not end over it. */
#include <commit_impl.h>
#include <jansson.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct commit *c)
{
	json_t *list;

	if (commit_text(c) != BW_OK) {
		if (c->err != BW_ECONTENT || c->text[0] == '\0')
			abort();
		return;
	}
	list = json_loads((char *)buf_data(&c->json), 0, NULL);
	if (!json_is_array(list) || json_array_size(list) != c->list.n)
		abort();
	json_decref(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct commit c = { .attempts = 0 };

	if (size > 16384 || changes_get(data, size, &c.list) != BW_OK)
		return 0;
	buf_init(&c.json);
	check(&c);
	buf_done(&c.json);
	return 0;
}
