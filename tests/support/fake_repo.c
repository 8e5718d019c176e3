/* fake_repo.c - see fake_repo.h. */
#include "fake_repo.h"
#include <base/buf.h>
#include <base/fatal.h>
#include <gateway/peers/ahead.h>
#include <gateway/peers/ask.h>
#include <gateway/peers/ask_impl.h>
#include <gateway/peers/resolver.h>
#include <gateway/request.h>
#include <stdlib.h>
#include <wire/changes.h>

struct prop {
	struct prop       *next;
	char              *name;
	enum bw_value_type type;
	bool               multiple;
	unsigned           n;
	char             **values;
};

struct node {
	struct node *parent, *next, *children;
	char        *name, *type;
	uint64_t     version;
	struct prop *props; /* sorted by name */
};

int      fake_repo_error;
unsigned fake_repo_questions, fake_repo_commits, fake_repo_changes;
size_t   fake_repo_octets;

static struct node *root;

/* ---- the tree ---- */

static char *text(struct bw_str s)
{
	char *copy = xmalloc(s.n + 1);

	if (s.n > 0)
		memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return copy;
}

static struct node *new_node(struct bw_str name, struct bw_str type)
{
	struct node *node = xcalloc(1, sizeof(*node));

	node->name = text(name);
	node->type = text(type.n > 0 ? type : BW_STR("nt:unstructured"));
	node->version = 1;
	return node;
}

static void free_prop(struct prop *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->values[i]);
	free(p->values);
	free(p->name);
	free(p);
}

/* With all below it; depth is the test's. */
static void free_node(struct node *node)
{
	struct node *child;
	struct prop *p;

	while ((child = node->children) != NULL) {
		node->children = child->next;
		free_node(child);
	}
	while ((p = node->props) != NULL) {
		node->props = p->next;
		free_prop(p);
	}
	free(node->name);
	free(node->type);
	free(node);
}

static struct node *child_of(const struct node *node, struct bw_str name)
{
	struct node *child = node->children;

	while (child && !bw_str_eq(bw_str(child->name), name))
		child = child->next;
	return child;
}

static struct node *find(struct bw_str path)
{
	struct node *node = root;

	for (size_t at = 1; node && at < path.n;) {
		const char *slash = memchr(path.p + at, '/', path.n - at);
		size_t      n = slash ? (size_t)(slash - path.p) - at : path.n - at;

		node = child_of(node, (struct bw_str){ path.p + at, n });
		at += n + 1;
	}
	return node;
}

static void unlink_node(struct node *node)
{
	struct node **at = &node->parent->children;

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	node->next = NULL;
}

/* Before the sibling of that name; absent: behind all. */
static void link_node(struct node *parent, struct node *node, struct bw_str before)
{
	struct node **at = &parent->children;

	while (*at && !bw_str_eq(bw_str((*at)->name), before))
		at = &(*at)->next;
	node->next = *at;
	node->parent = parent;
	*at = node;
}

static void split(struct bw_str path, struct bw_str *ret_parent, struct bw_str *ret_name)
{
	const char *slash = memrchr(path.p, '/', path.n);

	*ret_parent = (struct bw_str){ path.p, slash > path.p ? (size_t)(slash - path.p) : 1 };
	*ret_name = (struct bw_str){ slash + 1, path.n - (size_t)(slash + 1 - path.p) };
}

void fake_repo_begin(void)
{
	fake_repo_error = BW_OK;
	fake_repo_questions = fake_repo_commits = 0;
	root = new_node(BW_STR(""), BW_STR("rep:root"));
}

void fake_repo_end(void)
{
	free_node(root);
	root = NULL;
}

/* ---- records ---- */

static struct bw_str prop_text(const struct node *node, const char *name)
{
	for (const struct prop *p = node->props; p; p = p->next)
		if (strcmp(p->name, name) == 0 && p->n > 0)
			return bw_str(p->values[0]);
	return BW_STR("");
}

static void put_record(struct arena *a, const struct node *node, struct bw_str path, bool whole,
                       struct record *ret)
{
	struct buf out;
	size_t     at, prop, n;

	buf_init(&out);
	at = record_begin(&out, 1, node->version, path, bw_str(node->type),
	                  prop_text(node, "sling:resourceType"),
	                  prop_text(node, "sling:resourceSuperType"));
	for (const struct prop *p = whole ? node->props : NULL; p; p = p->next) {
		prop = record_put_prop(&out, at, bw_str(p->name), p->type, p->multiple);
		for (unsigned i = 0; i < p->n; i++)
			record_put_value(&out, prop, bw_str(p->values[i]));
	}
	record_end(&out, at);
	n = buf_size(&out);
	if (record_get((uint8_t *)arena_dup(a, buf_data(&out), n), n, ret) != BW_OK)
		abort();
	buf_done(&out);
}

