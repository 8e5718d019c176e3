/* lib/wire/changes.c: what is built is read back, kind by kind; every truncation and every octet too
 * many is refused, and so is what no builder would write. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <wire/changes.h>

static struct buf out;

static const struct change_text one = { BW_VALUE_LONG, false, 1, (struct bw_str[]){ { "7", 1 } } };
static const struct change_text none = { BW_VALUE_STRING, true, 0, NULL };
static const struct change_text two = { BW_VALUE_URI, true, 2,
	                                (struct bw_str[]){ { "a", 1 }, { "b\0c", 3 } } };

static const struct change_text privileges = {
	BW_VALUE_STRING, true, 2, (struct bw_str[]){ { "jcr:read", 8 }, { "jcr:write", 9 } }
};

/* One change of each kind; returns where the list begins in out. */
static size_t build(void)
{
	size_t list, at;

	buf_init(&out);
	buf_append(&out, "xyz", 3); /* a list need not begin at the start of the buffer */
	list = changes_begin(&out);

	at = change_begin(&out, CHANGE_CREATE, 5, BW_STR("/a/new"), BW_STR("nt:unstructured"));
	change_put_mixin(&out, at, BW_STR("mix:title"));
	change_put_mixin(&out, at, BW_STR("mix:created"));
	change_put_prop(&out, at, BW_STR("empty"), &none);
	change_put_prop(&out, at, BW_STR("n"), &one);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_CREATE, 0, BW_STR("/a/new/b"), BW_ABSENT);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_REMOVE, 9, BW_STR("/r"), BW_ABSENT);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_MOVE, 10, BW_STR("/m"), BW_STR("/to/m2"));
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_COPY, 11, BW_STR("/c"), BW_STR("/to/c"));
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_ORDER, 12, BW_STR("/a/b"), BW_ABSENT);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_SET, 13, BW_STR("/s"), BW_STR("p"));
	change_put_base(&out, CHANGE_BASE_VALUE, &one);
	change_put_value(&out, &two);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_UNSET, UINT64_MAX, BW_STR("/s"), BW_STR("q"));
	change_put_base(&out, CHANGE_BASE_ABSENT, NULL);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_SET_TYPE, 14, BW_STR("/t"), BW_STR("sling:Folder"));
	change_put_type(&out, BW_STR("nt:folder"));
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_MIXIN_ADD, 15, BW_STR("/t"), BW_STR("mix:title"));
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_MIXIN_REMOVE, 16, BW_STR("/t"), BW_STR("mix:language"));
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_ACE_ADD, 17, BW_STR("/l"), BW_STR("alice"));
	change_put_entry(&out, true, &privileges);
	change_put_prop(&out, at, BW_STR("rep:glob"), &none);
	change_put_prop(&out, at, BW_STR("rep:ntNames"), &privileges);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_ACE_REMOVE, 0, BW_STR("/l"), BW_STR("bob"));
	change_put_entry(&out, false, &privileges);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_ACL_CLEAR, 18, BW_STR("/l"), BW_ABSENT);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_CHECKIN, 19, BW_STR("/v"), BW_ABSENT);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_CHECKOUT, 20, BW_STR("/v"), BW_ABSENT);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_RESTORE, 21, BW_STR("/v"), BW_STR("1.0"));
	change_put_removing(&out, true);
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_LABEL_ADD, 22, BW_STR("/v"), BW_STR("good"));
	change_put_removing(&out, false);
	change_put_type(&out, BW_STR("1.1"));
	change_end(&out, list, at);
	at = change_begin(&out, CHANGE_LABEL_REMOVE, 23, BW_STR("/v"), BW_STR("bad"));
	change_end(&out, list, at);
	cr_assert(eq(sz, changes_end(&out, list), buf_size(&out) - list));
	return list;
}

