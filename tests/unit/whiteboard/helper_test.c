/* gateway/whiteboard/helper.c, embedded.c, mime.c, contextapi.c: what a helper decides and what holds by
 * default; the files embedded in a bundle; a context's attributes. */
#define listener_hears             fake_hears
#define listener_context_attribute fake_context_attribute
#include <gateway/whiteboard/contextapi.c>
#include <gateway/whiteboard/embedded.c>
#include <gateway/whiteboard/helper.c>

#undef OWN
#define compare compare_mime
#include <gateway/whiteboard/mime.c>
#undef compare

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

/* ---- embedded files ---- */

static const struct bw_embedded_file files[] = {
	{ "a.txt", "hello", 5, 1000 }, { "d-x", "", 0, 0 },        { "d.txt", "x", 1, 0 },
	{ "d/a.txt", "a in d", 6, 0 }, { "d/e/f.txt", "f", 1, 0 }, { "d/e/g.txt", "g", 1, 0 },
	{ "d/z.txt", "z", 1, 0 },
};
static const struct bw_embedded          embedded = { 7, files };
static const struct bw_bundle_descriptor descriptor = { .size = sizeof(descriptor),
	                                                .embedded = &embedded };
static const struct bw_bundle            bundle = { .name = "b", .descriptor = &descriptor };

