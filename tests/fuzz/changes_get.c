/* Fuzz target: lib/wire/changes.c. Whatever changes_get accepts can be walked to its last value
 * without leaving the input (the sanitizer watches), and building the list again from what was read
 * gives the same octets. */
#include <stdlib.h>
#include <wire/changes.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXTS 16384u

static struct bw_str texts[TEXTS];

static struct change_text text_of(const struct change_value *v)
{
	const uint8_t *at = v->at;

	if (v->n > TEXTS)
		abort();
	for (unsigned i = 0; i < v->n; i++)
		texts[i] = change_next_str(&at);
	return (struct change_text){ v->type, v->multiple, v->n, texts };
}

static void rebuild_create(const struct change *c, size_t at, struct buf *out)
{
	const uint8_t      *p = c->mixins;
	struct change_value value;
	struct change_text  text;
	struct bw_str       name;

	for (unsigned i = 0; i < c->n_mixins; i++)
		change_put_mixin(out, at, change_next_str(&p));
	p = c->props;
	for (unsigned i = 0; i < c->n_props; i++) {
		change_next_prop(&p, &name, &value);
		text = text_of(&value);
		change_put_prop(out, at, name, &text);
	}
}

static void rebuild_base(const struct change *c, struct buf *out)
{
	struct change_text text;

	if (c->base != CHANGE_BASE_VALUE) {
		change_put_base(out, c->base, NULL);
		return;
	}
	text = text_of(&c->old);
	change_put_base(out, c->base, &text);
}

static void rebuild_entry(const struct change *c, size_t at, struct buf *out)
{
	const uint8_t      *p = c->props;
	struct change_value value;
	struct change_text  text = text_of(&c->value);
	struct bw_str       name;

	change_put_entry(out, c->allow, &text);
	for (unsigned i = 0; i < c->n_props; i++) {
		change_next_prop(&p, &name, &value);
		text = text_of(&value);
		change_put_prop(out, at, name, &text);
	}
}

static void rebuild_one(const struct change *c, size_t list, struct buf *out)
{
	size_t             at = change_begin(out, c->kind, c->version, c->path, c->name);
	struct change_text text;

	if (c->kind == CHANGE_CREATE)
		rebuild_create(c, at, out);
	if (c->kind == CHANGE_SET || c->kind == CHANGE_UNSET)
		rebuild_base(c, out);
	if (c->kind == CHANGE_SET) {
		text = text_of(&c->value);
		change_put_value(out, &text);
	}
	if (c->kind == CHANGE_SET_TYPE)
		change_put_type(out, c->old_type);
	if (c->kind == CHANGE_ACE_ADD || c->kind == CHANGE_ACE_REMOVE)
		rebuild_entry(c, at, out);
	if (c->kind == CHANGE_RESTORE || c->kind == CHANGE_LABEL_ADD)
		change_put_removing(out, c->removing);
	if (c->kind == CHANGE_LABEL_ADD)
		change_put_type(out, c->of);
	change_end(out, list, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct changes list;
	struct change  change;
	struct buf     again;
	size_t         at = 0, to;
	unsigned       n = 0;

	if (size > TEXTS || changes_get(data, size, &list) != BW_OK)
		return 0;
	buf_init(&again);
	to = changes_begin(&again);
	for (; changes_next(&list, &at, &change); n++)
		rebuild_one(&change, to, &again);
	if (n != list.n || changes_end(&again, to) != size ||
	    memcmp(buf_data(&again) + to, data, size) != 0)
		abort();
	buf_done(&again);
	return 0;
}