static void assert_str(struct bw_str s, const char *expected)
{
	cr_assert(bw_str_eq(s, bw_str(expected)), "%.*s is not %s", (int)s.n, s.p, expected);
	cr_assert(s.p[s.n] == '\0', "no NUL behind %s", expected);
}

static void next(const struct changes *list, size_t *at, enum change_kind kind, uint64_t version,
                 const char *path, const char *name, struct change *ret)
{
	cr_assert(changes_next(list, at, ret));
	cr_assert(eq(int, ret->kind, kind));
	cr_assert(eq(u64, ret->version, version));
	assert_str(ret->path, path);
	assert_str(ret->name, name);
}

static void check_created(const struct change *c)
{
	const uint8_t      *p = c->mixins;
	struct change_value v;
	struct bw_str       name;

	cr_assert(c->n_mixins == 2 && c->n_props == 2);
	assert_str(change_next_str(&p), "mix:title");
	assert_str(change_next_str(&p), "mix:created");
	p = c->props;
	change_next_prop(&p, &name, &v);
	assert_str(name, "empty");
	cr_assert(v.type == BW_VALUE_STRING && v.multiple && v.n == 0);
	change_next_prop(&p, &name, &v);
	assert_str(name, "n");
	cr_assert(v.type == BW_VALUE_LONG && !v.multiple && v.n == 1);
	assert_str(change_next_str(&v.at), "7");
}

static void check_entry(const struct change *c)
{
	const uint8_t      *p = c->props;
	struct change_value v = c->value;
	struct bw_str       name;

	cr_assert(c->allow && c->n_props == 2 && v.n == 2);
	assert_str(change_next_str(&v.at), "jcr:read");
	assert_str(change_next_str(&v.at), "jcr:write");
	change_next_prop(&p, &name, &v);
	assert_str(name, "rep:glob");
	cr_assert(eq(uint, v.n, 0));
	change_next_prop(&p, &name, &v);
	assert_str(name, "rep:ntNames");
	cr_assert(eq(uint, v.n, 2));
}

Test(changes, what_is_built_is_read_back)
{
	size_t         begin = build(), at = 0;
	struct changes list;
	struct change  c;

	cr_assert(
		eq(int, changes_get(buf_data(&out) + begin, buf_size(&out) - begin, &list), BW_OK));
	cr_assert(eq(uint, list.n, 19));
	next(&list, &at, CHANGE_CREATE, 5, "/a/new", "nt:unstructured", &c);
	check_created(&c);
	next(&list, &at, CHANGE_CREATE, 0, "/a/new/b", "", &c);
	cr_assert(c.n_mixins == 0 && c.n_props == 0);
	next(&list, &at, CHANGE_REMOVE, 9, "/r", "", &c);
	next(&list, &at, CHANGE_MOVE, 10, "/m", "/to/m2", &c);
	next(&list, &at, CHANGE_COPY, 11, "/c", "/to/c", &c);
	next(&list, &at, CHANGE_ORDER, 12, "/a/b", "", &c);
	next(&list, &at, CHANGE_SET, 13, "/s", "p", &c);
	cr_assert(c.base == CHANGE_BASE_VALUE && c.old.type == BW_VALUE_LONG && c.old.n == 1);
	assert_str(change_next_str(&c.old.at), "7");
	cr_assert(c.value.type == BW_VALUE_URI && c.value.multiple && c.value.n == 2);
	assert_str(change_next_str(&c.value.at), "a");
	cr_assert(bw_str_eq(change_next_str(&c.value.at), BW_STR("b\0c")));
	next(&list, &at, CHANGE_UNSET, UINT64_MAX, "/s", "q", &c);
	cr_assert(eq(int, c.base, CHANGE_BASE_ABSENT));
	next(&list, &at, CHANGE_SET_TYPE, 14, "/t", "sling:Folder", &c);
	assert_str(c.old_type, "nt:folder");
	next(&list, &at, CHANGE_MIXIN_ADD, 15, "/t", "mix:title", &c);
	next(&list, &at, CHANGE_MIXIN_REMOVE, 16, "/t", "mix:language", &c);
	next(&list, &at, CHANGE_ACE_ADD, 17, "/l", "alice", &c);
	check_entry(&c);
	next(&list, &at, CHANGE_ACE_REMOVE, 0, "/l", "bob", &c);
	cr_assert(c.allow == false && c.n_props == 0 && c.value.n == 2);
	next(&list, &at, CHANGE_ACL_CLEAR, 18, "/l", "", &c);
	next(&list, &at, CHANGE_CHECKIN, 19, "/v", "", &c);
	next(&list, &at, CHANGE_CHECKOUT, 20, "/v", "", &c);
	next(&list, &at, CHANGE_RESTORE, 21, "/v", "1.0", &c);
	cr_assert(c.removing);
	next(&list, &at, CHANGE_LABEL_ADD, 22, "/v", "good", &c);
	cr_assert_not(c.removing);
	assert_str(c.of, "1.1");
	next(&list, &at, CHANGE_LABEL_REMOVE, 23, "/v", "bad", &c);
	cr_assert_not(changes_next(&list, &at, &c));
	buf_done(&out);
}