Test(embedded, a_file_is_found_by_its_whole_name)
{
	static const struct {
		struct bw_str path;
		const char   *data; /* NULL: not found */
	} rows[] = {
		{ BW_STR("/a.txt"), "hello" }, { BW_STR("a.txt"), "hello" },
		{ BW_STR("/d-x"), "" },        { BW_STR("/d/e/f.txt"), "f" },
		{ BW_STR("/d/z.txt"), "z" },   { BW_STR("/d"), NULL },
		{ BW_STR("/d/"), NULL },       { BW_STR("/"), NULL },
		{ BW_STR(""), NULL },          { BW_STR("/a.tx"), NULL },
		{ BW_STR("/a.txt/"), NULL },   { BW_STR("/a.txt\0"), NULL },
		{ BW_STR("//a.txt"), NULL },   { BW_STR("/zz"), NULL },
		{ BW_STR("/A.txt"), NULL },    { BW_STR("/d/../a.txt"), NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_file f = { .fd = -1 };
		int            err = embedded_find(&bundle, rows[i].path, &f);

		cr_assert(eq(int, err, rows[i].data ? BW_OK : BW_ENOTFOUND), "%s", rows[i].path.p);
		if (rows[i].data)
			cr_assert(f.n == strlen(rows[i].data) &&
			          memcmp(f.data, rows[i].data, f.n) == 0);
	}
}

Test(embedded, a_bundle_without_a_table_has_no_files)
{
	static const struct bw_bundle_descriptor old = {
		.size = offsetof(struct bw_bundle_descriptor, embedded), .embedded = &embedded
	};
	static const struct bw_bundle_descriptor none = { .size = sizeof(none) };
	struct bw_bundle                         b = { .name = "b" };
	struct bw_file                           f;

	cr_assert(eq(int, embedded_find(NULL, BW_STR("/a.txt"), &f), BW_ENOTFOUND));
	cr_assert(eq(int, embedded_find(&b, BW_STR("/a.txt"), &f), BW_ENOTFOUND));
	b.descriptor = &old;
	cr_assert(eq(int, embedded_find(&b, BW_STR("/a.txt"), &f), BW_ENOTFOUND));
	b.descriptor = &none;
	cr_assert(eq(int, embedded_find(&b, BW_STR("/a.txt"), &f), BW_ENOTFOUND));
}

static char told[256];

static void tell(void *arg, struct bw_str path)
{
	(void)arg;
	cr_assert(eq(sz, strlen(path.p), path.n));
	strcat(told, path.p);
	strcat(told, " ");
}

Test(embedded, children_are_told_once_and_never_deeper)
{
	static const struct {
		const char *path, *told;
	} rows[] = {
		{ "/", "/a.txt /d-x /d.txt /d/ " },
		{ "", "/a.txt /d-x /d.txt /d/ " },
		{ "/d", "/d/a.txt /d/e/ /d/z.txt " },
		{ "/d/", "/d/a.txt /d/e/ /d/z.txt " },
		{ "d", "/d/a.txt /d/e/ /d/z.txt " },
		{ "/d/e", "/d/e/f.txt /d/e/g.txt " },
		{ "/a.txt", "" },
		{ "/zz", "" },
		{ "/d/e/f", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int want = *rows[i].told ? BW_OK : BW_ENOTFOUND;

		told[0] = '\0';
		cr_assert(eq(int, embedded_paths(&bundle, bw_str(rows[i].path), tell, NULL), want),
		          "%s", rows[i].path);
		cr_assert(eq(str, told, rows[i].told));
	}
}

Test(embedded, a_table_that_is_not_in_order_is_told)
{
	static const struct bw_embedded_file twice[] = { { "a", "", 0, 0 }, { "a", "", 0, 0 } };
	static const struct bw_embedded_file down[] = { { "b", "", 0, 0 }, { "a", "", 0, 0 } };
	static const struct bw_embedded_file unnamed[] = { { NULL, "", 0, 0 } };

	cr_assert(embedded_is_sorted(&embedded));
	cr_assert(embedded_is_sorted(NULL));
	cr_assert(not(embedded_is_sorted(&(struct bw_embedded){ 2, twice })));
	cr_assert(not(embedded_is_sorted(&(struct bw_embedded){ 2, down })));
	cr_assert(not(embedded_is_sorted(&(struct bw_embedded){ 1, unnamed })));
}

/* ---- media types ---- */

Test(mime, the_table_ascends)
{
	for (size_t i = 1; i < sizeof(types) / sizeof(*types); i++)
		cr_assert(lt(int, strcmp(types[i - 1].extension, types[i].extension), 0), "%s",
		          types[i].extension);
}

Test(mime, the_last_extension_decides_in_any_case)
{
	static const struct {
		struct bw_str name;
		const char   *type; /* NULL: not known */
	} rows[] = {
		{ BW_STR("/www/i.html"), "text/html" },
		{ BW_STR("a.TXT"), "text/plain" },
		{ BW_STR("a.tar.gz"), "application/gzip" },
		{ BW_STR("7z.7z"), "application/x-7z-compressed" },
		{ BW_STR("a.zip"), "application/zip" },
		{ BW_STR("a.js"), "text/javascript" },
		{ BW_STR("a.json"), "application/json" },
		{ BW_STR("noext"), NULL },
		{ BW_STR("a."), NULL },
		{ BW_STR("a.b/c"), NULL },
		{ BW_STR("html"), NULL },
		{ BW_STR("a.htmlx"), NULL },
		{ BW_STR("a.ht"), NULL },
		{ BW_STR("a.txt\0x"), NULL },
		{ BW_STR(""), NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_assert(bw_str_eq(mime_of(rows[i].name), bw_str(rows[i].type)), "%s",
		          rows[i].name.p);
}

/* ---- helpers ---- */

static int            answer;
static struct bw_file answered;

static int own_resource(void *self, struct bw_str path, struct bw_file *ret)
{
	(void)self;
	(void)path;
	*ret = answered;
	return answer;
}

static struct bw_str own_mime_type(void *self, struct bw_str name)
{
	(void)self;
	return name.n == 1 ? BW_STR("own/type") : BW_ABSENT;
}

static int own_real_path(void *self, struct bw_str path, char *buf, size_t n)
{
	(void)self;
	if (path.n >= n)
		return BW_ETOOBIG;
	memcpy(buf, path.p, path.n + 1);
	return BW_OK;
}

static int own_paths(void *self, struct bw_str path, bw_path_cb cb, void *arg)
{
	(void)self;
	cb(arg, path);
	return BW_OK;
}

static const struct bw_context_helper own_type = { .size = sizeof(own_type),
	                                           .get_mime_type = own_mime_type,
	                                           .get_resource = own_resource,
	                                           .get_real_path = own_real_path,
	                                           .get_resource_paths = own_paths };
static const struct bw_context_helper old_type = {
	.size = offsetof(struct bw_context_helper, get_mime_type),
	.get_mime_type = own_mime_type,
	.get_resource = own_resource,
	.get_real_path = own_real_path,
	.get_resource_paths = own_paths,
};

Test(helper, its_own_answers_go_first)
{
	const struct helper h = { .type = &own_type };
	struct bw_file      f = { .fd = -1 };
	char                path[8];

	answered = (struct bw_file){ .data = "own", .fd = -1, .n = 3 };
	cr_assert(bw_str_eq(helper_mime_type(&h, BW_STR("x")), BW_STR("own/type")));
	cr_assert(bw_str_eq(helper_mime_type(&h, BW_STR("x.txt")), BW_STR("text/plain")));
	cr_assert(eq(int, helper_resource(&h, &bundle, BW_STR("/a.txt"), &f), BW_OK));
	cr_assert(eq(sz, f.n, 3));
	cr_assert(eq(int, helper_real_path(&h, BW_STR("/a"), path, sizeof(path)), BW_OK));
	cr_assert(eq(str, path, "/a"));
	cr_assert(eq(int, helper_real_path(&h, BW_STR("/a"), path, 2), BW_ETOOBIG));
	told[0] = '\0';
	cr_assert(eq(int, helper_resource_paths(&h, &bundle, BW_STR("/own"), tell, NULL), BW_OK));
	cr_assert(eq(str, told, "/own "));
}

Test(helper, it_may_find_nothing_or_leave_it_to_the_default)
{
	const struct helper h = { .type = &own_type };
	struct bw_file      f = { .fd = -1 };

	answer = BW_ENOTFOUND;
	cr_assert(eq(int, helper_resource(&h, &bundle, BW_STR("/a.txt"), &f), BW_ENOTFOUND));
	answer = BW_EDENIED;
	cr_assert(eq(int, helper_resource(&h, &bundle, BW_STR("/a.txt"), &f), BW_EDENIED));
	answer = BW_DECLINED;
	answered = (struct bw_file){ .fd = -1 };
	cr_assert(eq(int, helper_resource(&h, &bundle, BW_STR("/a.txt"), &f), BW_OK));
	cr_assert(eq(sz, f.n, 5));
	answer = BW_OK; /* and no content for the length that it tells */
	answered = (struct bw_file){ .fd = -1, .n = 1 };
	cr_assert(eq(int, helper_resource(&h, &bundle, BW_STR("/a.txt"), &f), BW_EIO));
}

Test(helper, one_that_is_older_or_none_has_the_defaults)
{
	const struct helper helpers[] = { { .type = &old_type }, { .type = NULL } };

	for (size_t i = 0; i < 2; i++) {
		const struct helper *h = &helpers[i];
		struct bw_file       f = { .fd = -1 };
		char                 path[8];

		answer = BW_EIO; /* not asked */
		cr_assert(bw_str_eq(helper_mime_type(h, BW_STR("x")), BW_ABSENT));
		cr_assert(eq(int, helper_resource(h, &bundle, BW_STR("/a.txt"), &f), BW_OK));
		cr_assert(eq(i64, f.modified_ms, 1000));
		cr_assert(eq(int, helper_real_path(h, BW_STR("/a"), path, sizeof(path)),
		             BW_ENOTFOUND));
		told[0] = '\0';
		cr_assert(eq(int, helper_resource_paths(h, &bundle, BW_STR("/d/e"), tell, NULL),
		             BW_OK));
		cr_assert(eq(str, told, "/d/e/f.txt /d/e/g.txt "));
	}
}

/* ---- attributes ---- */

static char changes[256];
static bool heard = true;

bool fake_hears(const struct bw_context *c, unsigned what)
{
	(void)c;
	return heard && what == LISTENS_CONTEXT_ATTRIBUTE;
}

void fake_context_attribute(struct bw_context *c, const char *name, const struct bw_value *old,
                            const struct bw_value *new)
{
	char text[64];

	/* What is set in here has to leave old and new alone. */
	if (strcmp(name, "k") == 0) {
		struct bw_value v = BW_V_LONG(0);

		context_set_attr(c, "other", &v);
		context_set_attr(c, "other", NULL);
	}
	snprintf(text, sizeof(text), "%s %d %d; ", name, old ? (int)old->u.i64 : -1,
	         new ? (int)new->u.i64 : -1);
	strcat(changes, text);
}

Test(attributes, each_change_is_told_with_what_was_and_what_is)
{
	struct bw_context c = { .refs = 1 };
	struct bw_value   one = BW_V_LONG(1), two = BW_V_LONG(2);

	cr_assert(eq(int, context_set_attr(&c, "x", &one), BW_OK));
	cr_assert(eq(int, context_set_attr(&c, "x", &two), BW_OK));
	cr_assert(eq(int, context_set_attr(&c, "x", NULL), BW_OK));
	cr_assert(eq(int, context_set_attr(&c, "x", NULL), BW_OK)); /* no change */
	cr_assert(eq(str, changes, "x -1 1; x 1 2; x 2 -1; "));
	changes[0] = '\0';
	cr_assert(eq(int, context_set_attr(&c, "k", &one), BW_OK));
	cr_assert(eq(str, changes, "other -1 0; other 0 -1; k -1 1; "));
	heard = false;
	cr_assert(eq(int, context_set_attr(&c, "k", &two), BW_OK));
	cr_assert(eq(str, changes, "other -1 0; other 0 -1; k -1 1; "));
	cr_assert(bw_str_eq(context_attr_name(&c, 0), BW_STR("k")));
	cr_assert(bw_str_eq(context_attr_name(&c, 1), BW_ABSENT));
	attrs_done(&c.attrs);
}

Test(attributes, a_value_is_copied_out_if_there_is_room)
{
	struct bw_context   c = { .refs = 1 };
	const struct bw_str items[] = { BW_STR("ab"), BW_STR("c") };
	struct bw_value     list = BW_V_STRINGS(items, 2), v = { .type = 0 };
	_Alignas(16) char   buf[64];
	size_t              need = 0;

	cr_assert(eq(int, context_set_attr(&c, "x", &list), BW_OK));
	cr_assert(eq(int, context_attr(&c, "x", NULL, 0, &v, &need), BW_ETOOBIG));
	cr_assert(eq(sz, need, 2 * sizeof(struct bw_str) + 5));
	cr_assert(eq(int, (int)v.type, 0));
	cr_assert(eq(int, context_attr(&c, "x", buf, need - 1, &v, &need), BW_ETOOBIG));
	cr_assert(eq(int, context_attr(&c, "x", buf, need, &v, NULL), BW_OK));
	context_set_attr(&c, "x", NULL);
	cr_assert(bw_str_eq(v.u.strings[0], items[0]));
	cr_assert(bw_str_eq(v.u.strings[1], items[1]));
	cr_assert(eq(int, context_attr(&c, "x", buf, sizeof(buf), &v, NULL), BW_ENOTFOUND));
	attrs_done(&c.attrs);
}

Test(attributes, what_is_no_attribute_is_refused_and_changes_nothing)
{
	struct bw_context c = { .refs = 1 };
	struct bw_value   bad = { .type = BW_VALUE_STRING }, one = BW_V_LONG(1), v;

	cr_assert(eq(int, context_set_attr(&c, NULL, &one), BW_EINVAL));
	cr_assert(eq(int, context_set_attr(&c, "x", &bad), BW_EINVAL));
	cr_assert(eq(int, context_attr(&c, NULL, NULL, 0, &v, NULL), BW_EINVAL));
	cr_assert(eq(ptr, c.attrs.first, NULL));
}
