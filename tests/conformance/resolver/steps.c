/* steps.c - see steps.h. */
#include "steps.h"
#include "steps_access.h"
#include <boardwalk/blob.h>
#include <stdlib.h>

#define MAX_RESOLVERS 8
#define MAX_WORDS     40
#define SAID          32768u

struct state {
	struct bw_req      *req;
	struct bw_bundle   *bundle;
	const char         *root;
	struct bw_resolver *resolvers[MAX_RESOLVERS]; /* A, B .. */
	struct bw_resolver *r;                        /* of this step */
	struct bw_resource *kept;
	char               *out;
	size_t              n, size;
	bool                leaves; /* clones stay open */
	char               *said;   /* by this step */
	size_t              n_said;
};

/* ---- saying ---- */

__attribute__((format(printf, 2, 3))) static void say(struct state *st, const char *format, ...)
{
	size_t  left = SAID - st->n_said;
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(st->said + st->n_said, left, format, args);
	va_end(args);
	st->n_said += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

static const char *error_name(int err)
{
	static const struct {
		int         err;
		const char *name;
	} names[] = {
#define X(constant, value, name, status, text) { value, name },
		BW_ERRORS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return names[i].name + strlen("bw.error.");
	return "?";
}

static void say_error(struct state *st, int err)
{
	if (err != BW_OK)
		say(st, "%s%s", st->n_said ? " " : "", error_name(err));
}

static void say_bool(struct state *st, bool yes)
{
	say(st, "%s", yes ? "yes" : "no");
}

/* ---- paths and values ---- */

static struct bw_str path_of(struct state *st, const char *word)
{
	size_t n = strlen(st->root) + strlen(word) + 1;
	char  *path = bw_req_alloc(st->req, n);

	if (word[0] == '/' && word[1] == '/')
		return bw_str(word + 1);
	snprintf(path, n, "%s%s", st->root, strcmp(word, "/") == 0 ? "" : word);
	return bw_str(path);
}

static const char *below_root(struct state *st, struct bw_str path)
{
	size_t n = strlen(st->root);

	if (!path.p)
		return "-";
	if (path.n < n || memcmp(path.p, st->root, n) != 0)
		return path.p;
	return path.n == n ? "/" : path.p + n;
}

static const struct {
	const char        *tag;
	enum bw_value_type type;
} tags[] = {
	{ "s", BW_VALUE_STRING },      { "l", BW_VALUE_LONG },
	{ "d", BW_VALUE_DOUBLE },      { "b", BW_VALUE_BOOLEAN },
	{ "dec", BW_VALUE_DECIMAL },   { "date", BW_VALUE_DATE },
	{ "name", BW_VALUE_NAME },     { "path", BW_VALUE_PATH },
	{ "ref", BW_VALUE_REFERENCE }, { "weak", BW_VALUE_WEAKREFERENCE },
	{ "uri", BW_VALUE_URI },       { "bin", BW_VALUE_BINARY },
};
#define N_TAGS (sizeof(tags) / sizeof(tags[0]))

static const char *tag_of(enum bw_value_type type)
{
	for (size_t i = 0; i < N_TAGS; i++)
		if (tags[i].type == type)
			return tags[i].tag;
	return "?";
}

/* Cuts the tag off; STRING without one. */
static enum bw_value_type take_tag(char **text)
{
	for (size_t i = 0; i < N_TAGS; i++) {
		size_t n = strlen(tags[i].tag);

		if (strncmp(*text, tags[i].tag, n) != 0)
			continue;
		if ((*text)[n] == ':')
			*text += n + 1;
		else if ((*text)[n] == '[')
			*text += n;
		else
			continue;
		return tags[i].type;
	}
	return BW_VALUE_STRING;
}

static struct bw_value list_of(struct state *st, enum bw_value_type type, char *text)
{
	struct bw_value v = { .type = type, .is_list = true };
	struct bw_str  *strings = bw_req_alloc(st->req, 64 * sizeof(*strings));
	int64_t        *longs = bw_req_alloc(st->req, 64 * sizeof(*longs));
	char           *item;

	text[strcspn(text, "]")] = '\0';
	for (char *rest = *text ? text : NULL; v.n < 64 && (item = strsep(&rest, ",")); v.n++) {
		strings[v.n] = bw_str(item);
		longs[v.n] = strtoll(item, NULL, 10);
	}
	if (type == BW_VALUE_LONG)
		v.u.i64s = longs;
	else
		v.u.strings = strings;
	return v;
}

/* Nothing, which can be no property's value, if it could not be written. */
static struct bw_value binary_of(struct state *st, const char *text)
{
	struct bw_value        value = { .type = 0 };
	struct bw_blob_writer *w;

	if (bw_blob_create(st->r, &w) == BW_OK && bw_blob_write(w, text, strlen(text)) == BW_OK)
		(void)bw_blob_finish(w, &value);
	return value;
}

static struct bw_value value_of(struct state *st, char *text)
{
	enum bw_value_type type = take_tag(&text);

	if (text[0] == '[')
		return list_of(st, type, text + 1);
	switch (type) {
	case BW_VALUE_BINARY:
		return binary_of(st, text);
	case BW_VALUE_LONG:
		return BW_V_LONG(strtoll(text, NULL, 10));
	case BW_VALUE_DOUBLE:
		return BW_V_DOUBLE(strtod(text, NULL));
	case BW_VALUE_BOOLEAN:
		return BW_V_BOOLEAN(strcmp(text, "true") == 0);
	default:
		return BW_V_TEXT(type, bw_str(text));
	}
}

static void say_values(struct state *st, const struct bw_values *v)
{
	if (v->type != BW_VALUE_STRING)
		say(st, "%s%s", tag_of(v->type), v->is_list ? "" : ":");
	if (v->is_list)
		say(st, "[");
	for (size_t i = 0; i < v->n; i++)
		say(st, "%s%s", i > 0 ? "," : "", v->items[i].p);
	if (v->is_list)
		say(st, "]");
}

/* ---- reading ---- */

static int say_property_as(struct state *st, struct bw_resource *res, const char *name,
                           const char *as)
{
	int64_t i;
	double  d;
	bool    b;
	int     err = BW_EINVAL;

	if (strcmp(as, "long") == 0 && (err = bw_resource_long(res, name, &i)) == BW_OK)
		say(st, "%lld", (long long)i);
	else if (strcmp(as, "double") == 0 && (err = bw_resource_double(res, name, &d)) == BW_OK)
		say(st, "%g", d);
	else if (strcmp(as, "boolean") == 0 && (err = bw_resource_boolean(res, name, &b)) == BW_OK)
		say(st, "%s", b ? "true" : "false");
	else if (strcmp(as, "date") == 0 && (err = bw_resource_date(res, name, &i)) == BW_OK)
		say(st, "%lld", (long long)i);
	return err;
}

static int say_property(struct state *st, struct bw_resource *res, const char *name, const char *as)
{
	struct bw_values values;
	struct bw_str    first;
	int              err;

	if (as)
		return say_property_as(st, res, name, as);
	err = bw_resource_values(res, name, &values);
	if (err != BW_OK)
		return err;
	say_values(st, &values);
	/* The same by the older call. */
	if (values.n > 0 && (bw_resource_property(res, name, 0, NULL, &first) != BW_OK ||
	                     !bw_str_eq(first, values.items[0])))
		say(st, " but not alone");
	return BW_OK;
}

static int say_names(struct state *st, struct bw_resource *res)
{
	const struct bw_str *names;
	size_t               n;
	int                  err = bw_resource_property_names(res, &names, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++)
		say(st, "%s%s", i > 0 ? " " : "", names[i].p);
	return err;
}

static int say_field(struct state *st, struct bw_resource *res, const char *which)
{
	static const struct {
		const char            *name;
		enum bw_resource_field field;
	} fields[] = {
		{ "path", BW_RESOURCE_PATH },
		{ "name", BW_RESOURCE_NAME },
		{ "type", BW_RESOURCE_TYPE },
		{ "super", BW_RESOURCE_SUPER_TYPE },
		{ "primary", BW_RESOURCE_PRIMARY_TYPE },
	};
	struct bw_str value = BW_ABSENT;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(which, fields[i].name) == 0)
			value = bw_resource_get(res, fields[i].field);
	say(st, "%s", strcmp(which, "path") == 0 ? below_root(st, value) : value.p ? value.p : "-");
	return BW_OK;
}

static int say_is(struct state *st, struct bw_resource *res, const char *type)
{
	bool is;
	int  err = bw_resource_is_type(res, bw_str(type), &is);

	if (err == BW_OK)
		say_bool(st, is);
	return err;
}

/* tell is called for each child, in order, page by page. */
static int each_child(struct state *st, struct bw_str path, size_t page,
                      int (*tell)(struct state *st, struct bw_resource *child))
{
	struct bw_resource **children;
	struct bw_str        after = BW_ABSENT;
	size_t               n;
	bool                 more;
	int                  err;

	do {
		err = bw_resolver_children(st->r, path, after, page, &children, &n, &more);
		for (size_t i = 0; err == BW_OK && i < n; i++)
			err = tell(st, children[i]);
		if (err == BW_OK && n > 0)
			after = bw_resource_get(children[n - 1], BW_RESOURCE_NAME);
		if (err == BW_OK && more && n == 0)
			say(st, "more of nothing");
	} while (err == BW_OK && more && n > 0);
	return err;
}

static int say_child(struct state *st, struct bw_resource *child)
{
	say(st, "%s%s", st->n_said > 0 ? " " : "", bw_resource_get(child, BW_RESOURCE_NAME).p);
	return BW_OK;
}

/* The test's trees are a few levels deep. */
static int say_tree(struct state *st, struct bw_resource *res)
{
	const struct bw_str *names;
	struct bw_values     values;
	size_t               n;
	int                  err = bw_resource_property_names(res, &names, &n);

	if (err != BW_OK)
		return err;
	say(st, "%s%s(", st->n_said > 0 && st->said[st->n_said - 1] != '(' ? " " : "",
	    bw_resource_get(res, BW_RESOURCE_NAME).p);
	for (size_t i = 0; i < n; i++) {
		if (strncmp(names[i].p, "jcr:created", 11) == 0)
			continue;
		say(st, "%s%s=", st->said[st->n_said - 1] != '(' ? " " : "", names[i].p);
		err = bw_resource_values(res, names[i].p, &values);
		if (err != BW_OK)
			return err;
		say_values(st, &values);
	}
	err = each_child(st, bw_resource_get(res, BW_RESOURCE_PATH), 2, say_tree);
	say(st, ")");
	return err;
}

/* ---- steps with a resource ---- */

static int on_resource(struct state *st, char **w, size_t n)
{
	struct bw_resource *res;
	int                 err = bw_resolver_get(st->r, path_of(st, w[1]), &res);

	if (err != BW_OK)
		return err;
	if (strcmp(w[0], "p") == 0 && n > 2)
		return say_property(st, res, w[2], n > 4 ? w[4] : NULL);
	if (strcmp(w[0], "names") == 0)
		return say_names(st, res);
	if (strcmp(w[0], "field") == 0 && n > 2)
		return say_field(st, res, w[2]);
	if (strcmp(w[0], "is") == 0 && n > 2)
		return say_is(st, res, w[2]);
	if (strcmp(w[0], "tree") == 0)
		return say_tree(st, res);
	if (strcmp(w[0], "keep") == 0)
		st->kept = res;
	else
		say(st, "there");
	return BW_OK;
}

/* ---- steps that change ---- */

/* Of an expanded name the row says what it becomes. */
static bool is_another(struct bw_resource *res, struct bw_str name)
{
	return name.p[0] != '{' && !bw_str_eq(bw_resource_get(res, BW_RESOURCE_NAME), name);
}

static int create(struct state *st, char **w, size_t n)
{
	struct bw_property *props = bw_req_alloc(st->req, MAX_WORDS * sizeof(*props));
	struct bw_resource *res;
	size_t              n_props = 0;
	int                 err;

	for (size_t i = 3; i < n; i++) {
		char *value = w[i], *name = strsep(&value, "=");

		if (!value)
			return BW_EINVAL;
		props[n_props].name = bw_str(name);
		props[n_props++].value = value_of(st, value);
	}
	err = bw_resolver_create(st->r, path_of(st, w[1]),
	                         strcmp(w[2], "''") == 0 ? BW_STR("") : bw_str(w[2]), props,
	                         n_props, &res);
	if (err == BW_OK && is_another(res, bw_str(w[2])))
		say(st, "as another one");
	return err;
}

static int set(struct state *st, char **w)
{
	char           *text = w[2], *name = strsep(&text, "=");
	struct bw_value value;

	if (!text)
		return BW_EINVAL;
	value = value_of(st, text);
	return bw_resolver_set(st->r, path_of(st, w[1]), name, &value);
}

static int order(struct state *st, char **w, size_t n)
{
	bool moved;
	int  err = bw_resolver_order_before(st->r, path_of(st, w[1]), bw_str(w[2]),
                                           n > 4 ? bw_str(w[4]) : BW_ABSENT, &moved);

	if (err == BW_OK)
		say(st, "%s", moved ? "moved" : "in place");
	return err;
}

static int move_or_copy(struct state *st, char **w, size_t n)
{
	struct bw_str       name = n > 3 ? bw_str(w[3]) : BW_ABSENT;
	struct bw_resource *res;
	struct bw_str       from = path_of(st, w[1]), to = path_of(st, w[2]);
	int                 err;

	err = w[0][0] == 'm' ? bw_resolver_move(st->r, from, to, name, &res)
	                     : bw_resolver_copy(st->r, from, to, name, &res);
	if (err == BW_OK && name.p && is_another(res, name))
		say(st, "as another one");
	return err;
}

static int delete_child(struct state *st, struct bw_resource *child)
{
	return bw_resolver_delete(st->r, bw_resource_get(child, BW_RESOURCE_PATH));
}

static int change(struct state *st, char **w, size_t n, bool *ret_known)
{
	struct bw_str path = path_of(st, w[1]);

	*ret_known = true;
	if (strcmp(w[0], "delete") == 0)
		return bw_resolver_delete(st->r, path);
	if (strcmp(w[0], "clean") == 0)
		return each_child(st, path, 256, delete_child);
	if (strcmp(w[0], "create") == 0 && n > 2)
		return create(st, w, n);
	if ((strcmp(w[0], "move") == 0 || strcmp(w[0], "copy") == 0) && n > 2)
		return move_or_copy(st, w, n);
	if (strcmp(w[0], "order") == 0 && n > 3)
		return order(st, w, n);
	if (strcmp(w[0], "set") == 0 && n > 2)
		return set(st, w);
	if (strcmp(w[0], "unset") == 0 && n > 2)
		return bw_resolver_unset(st->r, path, w[2]);
	if (strcmp(w[0], "type") == 0 && n > 2)
		return bw_resolver_set_type(st->r, path, bw_str(w[2]));
	if (strcmp(w[0], "mixin") == 0 && n > 2)
		return w[2][0] == '+' ? bw_resolver_add_mixin(st->r, path, bw_str(w[2] + 1))
		                      : bw_resolver_remove_mixin(st->r, path, bw_str(w[2] + 1));
	*ret_known = false;
	return BW_OK;
}

/* ---- steps about versions ---- */

static void say_texts(struct state *st, const char *before, const struct bw_str *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		say(st, "%s%s", i > 0 ? "," : before, texts[i].p);
}

static int say_versions(struct state *st, struct bw_str path, size_t page)
{
	const struct bw_version *v;
	struct bw_str            after = BW_ABSENT;
	size_t                   n;
	bool                     more;
	int                      err;

	do {
		err = bw_resolver_versions(st->r, path, after, page, &v, &n, &more);
		for (size_t i = 0; err == BW_OK && i < n; i++) {
			say(st, "%s%s%s", st->n_said > 0 ? " " : "", v[i].name.p,
			    v[i].is_base ? "*" : "");
			say_texts(st, "<", v[i].predecessors, v[i].n_predecessors);
			say_texts(st, ">", v[i].successors, v[i].n_successors);
			say_texts(st, "=", v[i].labels, v[i].n_labels);
			after = v[i].name;
		}
	} while (err == BW_OK && more && n > 0);
	return err;
}

/* NAME or NAME/PART. */
static int version_of(struct state *st, struct bw_str path, char *name, struct bw_resource **ret)
{
	char *part = name;

	strsep(&part, "/");
	return part ? bw_resolver_version_below(st->r, path, bw_str(name), bw_str(part), ret)
	            : bw_resolver_version(st->r, path, bw_str(name), ret);
}

static int say_version(struct state *st, struct bw_str path, char **w, size_t n)
{
	struct bw_resource *res;
	int                 err = version_of(st, path, w[2], &res);

	if (err != BW_OK)
		return err;
	return n > 3 ? say_property(st, res, w[3], NULL) : say_names(st, res);
}

/* The version that a Reference of the resource means: its name is not told, so a property of it. */
static int say_referred(struct state *st, struct bw_str path, char **w)
{
	struct bw_resource *res;
	struct bw_str       version;
	int                 err = bw_resolver_get(st->r, path, &res);

	if (err == BW_OK)
		err = bw_resource_string(res, w[2], &version);
	if (err == BW_OK)
		err = bw_resolver_version(st->r, path, version, &res);
	return err == BW_OK ? say_property(st, res, w[3], NULL) : err;
}

static int say_octets(struct state *st, struct bw_str path, char **w, size_t n)
{
	struct bw_blob_reader *in;
	struct bw_resource    *res;
	char                   piece[256];
	size_t                 got = 0;
	int err = n > 3 ? version_of(st, path, w[3], &res) : bw_resolver_get(st->r, path, &res);

	if (err == BW_OK)
		err = bw_blob_open(res, w[2], 0, &in);
	if (err == BW_OK)
		err = bw_blob_read(in, 0, piece, sizeof(piece), &got);
	if (err == BW_OK)
		say(st, "%.*s", (int)got, piece);
	return err;
}

static int about_versions(struct state *st, char **w, size_t n, bool *ret_known)
{
	struct bw_str path = path_of(st, w[1]);
	bool          is;
	int           err;

	*ret_known = true;
	if (strcmp(w[0], "checkin") == 0)
		return bw_resolver_checkin(st->r, path);
	if (strcmp(w[0], "checkout") == 0)
		return bw_resolver_checkout(st->r, path);
	if (strcmp(w[0], "restore") == 0 && n > 2)
		return bw_resolver_restore(st->r, path, bw_str(w[2]), n > 3);
	if (strcmp(w[0], "label") == 0 && n > 3)
		return bw_resolver_add_label(st->r, path, bw_str(w[2]), bw_str(w[3]), n > 4);
	if (strcmp(w[0], "unlabel") == 0 && n > 2)
		return bw_resolver_remove_label(st->r, path, bw_str(w[2]));
	if (strcmp(w[0], "versions") == 0)
		return say_versions(st, path, n > 2 ? strtoul(w[2], NULL, 10) : 64);
	if (strcmp(w[0], "version") == 0 && n > 2)
		return say_version(st, path, w, n);
	if (strcmp(w[0], "referred") == 0 && n > 3)
		return say_referred(st, path, w);
	if (strcmp(w[0], "octets") == 0 && n > 2)
		return say_octets(st, path, w, n);
	if (strcmp(w[0], "unversion") == 0 && n > 2)
		return bw_resolver_remove_version(st->r, path, bw_str(w[2]));
	if (strcmp(w[0], "out") == 0) {
		err = bw_resolver_is_checked_out(st->r, path, &is);
		if (err == BW_OK)
			say_bool(st, is);
		return err;
	}
	*ret_known = false;
	return BW_OK;
}

/* ---- steps with a resolver ---- */

static int clone(struct state *st, char **w, size_t n)
{
	struct bw_pair  pairs[MAX_WORDS];
	struct bw_login login = { .size = sizeof(login), .attributes = pairs };

	for (size_t i = 2; i < n; i++) {
		char *value = w[i], *name;

		if (strchr(w[i], '=')) {
			name = strsep(&value, "=");
			pairs[login.n_attributes++] =
				(struct bw_pair){ bw_str(name), bw_str(value) };
		} else {
			name = strsep(&value, ":");
			login.user = bw_str(name);
			login.password = bw_str(value);
		}
	}
	return bw_resolver_clone(st->r, n > 2 ? &login : NULL, &st->resolvers[w[1][0] - 'A']);
}

static void say_attributes(struct state *st)
{
	struct bw_str name;

	for (size_t i = 0; (name = bw_resolver_attribute_name(st->r, i)).p; i++)
		say(st, "%s%s=%s", i > 0 ? " " : "", name.p,
		    bw_resolver_attribute(st->r, name.p).p);
}

static void say_why(struct state *st)
{
	struct bw_str path = BW_ABSENT;

	(void)bw_resolver_error(st->r, &path);
	say(st, "%s", below_root(st, path));
}

static int on_resolver(struct state *st, char **w, size_t n)
{
	const char *word = w[0];

	if (strcmp(word, "commit") == 0)
		return bw_resolver_commit(st->r);
	if (strcmp(word, "refresh") == 0)
		return bw_resolver_refresh(st->r);
	if (strcmp(word, "revert") == 0)
		return bw_resolver_revert(st->r);
	if (strcmp(word, "close") == 0)
		return bw_resolver_close(st->r);
	if (strcmp(word, "clone") == 0 && n > 1)
		return clone(st, w, n);
	if (strcmp(word, "request") == 0 && n > 1)
		return bw_req_resolver(st->req, &st->resolvers[w[1][0] - 'A']);
	if (strcmp(word, "service") == 0 && n > 2)
		return bw_service_resolver(st->req, st->bundle, w[2],
		                           &st->resolvers[w[1][0] - 'A']);
	if (strcmp(word, "changes") == 0)
		say_bool(st, bw_resolver_has_changes(st->r));
	else if (strcmp(word, "live") == 0)
		say_bool(st, bw_resolver_is_live(st->r));
	else if (strcmp(word, "leave") == 0)
		st->leaves = true;
	else if (strcmp(word, "why") == 0)
		say_why(st);
	else if (strcmp(word, "reason") == 0)
		say_bool(st, bw_resolver_error(st->r, NULL).p != NULL);
	else if (strcmp(word, "text") == 0)
		say(st, "%s",
		    bw_resolver_error(st->r, NULL).p ? bw_resolver_error(st->r, NULL).p : "-");
	else if (strcmp(word, "user") == 0)
		say(st, "%s", bw_resolver_user(st->r).p);
	else if (strcmp(word, "attrs") == 0)
		say_attributes(st);
	else if (strcmp(word, "attr") == 0 && n > 1)
		say(st, "%s",
		    bw_resolver_attribute(st->r, w[1]).p ? bw_resolver_attribute(st->r, w[1]).p
		                                         : "-");
	else if (strcmp(word, "kept") == 0 && n > 1 && st->kept)
		return say_property(st, st->kept, w[1], NULL);
	else
		say(st, "what is \"%s\"?", word);
	return BW_OK;
}

/* ---- lines ---- */

static int children(struct state *st, char **w, size_t n)
{
	int err =
		each_child(st, path_of(st, w[1]), n > 2 ? strtoul(w[2], NULL, 10) : 256, say_child);

	if (err == BW_OK && st->n_said == 0)
		say(st, "-");
	return err;
}

/* The resolver that the step is for. The first one is opened when it is asked for. */
static int choose(struct state *st, char **text)
{
	size_t which = 0;

	if ((*text)[0] >= 'A' && (*text)[0] < 'A' + MAX_RESOLVERS && (*text)[1] == ':') {
		which = (size_t)((*text)[0] - 'A');
		*text += 3;
	}
	if (which == 0 && !st->resolvers[0]) {
		int err = bw_service_resolver(st->req, st->bundle, NULL, &st->resolvers[0]);

		if (err != BW_OK)
			return err;
	}
	st->r = st->resolvers[which];
	return st->r ? BW_OK : BW_ENOTFOUND;
}

static int one_step(struct state *st, char *text)
{
	char  *w[MAX_WORDS], *rest;
	size_t n = 0;
	bool   known = true;
	int    err;

	if (strcmp(text, "reopen") == 0) { /* A is closed: another one in its place */
		st->resolvers[0] = NULL;
		*text = '\0';
	}
	err = choose(st, &text);
	rest = text;
	while (n < MAX_WORDS && (w[n] = strsep(&rest, " ")) != NULL)
		n++;
	if (err != BW_OK || *w[0] == '\0')
		return err;
	if (n > 1 && strcmp(w[0], "children") == 0)
		return children(st, w, n);
	if (n > 1 && strchr("/", w[1][0])) {
		err = change(st, w, n, &known);
		if (!known)
			err = about_versions(st, w, n, &known);
		if (!known)
			err = steps_access(st->r, path_of(st, w[1]), w, n, st->said, SAID, &known);
		if (known)
			st->n_said = strlen(st->said);
		else
			err = on_resource(st, w, n);
		return err;
	}
	return on_resolver(st, w, n);
}

/* many N STEP */
static int many_steps(struct state *st, char *text)
{
	unsigned long times = strtoul(text, &text, 10);
	int           err = BW_OK;

	for (unsigned long i = 0; i < times && err == BW_OK; i++) {
		char   step[512];
		size_t n = 0;

		for (const char *c = text + 1; *c && n < sizeof(step) - 24; c++) {
			if (*c == '#')
				n += (size_t)snprintf(step + n, 24, "%lu", i);
			else
				step[n++] = *c;
		}
		step[n] = '\0';
		err = one_step(st, step);
	}
	return err;
}

/* Who clones closes; the request's own is not theirs. */
static void close_all(struct state *st)
{
	for (size_t i = 0; !st->leaves && i < MAX_RESOLVERS; i++)
		if (st->resolvers[i])
			(void)bw_resolver_close(st->resolvers[i]);
}

int steps_run(struct bw_req *req, struct bw_bundle *bundle, const char *root, char *text, char *out,
              size_t size)
{
	struct state st = { .req = req, .bundle = bundle, .root = root, .out = out, .size = size };
	int          err;

	st.said = bw_req_alloc(req, SAID);

	out[0] = '\0';
	for (char *step = text, *end; step; step = end ? end + 3 : NULL) {
		end = strstr(step, " ; ");
		if (end)
			*end = '\0';
		st.n_said = 0;
		st.said[0] = '\0';
		err = strncmp(step, "many ", 5) == 0 ? many_steps(&st, step + 5)
		                                     : one_step(&st, step);
		say_error(&st, err);
		if (st.n_said > 0)
			st.n += (size_t)snprintf(out + st.n, size - st.n, "%s%s",
			                         st.n > 0 ? " ; " : "", st.said);
		if (st.n >= size)
			return BW_ETOOBIG;
	}
	close_all(&st);
	return BW_OK;
}
