/* What the whiteboard says of itself, read from its current snapshot: the in-process runner's view.
 * Tests: every row file. */
#include "things.h"
#include "world.h"

#include <gateway/whiteboard/inspect.h>
#include <gateway/whiteboard/snapshot.h>
#include <jansson.h>

bool world_has_mark(void)
{
	return true;
}

uint64_t world_count(void)
{
	return snapshot_current()->number;
}

static int64_t id_of(const char *label)
{
	return strcmp(label, "builtin") == 0 ? -1 : things_find(label)->id;
}

size_t world_failures(const char *label, struct record **ret)
{
	const struct snapshot *s = snapshot_current();
	struct record         *records = text_alloc((s->n_failures + 1) * sizeof(*records));
	size_t                 n = 0;

	for (size_t i = 0; i < s->n_failures; i++) {
		const struct failure *f = &s->failures[i];
		struct record        *r = &records[n];

		if (label && f->service_id != id_of(label))
			continue;
		r->label = label;
		r->code = f->code;
		r->context_id = f->context_id;
		for (size_t k = 0; k < f->n_items; k++)
			words_add(&r->items, text_dup(f->items[k].p, f->items[k].n));
		n++;
	}
	*ret = records;
	return n;
}

unsigned world_bindings(const char *label)
{
	const struct snapshot *s = snapshot_current();
	unsigned               n = 0;

	for (size_t i = 0; i < s->n_bindings; i++)
		n += s->bindings[i]->reading->id == id_of(label) &&
		     s->bindings[i]->failure == FAILURE_NONE;
	for (size_t i = 0; i < s->n_contexts; i++)
		n += s->contexts[i]->context->reading->id == id_of(label);
	return n;
}

char *world_context_param(const char *label, const char *name)
{
	const struct snapshot *s = snapshot_current();

	for (size_t i = 0; i < s->n_contexts; i++) {
		const struct reading *r = s->contexts[i]->context->reading;

		for (size_t k = 0; r->id == id_of(label) && k < r->n_params; k++)
			if (strcmp(r->params[k].name.p, name) == 0)
				return text_of(r->params[k].value);
	}
	return NULL;
}

static json_t *parse(struct buf *b)
{
	json_t *j = json_loadb((char *)buf_data(b), buf_size(b), 0, NULL);

	buf_done(b);
	return j;
}

json_t *world_inspect(void)
{
	struct buf b;

	buf_init(&b);
	inspect_whiteboard(&b);
	return parse(&b);
}

json_t *world_route(const char *method, const char *target)
{
	struct buf b;

	buf_init(&b);
	inspect_route(method, target, &b);
	return parse(&b);
}
