/* property.c - changes of one resource: its properties, its primary type, its mixins.
 *
 * A second change of the same property amends the first one in the log, so that a loop over one counter
 * costs one change. Types look like properties to a servlet (jcr:primaryType, jcr:mixinTypes; JCR 2.0
 * section 3.7.10) and are changes of their own kinds.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo to read what the
 * property was. Fails with: BW_ECONTENT for what can be no property, and as edit.c.
 * Tests: tests/unit/gateway/edit_test.c, tests/conformance/resolver. */
#include "edit.h"
#include "request.h"
#include <base/utf8.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct bw_str primary_type = BW_STR("jcr:primaryType");
static const struct bw_str mixin_types = BW_STR("jcr:mixinTypes");

/* ---- values ---- */

static struct bw_str keep_text(struct bw_resolver *r, const char *text)
{
	return space_dup(edit_space(r), bw_str(text));
}

/* The fewest digits that read back as the same number. */
static struct bw_str double_text(struct bw_resolver *r, double d)
{
	char text[40];

	if (isnan(d))
		return BW_STR("NaN");
	if (isinf(d))
		return d < 0 ? BW_STR("-Infinity") : BW_STR("Infinity");
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			break;
	}
	return keep_text(r, text);
}

static struct bw_str long_text(struct bw_resolver *r, int64_t i)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)i);
	return keep_text(r, text);
}

/* Item i of a value; absent if it is no text of the repository. */
static struct bw_str item_text(struct bw_resolver *r, const struct bw_value *v, size_t i)
{
	struct bw_str text;
	bool          b;

	switch (v->type) {
	case BW_VALUE_LONG:
		return long_text(r, v->is_list ? v->u.i64s[i] : v->u.i64);
	case BW_VALUE_DOUBLE:
		return double_text(r, v->is_list ? v->u.f64s[i] : v->u.f64);
	case BW_VALUE_BOOLEAN:
		b = v->is_list ? v->u.bools[i] : v->u.b;
		return b ? BW_STR("true") : BW_STR("false");
	default:
		text = v->is_list ? v->u.strings[i] : v->u.string;
		if (!text.p || memchr(text.p, '\0', text.n) || !utf8_ok(text.p, text.n))
			return BW_ABSENT;
		return space_dup(edit_space(r), text);
	}
}

bool edit_value(struct bw_resolver *r, const struct bw_value *value, struct change_text *ret)
{
	size_t         n = value->is_list ? value->n : 1;
	struct bw_str *texts;

	if (value->type < BW_VALUE_STRING || value->type > BW_VALUE_BINARY || n > SPACE_MAX_VALUES)
		return false;
	texts = arena_alloc(edit_space(r)->arena, (n + 1) * sizeof(*texts));
	for (size_t i = 0; i < n; i++) {
		texts[i] = item_text(r, value, i);
		if (!texts[i].p)
			return false;
	}
	*ret = (struct change_text){ value->type, value->is_list, (unsigned)n, texts };
	return true;
}

static bool is_text_without_nul(struct bw_str s)
{
	return s.n > 0 && !memchr(s.p, '\0', s.n) && utf8_ok(s.p, s.n);
}

/* Names as values, and the names of types, in their qualified form. */
static int qualify_values(struct bw_resolver *r, struct bw_str path, struct bw_str name,
                          struct change_text *text)
{
	struct bw_str *names = (struct bw_str *)text->values; /* edit_value's own copies */
	int            err = BW_OK;

	if (text->type != BW_VALUE_NAME && !bw_str_eq(name, primary_type) &&
	    !bw_str_eq(name, mixin_types))
		return BW_OK;
	for (unsigned i = 0; err == BW_OK && i < text->n; i++)
		err = edit_qualify(r, path, &names[i]);
	return err;
}

/* *name is in its qualified form then. */
static int check_property(struct bw_resolver *r, struct bw_str path, struct bw_str *name,
                          const struct bw_value *value, struct change_text *ret)
{
	int err;

	if (!is_text_without_nul(*name))
		return edit_fail(r, BW_ECONTENT, path, "\"%.*s\" is not the name of a property",
		                 EDIT_TEXT(*name));
	err = edit_qualify(r, path, name);
	if (err != BW_OK)
		return err;
	if (name->n == 0 || memchr(name->p, '/', name->n))
		return edit_fail(r, BW_ECONTENT, path, "\"%.*s\" is not the name of a property",
		                 EDIT_TEXT(*name));
	if (value && !edit_value(r, value, ret))
		return edit_fail(r, BW_ECONTENT, path, "%.*s: this is not a value",
		                 EDIT_TEXT(*name));
	return value ? qualify_values(r, path, *name, ret) : BW_OK;
}