/* In memory of exactly its size, so that the sanitizer sees a step too far. */
static int get_copy(const uint8_t *p, size_t n, uint32_t size)
{
	uint8_t       *copy = malloc(n > 0 ? n : 1);
	struct changes list;
	int            err;

	memcpy(copy, p, n);
	for (unsigned i = 0; i < 4 && i < n; i++)
		copy[i] = (uint8_t)(size >> 8 * i);
	err = changes_get(copy, n, &list);
	free(copy);
	return err;
}

Test(changes, cut_or_lengthened_list_is_refused)
{
	size_t         begin = build(), n = buf_size(&out) - begin;
	const uint8_t *p;

	buf_append(&out, "", 1);
	p = buf_data(&out) + begin;
	cr_assert(eq(int, get_copy(p, n, (uint32_t)n), BW_OK));
	for (size_t i = 0; i < n; i++) {
		cr_assert(eq(int, get_copy(p, i, (uint32_t)n), BW_EPROTO), "cut at %zu", i);
		cr_assert(eq(int, get_copy(p, i, (uint32_t)i), BW_EPROTO), "ends at %zu", i);
	}
	cr_assert(eq(int, get_copy(p, n + 1, (uint32_t)n), BW_EPROTO));
	cr_assert(eq(int, get_copy(p, n + 1, (uint32_t)n + 1), BW_EPROTO));
	buf_done(&out);
}

/* A list of one change, which write fills. */
static int get_one(void (*write)(size_t list))
{
	struct changes list;
	int            err;
	size_t         at;

	buf_init(&out);
	at = changes_begin(&out);
	write(at);
	changes_end(&out, at);
	err = changes_get(buf_data(&out), buf_size(&out), &list);
	buf_done(&out);
	return err;
}

static void nothing(size_t list)
{
	(void)list;
}

static void relative(size_t list)
{
	change_end(&out, list, change_begin(&out, CHANGE_REMOVE, 0, BW_STR("a"), BW_ABSENT));
}

static void no_path(size_t list)
{
	change_end(&out, list, change_begin(&out, CHANGE_REMOVE, 0, BW_ABSENT, BW_ABSENT));
}

static void unknown_kind(size_t list)
{
	change_end(&out, list, change_begin(&out, CHANGE_KINDS, 0, BW_STR("/a"), BW_STR("b")));
}

static void removal_with_a_name(size_t list)
{
	change_end(&out, list, change_begin(&out, CHANGE_REMOVE, 0, BW_STR("/a"), BW_STR("b")));
}

static void move_to_nowhere(size_t list)
{
	change_end(&out, list, change_begin(&out, CHANGE_MOVE, 0, BW_STR("/a"), BW_ABSENT));
}