int ask_resource_get(struct bw_resolver *r, struct bw_str path, struct record *ret)
{
	struct node *node = find(path);

	fake_repo_questions++;
	if (r->failed != BW_OK || fake_repo_error != BW_OK)
		return r->failed != BW_OK ? r->failed : fake_repo_error;
	if (!node)
		return BW_ENOTFOUND;
	put_record(&r->req->arena, node, path, true, ret);
	return BW_OK;
}

int ask_resource_children(struct bw_resolver *r, struct bw_str path, struct bw_str after,
                          unsigned max, struct record **ret, size_t *ret_n, bool *ret_more)
{
	struct node *node = find(path), *child;
	char        *child_path;

	fake_repo_questions++;
	if (r->failed != BW_OK || fake_repo_error != BW_OK)
		return r->failed != BW_OK ? r->failed : fake_repo_error;
	child = node && after.p ? child_of(node, after) : NULL;
	if (!node || (after.p && !child))
		return BW_ENOTFOUND;
	child = after.p ? child->next : node->children;
	*ret = arena_alloc(&r->req->arena, max * sizeof(**ret));
	for (*ret_n = 0; child && *ret_n < max; child = child->next) {
		child_path = arena_printf(&r->req->arena, "%.*s/%s", path.n > 1 ? (int)path.n : 0,
		                          path.p, child->name);
		put_record(&r->req->arena, child, bw_str(child_path), false, *ret + (*ret_n)++);
	}
	*ret_more = child != NULL;
	return BW_OK;
}

/* ---- a commit, change by change ---- */

static struct prop **prop_at(struct node *node, const char *name)
{
	struct prop **at = &node->props;

	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	return at;
}

static struct prop *find_prop(struct node *node, const char *name)
{
	struct prop *p = *prop_at(node, name);

	return p && strcmp(p->name, name) == 0 ? p : NULL;
}

static void unset(struct node *node, const char *name)
{
	struct prop **at = prop_at(node, name), *p = *at;

	if (!p || strcmp(p->name, name) != 0)
		return;
	*at = p->next;
	free_prop(p);
}

static void set(struct node *node, struct bw_str name, const struct change_value *value)
{
	struct prop   *p = xcalloc(1, sizeof(*p)), **at;
	const uint8_t *v = value->at;

	p->name = text(name);
	p->type = value->type;
	p->multiple = value->multiple;
	p->n = value->n;
	p->values = xcalloc(value->n + 1, sizeof(char *));
	for (unsigned i = 0; i < value->n; i++)
		p->values[i] = text(change_next_str(&v));
	unset(node, p->name);
	at = prop_at(node, p->name);
	p->next = *at;
	*at = p;
}

static bool is_base(struct node *node, const struct change *c)
{
	struct prop   *p = find_prop(node, c->name.p);
	const uint8_t *v = c->old.at;

	if (c->base == CHANGE_BASE_UNKNOWN)
		return true;
	if (c->base == CHANGE_BASE_ABSENT || !p)
		return (c->base == CHANGE_BASE_ABSENT) == !p;
	if (p->type != c->old.type || p->multiple != c->old.multiple || p->n != c->old.n)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		if (!bw_str_eq(bw_str(p->values[i]), change_next_str(&v)))
			return false;
	return true;
}

static void set_mixins(struct node *node, struct bw_str name, bool add)
{
	struct prop *p = find_prop(node, "jcr:mixinTypes");

	if (!p) {
		set(node, BW_STR("jcr:mixinTypes"),
		    &(struct change_value){ BW_VALUE_NAME, true, 0, NULL });
		p = find_prop(node, "jcr:mixinTypes");
	}
	for (unsigned i = 0; i < p->n; i++) {
		if (!bw_str_eq(bw_str(p->values[i]), name))
			continue;
		free(p->values[i]);
		memmove(p->values + i, p->values + i + 1, (--p->n - i) * sizeof(char *));
	}
	if (add) {
		p->values = xrealloc(p->values, (p->n + 1) * sizeof(char *));
		p->values[p->n++] = text(name);
	}
	if (p->n == 0)
		unset(node, "jcr:mixinTypes");
}

static struct node *copy_of(const struct node *from, struct bw_str name)
{
	struct node *node = new_node(name, bw_str(from->type));

	for (const struct prop *p = from->props; p; p = p->next) {
		struct prop *copy = xcalloc(1, sizeof(*copy)), **at = prop_at(node, p->name);

		*copy = *p;
		copy->name = xstrdup(p->name);
		copy->values = xcalloc(p->n + 1, sizeof(char *));
		for (unsigned i = 0; i < p->n; i++)
			copy->values[i] = xstrdup(p->values[i]);
		copy->next = *at;
		*at = copy;
	}
	for (const struct node *c = from->children; c; c = c->next)
		link_node(node, copy_of(c, bw_str(c->name)), BW_ABSENT);
	return node;
}