/* ---- what a new node has ---- */

/* Names that repo gives itself (Apache Sling, ResourceResolver.create). */
static bool is_ignored(struct bw_str name)
{
	return bw_str_eq(name, BW_STR("jcr:created")) || bw_str_eq(name, BW_STR("jcr:createdBy"));
}

static void add_created(struct bw_resolver *r, struct edit_created *c, struct bw_str name,
                        const struct change_text *text)
{
	struct space_value **at = &c->props;

	while (*at && !bw_str_eq((*at)->name, name))
		at = &(*at)->next;
	if (*at) {
		c->octets -= name.n + space_value_size(&(*at)->value);
	} else {
		*at = arena_zalloc(r->space->arena, sizeof(**at));
		(*at)->name = space_dup(r->space, name);
		c->n_props++;
	}
	(*at)->value = *text; /* the last one of a name counts */
	c->octets += name.n + space_value_size(text);
}

int edit_created(struct bw_resolver *r, struct bw_str path, const struct bw_property *props,
                 size_t n, struct edit_created *ret)
{
	struct change_text text;
	struct bw_str      name;
	int                err;

	*ret = (struct edit_created){ .octets = 0 };
	if (n > SPACE_MAX_VALUES)
		return edit_fail(r, BW_ETOOBIG, path, "more than %u properties", SPACE_MAX_VALUES);
	for (size_t i = 0; i < n; i++) {
		name = props[i].name;
		if (props[i].value.type == 0)
			continue;
		err = check_property(r, path, &name, &props[i].value, &text);
		if (err != BW_OK)
			return err;
		if (is_ignored(name))
			continue;
		if (bw_str_eq(name, primary_type) && text.n == 1 && !text.multiple) {
			ret->type = text.values[0];
		} else if (bw_str_eq(name, mixin_types)) {
			ret->mixins = text.values;
			ret->n_mixins = text.n;
			ret->octets += space_value_size(&text);
		} else {
			add_created(r, ret, name, &text);
		}
	}
	return BW_OK;
}

/* ---- properties ---- */

/* What the property is now. False: absent. Stored ones have been read whole. */
static bool now(struct bw_resolver *r, const struct edit_node *node, struct bw_str name,
                struct change_text *ret)
{
	const struct space_prop *prop = NULL;

	if (node->spot.item)
		prop = space_prop(r->space, node->spot.item, name);
	if (prop) {
		*ret = prop->value;
		return !prop->removed;
	}
	return node->stored && look_stored_value(r->space->arena, node->stored, name, ret);
}

/* The change that this one amends. NULL: none. */
static struct space_value *to_amend(struct bw_resolver *r, const struct edit_node *node,
                                    struct bw_str name)
{
	struct space_item  *item = node->spot.item;
	struct space_prop  *prop = item ? space_prop(r->space, item, name) : NULL;
	struct space_value *v;

	if (prop && prop->amend)
		return prop->amend;
	if (!item || !item->create || item->create->n_props == SPACE_MAX_VALUES)
		return NULL;
	v = arena_zalloc(r->space->arena, sizeof(*v)); /* one more of a node made just now */
	v->name = space_dup(r->space, name);
	v->removed = true;
	v->next = item->create->props;
	item->create->props = v;
	item->create->n_props++;
	r->space->octets += name.n;
	return v;
}

/* A change of its own, decided upon what is stored. */
static struct space_value *log_set(struct bw_resolver *r, const struct edit_node *node,
                                   struct bw_str name)
{
	struct space_change *c = space_log(r->space, CHANGE_SET, node->path, name, 0);

	space_log_of(space_touch(r->space, node->path), c);
	c->version = edit_version(node);
	c->set.name = c->name;
	c->set.removed = true;
	if (node->spot.fresh || (node->spot.item && space_prop(r->space, node->spot.item, name)))
		c->base = CHANGE_BASE_UNKNOWN; /* an earlier change knows it, if anyone does */
	else
		c->base = node->stored && look_stored_value(r->space->arena, node->stored, name,
		                                            &c->old)
		                  ? CHANGE_BASE_VALUE
		                  : CHANGE_BASE_ABSENT;
	if (c->base == CHANGE_BASE_VALUE)
		r->space->octets += space_value_size(&c->old);
	return &c->set;
}