static void property_twice(size_t list)
{
	size_t at = change_begin(&out, CHANGE_CREATE, 0, BW_STR("/a"), BW_ABSENT);

	change_put_prop(&out, at, BW_STR("p"), &one);
	change_put_prop(&out, at, BW_STR("p"), &one);
	change_end(&out, list, at);
}

static void property_without_a_name(size_t list)
{
	size_t at = change_begin(&out, CHANGE_CREATE, 0, BW_STR("/a"), BW_ABSENT);

	change_put_prop(&out, at, BW_STR(""), &one);
	change_end(&out, list, at);
}

static void put_set(size_t list, enum change_base base, const struct change_text *value)
{
	size_t at = change_begin(&out, CHANGE_SET, 0, BW_STR("/a"), BW_STR("p"));

	change_put_base(&out, base, &one);
	change_put_value(&out, value);
	change_end(&out, list, at);
}

static void unknown_base(size_t list)
{
	put_set(list, CHANGE_BASE_VALUE + 1, &one);
}

static void two_values_of_a_single_one(size_t list)
{
	struct change_text t = two;

	t.multiple = false;
	put_set(list, CHANGE_BASE_VALUE, &t);
}

static void type_0(size_t list)
{
	struct change_text t = one;

	t.type = 0;
	put_set(list, CHANGE_BASE_VALUE, &t);
}

static void type_beyond(size_t list)
{
	struct change_text t = one;

	t.type = BW_VALUE_BINARY + 1;
	put_set(list, CHANGE_BASE_VALUE, &t);
}

static void put_entry(size_t list, const struct change_text *of, const struct change_text *limit)
{
	size_t at = change_begin(&out, CHANGE_ACE_ADD, 0, BW_STR("/a"), BW_STR("u"));

	change_put_entry(&out, true, of);
	change_put_prop(&out, at, BW_STR("rep:glob"), limit);
	change_end(&out, list, at);
}

static void privileges_that_are_numbers(size_t list)
{
	put_entry(list, &one, &none);
}

static void restriction_that_is_no_list(size_t list)
{
	struct change_text t = one;

	t.type = BW_VALUE_STRING;
	put_entry(list, &privileges, &t);
}

static void entry_of_nobody(size_t list)
{
	size_t at = change_begin(&out, CHANGE_ACE_REMOVE, 0, BW_STR("/a"), BW_ABSENT);

	change_put_entry(&out, true, &privileges);
	change_end(&out, list, at);
}

static void put_many(size_t list, unsigned n)
{
	while (n-- > 0)
		change_end(&out, list,
		           change_begin(&out, CHANGE_REMOVE, 0, BW_STR("/a"), BW_ABSENT));
}

static void as_many_as_may_be(size_t list)
{
	put_many(list, CHANGES_MAX);
}

static void one_too_many(size_t list)
{
	put_many(list, CHANGES_MAX + 1);
}

Test(changes, what_no_builder_writes_is_refused)
{
	static const struct {
		const char *name;
		void (*write)(size_t list);
	} rows[] = {
		{ "nothing", nothing },
		{ "relative", relative },
		{ "no path", no_path },
		{ "unknown kind", unknown_kind },
		{ "removal with a name", removal_with_a_name },
		{ "move to nowhere", move_to_nowhere },
		{ "property twice", property_twice },
		{ "property without a name", property_without_a_name },
		{ "unknown base", unknown_base },
		{ "two values of a single one", two_values_of_a_single_one },
		{ "type 0", type_0 },
		{ "type beyond", type_beyond },
		{ "privileges that are numbers", privileges_that_are_numbers },
		{ "restriction that is no list", restriction_that_is_no_list },
		{ "entry of nobody", entry_of_nobody },
		{ "one too many", one_too_many },
	};

	cr_assert(eq(int, get_one(as_many_as_may_be), BW_OK));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert(eq(int, get_one(rows[i].write), BW_EPROTO), "%s", rows[i].name);
}