static int put_new(struct bw_str path, struct node *node)
{
	struct bw_str parent_path, name;
	struct node  *parent;

	split(path, &parent_path, &name);
	parent = find(parent_path);
	if (!parent || child_of(parent, name)) {
		free_node(node);
		return parent ? BW_ECONFLICT : BW_ENOTFOUND;
	}
	free(node->name);
	node->name = text(name);
	link_node(parent, node, BW_ABSENT);
	return BW_OK;
}

static int create(const struct change *c)
{
	struct node        *node = new_node(BW_STR("new"), c->name);
	const uint8_t      *mixin = c->mixins, *prop = c->props;
	struct bw_str       name;
	struct change_value value;

	for (unsigned i = 0; i < c->n_props; i++) {
		change_next_prop(&prop, &name, &value);
		set(node, name, &value);
	}
	for (unsigned i = 0; i < c->n_mixins; i++)
		set_mixins(node, change_next_str(&mixin), true);
	return put_new(c->path, node);
}

static int change_node(const struct change *c, struct node *node)
{
	if ((c->kind == CHANGE_REMOVE || c->kind == CHANGE_MOVE) && c->version != 0 &&
	    c->version != node->version)
		return BW_ECONFLICT;
	switch (c->kind) {
	case CHANGE_REMOVE:
		unlink_node(node);
		free_node(node);
		return BW_OK;
	case CHANGE_MOVE:
		unlink_node(node);
		return put_new(c->name, node);
	case CHANGE_COPY:
		return put_new(c->name, copy_of(node, BW_STR("copy")));
	case CHANGE_ORDER:
		if (c->name.n > 0 && !child_of(node->parent, c->name))
			return BW_ECONFLICT;
		unlink_node(node);
		link_node(node->parent, node, c->name.n > 0 ? c->name : BW_ABSENT);
		return BW_OK;
	case CHANGE_SET:
	case CHANGE_UNSET:
		if (!is_base(node, c))
			return BW_ECONFLICT;
		node->version++;
		if (c->kind == CHANGE_SET)
			set(node, c->name, &c->value);
		else
			unset(node, c->name.p);
		return BW_OK;
	case CHANGE_SET_TYPE:
		free(node->type);
		node->type = text(c->name);
		node->version++;
		return BW_OK;
	case CHANGE_MIXIN_ADD:
	case CHANGE_MIXIN_REMOVE:
		set_mixins(node, c->name, c->kind == CHANGE_MIXIN_ADD);
		node->version++;
		return BW_OK;
	default:
		abort();
	}
}

static int apply(const struct changes *list)
{
	struct change c;
	size_t        at = 0;
	int           err = BW_OK;

	while (err == BW_OK && changes_next(list, &at, &c)) {
		struct node *node = c.kind == CHANGE_CREATE ? NULL : find(c.path);

		if (c.kind == CHANGE_CREATE)
			err = create(&c);
		else
			err = node             ? change_node(&c, node)
			      : c.version != 0 ? BW_ECONFLICT
			                       : BW_ENOTFOUND;
	}
	return err;
}

int ask_resource_commit(struct bw_resolver *r, struct bw_str changes, struct bw_str *ret_reason)
{
	struct changes list;
	struct node   *before;
	int            err;

	*ret_reason = BW_ABSENT;
	fake_repo_commits++;
	if (r->failed != BW_OK || fake_repo_error != BW_OK)
		return r->failed != BW_OK ? r->failed : fake_repo_error;
	if (changes_get((const uint8_t *)changes.p, changes.n, &list) != BW_OK)
		abort();
	fake_repo_octets = changes.n;
	fake_repo_changes = list.n;
	before = copy_of(root, BW_STR(""));
	err = apply(&list);
	if (err != BW_OK) { /* none of them */
		free_node(root);
		root = before;
		*ret_reason = request_dup(r->req, BW_STR("the fake says so"));
	} else {
		free_node(before);
	}
	return err;
}

/* ---- the rest of the peers ---- */

int ask_handle(struct bw_resolver *r)
{
	r->handle = BW_STR("handle");
	return BW_OK;
}

int ahead_take(struct bw_resolver *r)
{
	return ask_handle(r);
}

void ask_count_left(void)
{
}

/* One namespace is known here. */
int ask_namespace(struct bw_resolver *r, struct bw_str uri, struct bw_str *ret_prefix)
{
	(void)r;
	if (!bw_str_eq(uri, BW_STR("http://www.jcp.org/jcr/1.0")))
		return BW_ENOTFOUND;
	*ret_prefix = BW_STR("jcr");
	return BW_OK;
}

void ask_handle_close(struct bw_resolver *r)
{
	r->opened = false;
}

uint32_t ask_connection(void)
{
	return 0;
}