/* value NULL: removed. */
static void set_now(struct bw_resolver *r, const struct edit_node *node, struct bw_str name,
                    const struct change_text *value)
{
	struct space_value *v = to_amend(r, node, name);
	struct space_prop  *prop;

	if (!v)
		v = log_set(r, node, name);
	if (!v->removed)
		r->space->octets -= space_value_size(&v->value);
	v->removed = !value;
	if (value) {
		v->value = *value;
		r->space->octets += space_value_size(value);
	}
	prop = space_prop_make(r->space, space_touch(r->space, node->path), name);
	prop->removed = v->removed;
	prop->value = v->value;
	prop->amend = v;
}

/* Room for what set_now is going to add. old: what it is now, NULL: absent. */
static int room_to_set(struct bw_resolver *r, const struct edit_node *node, struct bw_str name,
                       const struct change_text *value, const struct change_text *old)
{
	const struct space_item *item = node->spot.item;
	const struct space_prop *prop = item ? space_prop(r->space, item, name) : NULL;
	size_t                   size = value ? space_value_size(value) : 0;
	size_t                   had = old ? space_value_size(old) : 0;

	if (prop && prop->amend)
		return edit_room(r, 0, node->path, size > had ? size - had : 0);
	if (item && item->create)
		return edit_room(r, 0, node->path, name.n + size);
	return edit_room(r, 1, node->path, node->path.n + name.n + size + had);
}

static int set_property(struct bw_resolver *r, const struct edit_node *node, struct bw_str name,
                        const struct change_text *value)
{
	struct change_text old;
	bool               is_there = now(r, node, name, &old);
	int                err;

	if (value ? is_there && space_value_eq(value, &old) : !is_there)
		return BW_OK;
	err = room_to_set(r, node, name, value, is_there ? &old : NULL);
	if (err == BW_OK)
		set_now(r, node, name, value);
	return err;
}

/* ---- types ---- */

static int set_type(struct bw_resolver *r, const struct edit_node *node, struct bw_str type)
{
	struct space_item   *item = node->spot.item;
	struct space_change *c;
	struct bw_str        old = BW_ABSENT;
	int                  err;

	if (!is_text_without_nul(type))
		return edit_fail(r, BW_ECONTENT, node->path, "a primary type has a name");
	if (node->stored)
		old = node->stored->record.primary_type;
	if (bw_str_eq(item && item->type.p ? item->type : old, type))
		return BW_OK;
	err = edit_room(r, 1, node->path, node->path.n + type.n + old.n);
	if (err != BW_OK)
		return err;
	if (item && item->create) {
		item->create->name = space_dup(r->space, type);
	} else {
		c = space_log(r->space, CHANGE_SET_TYPE, node->path, type, 0);
		space_log_of(space_touch(r->space, node->path), c);
		c->version = edit_version(node);
		if (!node->spot.fresh && !(item && item->type.p))
			c->old_type = old;
	}
	space_touch(r->space, node->path)->type = space_dup(r->space, type);
	return BW_OK;
}

static bool has_text(const struct change_text *list, struct bw_str text)
{
	for (unsigned i = 0; i < list->n; i++)
		if (bw_str_eq(list->values[i], text))
			return true;
	return false;
}

/* The mixins as the property that they are read as. */
void edit_show_mixins(struct space *s, struct space_item *item, const struct bw_str *mixins,
                      unsigned n)
{
	struct space_prop *prop = space_prop_make(s, item, mixin_types);

	prop->removed = n == 0;
	prop->value = (struct change_text){ BW_VALUE_NAME, true, n, mixins };
}

/* Those of old without mixin, or with it at the end. */
static struct change_text other_mixins(struct bw_resolver *r, const struct change_text *old,
                                       struct bw_str mixin, bool add)
{
	struct bw_str *values = arena_alloc(r->space->arena, (old->n + 1) * sizeof(*values));
	unsigned       n = 0;

	for (unsigned i = 0; i < old->n; i++)
		if (!bw_str_eq(old->values[i], mixin))
			values[n++] = old->values[i];
	if (add)
		values[n++] = mixin;
	return (struct change_text){ BW_VALUE_NAME, true, n, values };
}

static int change_mixin(struct bw_resolver *r, const struct edit_node *node, struct bw_str mixin,
                        bool add)
{
	struct space_item   *item = node->spot.item;
	struct change_text   old = { .n = 0 }, mixins;
	struct space_change *c;
	int                  err;

	if (!is_text_without_nul(mixin))
		return edit_fail(r, BW_ECONTENT, node->path, "a mixin has a name");
	if (!now(r, node, mixin_types, &old))
		old.n = 0;
	if (has_text(&old, mixin) == add)
		return BW_OK;
	err = edit_room(r, 1, node->path, node->path.n + mixin.n);
	if (err != BW_OK)
		return err;
	mixin = space_dup(r->space, mixin);
	mixins = other_mixins(r, &old, mixin, add);
	if (item && item->create) {
		item->create->mixins = mixins.values;
		item->create->n_mixins = mixins.n;
	} else {
		c = space_log(r->space, add ? CHANGE_MIXIN_ADD : CHANGE_MIXIN_REMOVE, node->path,
		              mixin, 0);
		space_log_of(space_touch(r->space, node->path), c);
		c->version = edit_version(node);
	}
	edit_show_mixins(r->space, space_touch(r->space, node->path), mixins.values, mixins.n);
	return BW_OK;
}

/* After each change the node is another one in the space. */
static int find_again(struct bw_resolver *r, struct edit_node *node)
{
	struct bw_str path = node->path;

	return edit_find(r, path, node);
}

/* The property jcr:mixinTypes is set: the mixins become these. */
static int set_mixins(struct bw_resolver *r, struct edit_node *node, const struct change_text *to)
{
	struct change_text from = { .n = 0 };
	int                err;

	if (!now(r, node, mixin_types, &from))
		from.n = 0;
	err = edit_room(r, from.n + to->n, node->path,
	                (from.n + to->n) * node->path.n + space_value_size(&from) +
	                        space_value_size(to));
	for (unsigned i = 0; err == BW_OK && i < from.n; i++) {
		if (has_text(to, from.values[i]))
			continue;
		err = change_mixin(r, node, from.values[i], false);
		if (err == BW_OK)
			err = find_again(r, node);
	}
	for (unsigned i = 0; err == BW_OK && i < to->n; i++) {
		err = change_mixin(r, node, to->values[i], true);
		if (err == BW_OK)
			err = find_again(r, node);
	}
	return err;
}

/* ---- the entries ---- */

/* The node with its properties read. */
static int find_whole(struct bw_resolver *r, struct bw_str path, struct edit_node *ret)
{
	int err = edit_find(r, path, ret);

	if (err == BW_OK && ret->stored)
		err = resolver_complete(ret->stored);
	return err;
}

int edit_set(struct bw_resolver *r, struct bw_str path, struct bw_str name,
             const struct bw_value *value)
{
	static const struct change_text none = { .n = 0 };
	struct edit_node                node;
	struct change_text              text;
	int                             err = edit_begin(r);

	if (value && value->type == 0)
		value = NULL;
	if (err == BW_OK)
		err = check_property(r, path, &name, value, &text);
	if (err == BW_OK)
		err = find_whole(r, path, &node);
	if (err != BW_OK)
		return err;
	if (bw_str_eq(name, primary_type))
		return set_type(r, &node, value && text.n == 1 ? text.values[0] : BW_ABSENT);
	if (bw_str_eq(name, mixin_types))
		return set_mixins(r, &node, value ? &text : &none);
	return set_property(r, &node, name, value ? &text : NULL);
}

int edit_set_type(struct bw_resolver *r, struct bw_str path, struct bw_str type)
{
	struct edit_node node;
	int              err = edit_begin(r);

	if (err == BW_OK)
		err = edit_find(r, path, &node);
	if (err == BW_OK)
		err = edit_qualify(r, path, &type);
	return err == BW_OK ? set_type(r, &node, type) : err;
}

int edit_mixin(struct bw_resolver *r, struct bw_str path, struct bw_str mixin, bool add)
{
	struct edit_node node;
	int              err = edit_begin(r);

	if (err == BW_OK)
		err = find_whole(r, path, &node);
	if (err == BW_OK)
		err = edit_qualify(r, path, &mixin);
	return err == BW_OK ? change_mixin(r, &node, mixin, add) : err;
}
