/* gateway/peers/resolver.c: who is minted when, what is read once and kept, what a child page leaves out,
 * and which paths are not even asked for. */
#include "bundle/bundles.h"
#include "peers.h"

static int                 result, done;
static struct bw_resolver *first, *second;
static struct bw_resource *res[4];
static char                told[4][80];
static struct bw_bundle    bundle = { .name = "boardwalk.demo" };

static void tell(int i, struct bw_str s)
{
	snprintf(told[i], sizeof(told[i]), "%s", s.p ? s.p : "(absent)");
}

/* ---- identity ---- */

static void of_request(struct bw_req *req)
{
	cr_assert_eq(resolver_of_request(req, &first), BW_ESTATE);
	req->resolver = resolver_new(req, RESOLVER_ANONYMOUS);
	cr_assert_eq(resolver_of_request(req, &first), BW_OK);
	cr_assert(first == req->resolver && first->handle.p == NULL);
	tell(0, resolver_user(first));
	second = resolver_new(req, RESOLVER_USER); /* a login that failed */
	result = resolver_mint(second);
	done++;
}

Test(resolver, request_has_what_the_authenticator_made)
{
	struct bw_req *req;

	world_ready();
	req = start(of_request);
	cr_assert(done == 1 && auth.n_questions == 0);
	cr_assert_str_eq(told[0], "anonymous");
	cr_assert_eq(result, BW_ESTATE);
	request_release(req);
	world_done();
}

static void of_service(struct bw_req *req)
{
	cr_assert_eq(resolver_of_service(req, &bundle, NULL, &first), BW_OK);
	tell(0, resolver_user(first));
	cr_assert_eq(resolver_of_service(req, &bundle, "", &second), BW_OK);
	cr_assert_eq(first, second);
	done++;
	result = resolver_of_service(req, &bundle, "jobs", &second);
	cr_assert_eq(resolver_of_service(req, &bundle, "jobs", &second),
	             result); /* not asked again */
	done++;
}

Test(resolver, service_user_is_one_per_request_and_subservice)
{
	struct bw_req *req;

	world_ready();
	req = start(of_service);
	cr_assert_eq(auth.last.q.id, WIRE_AUTHENTICATE_SERVICE);
	cr_assert(memcmp(auth.last.m.u->authenticate_service.bundle.data, "boardwalk.demo", 14) ==
	          0);
	cr_assert_not(auth.last.m.u->authenticate_service.has_subservice);
	answer_handle("servlettest", 8);
	cr_assert(done == 1 && auth.n_questions == 2);
	cr_assert_str_eq(told[0], "servlettest");
	cr_assert(auth.last.m.u->authenticate_service.has_subservice);
	cr_assert(memcmp(auth.last.m.u->authenticate_service.subservice.data, "jobs", 4) == 0);
	answer_failed(&auth, BW_ELOGIN);
	cr_assert(done == 2 && result == BW_ELOGIN && auth.n_questions == 2);
	request_release(req);
	world_done();
}

/* ---- reading ---- */

static void get_twice(struct bw_req *req)
{
	enum bw_value_type type = 0;
	struct bw_str      value = BW_ABSENT;

	first = resolver_new(req, RESOLVER_ANONYMOUS);
	cr_assert_eq(resolver_get(first, BW_STR("/a"), &res[0]), BW_OK);
	cr_assert_eq(resolver_get(first, BW_STR("/a"), &res[1]), BW_OK);
	cr_assert_eq(res[0], res[1]);
	cr_assert_eq(resource_property(res[0], "text", 0, &type, &value), BW_OK);
	tell(0, value);
	cr_assert_eq(type, BW_VALUE_STRING);
	cr_assert_eq(resource_property(res[0], "text", 0, NULL, &value), BW_OK);
	cr_assert_eq(resource_property(res[0], "text", 1, NULL, &value), BW_ENOTFOUND);
	cr_assert_eq(resource_property(res[0], "other", 0, NULL, &value), BW_ENOTFOUND);
	tell(1, resource_field(res[0], BW_RESOURCE_TYPE));
	tell(2, resource_field(res[0], BW_RESOURCE_NAME));
	tell(3, resource_field(res[0], BW_RESOURCE_SUPER_TYPE));
	done++;
	result = resolver_get(first, BW_STR("/b"), &res[0]);
	done++;
	result = resolver_get(first, BW_STR("/b"), &res[0]); /* a miss is asked again */
	done++;
}

Test(resolver, item_read_once_keeps_its_value)
{
	struct bw_req *req;

	world_ready();
	req = start(get_twice);
	answer_handle("anonymous", 1);
	answer_found("/a", "hello", 2);
	cr_assert(done == 1 && repo.n_questions == 2);
	cr_assert_str_eq(told[0], "hello");
	cr_assert_str_eq(told[1], "nt:unstructured");
	cr_assert_str_eq(told[2], "a");
	cr_assert_str_eq(told[3], "(absent)");
	answer_failed(&repo, BW_ENOTFOUND);
	cr_assert(done == 2 && result == BW_ENOTFOUND && repo.n_questions == 3);
	answer_found("/b", "", 2);
	cr_assert(done == 3 && result == BW_OK);
	request_release(req);
	world_done();
}

static void answer_page(unsigned from, unsigned n, bool more)
{
	Bw__Wire__ResourcePage m = BW__WIRE__RESOURCE_PAGE__INIT;
	struct buf             out;
	char                   path[32];

	buf_init(&out);
	for (unsigned i = from; i < from + n; i++) {
		snprintf(path, sizeof(path), "/dam/%u", i);
		put_record(&out, path, NULL);
	}
	m.count = n;
	m.more = more;
	m.records = (ProtobufCBinaryData){ buf_size(&out), buf_data(&out) };
	wire_answer(repo.chan, &repo.last.q, 0, 0, &m.base);
	buf_done(&out);
	turn();
}

static void read_children(struct bw_req *req)
{
	struct bw_resource **children;
	struct bw_str        value;
	size_t               n;
	bool                 more;

	first = resolver_new(req, RESOLVER_ANONYMOUS);
	cr_assert_eq(resolver_children(first, BW_STR("/dam"), BW_ABSENT, 256, &children, &n, &more),
	             BW_OK);
	cr_assert(n == 256 && more);
	tell(0, resource_field(children[255], BW_RESOURCE_PATH));
	cr_assert_eq(
		resolver_children(first, BW_STR("/dam"), BW_STR("255"), 100, &children, &n, &more),
		BW_OK);
	cr_assert(n == 2 && !more);
	done++;
	cr_assert_eq(resource_property(children[1], "text", 0, NULL, &value), BW_OK);
	tell(1, value);
	cr_assert_eq(resource_property(children[1], "none", 0, NULL, &value), BW_ENOTFOUND);
	cr_assert_eq(resolver_get(first, BW_STR("/dam/257"), &res[0]), BW_OK);
	cr_assert_eq(res[0], children[1]);
	done++;
	/* It has gone since the page was read: it is asked for once and has no properties. */
	cr_assert_eq(resource_property(children[0], "text", 0, NULL, &value), BW_ENOTFOUND);
	cr_assert_eq(resource_property(children[0], "text", 0, NULL, &value), BW_ENOTFOUND);
	done++;
}

Test(resolver, children_come_in_pages_and_their_properties_on_demand)
{
	struct bw_req *req;

	world_ready();
	req = start(read_children);
	answer_handle("anonymous", 1);
	cr_assert(repo.last.m.u->resource_children.max == 256);
	cr_assert_not(repo.last.m.u->resource_children.has_after);
	answer_page(0, 256, true);
	cr_assert_str_eq(told[0], "/dam/255");
	cr_assert(repo.last.m.u->resource_children.max == 100);
	cr_assert(memcmp(repo.last.m.u->resource_children.after.data, "255", 3) == 0);
	answer_page(256, 2, false);
	cr_assert(done == 1 && repo.last.q.id == WIRE_RESOURCE_GET && asked_path("/dam/257"));
	answer_found("/dam/257", "late", 8);
	cr_assert(done == 2 && asked_path("/dam/256"));
	cr_assert_str_eq(told[1], "late");
	answer_failed(&repo, BW_ENOTFOUND);
	cr_assert(done == 3 && repo.n_questions == 4);
	request_release(req);
	world_done();
}

Test(resolver, page_with_more_than_asked_is_fatal, .exit_code = 1)
{
	world_ready();
	start(read_children);
	answer_handle("anonymous", 1);
	answer_page(0, 257, true);
}

static void read_many(struct bw_req *req)
{
	struct bw_resource **children, *again;
	size_t               n;
	bool                 more;

	first = resolver_new(req, RESOLVER_ANONYMOUS);
	for (int page = 0; page < 4; page++) {
		resolver_children(first, BW_STR("/dam"), BW_ABSENT, 256, &children, &n, &more);
		for (size_t i = 0; i < n; i++) {
			struct record rec = children[i]->record;

			cr_assert_eq(resolver_add(first, &rec, true), children[i]);
		}
		again = children[0];
	}
	cr_assert_eq(again, resolver_add(first, &again->record, false));
	cr_assert_not(again->partial); /* now it is whole */
	cr_assert_eq(first->n_read, 1024);
	done++;
}

Test(resolver, many_items_are_found_again)
{
	struct bw_req *req;

	world_ready();
	req = start(read_many);
	answer_handle("anonymous", 1);
	for (unsigned page = 0; page < 4; page++)
		answer_page(256 * page, 256, true);
	cr_assert_eq(done, 1);
	request_release(req);
	world_done();
}

/* ---- bad arguments ---- */

static void bad_paths(struct bw_req *req)
{
	static const struct bw_str bad[] = {
		{ NULL, 0 },      { "", 0 },      { "a", 1 },     { "a/b", 3 }, { "//", 2 },
		{ "/a/", 3 },     { "/a//b", 5 }, { "/.", 2 },    { "/..", 3 }, { "/a/./b", 6 },
		{ "/a/../b", 7 }, { "/a/..", 5 }, { "/a\0b", 4 },
	};
	struct bw_resource **children;
	size_t               n;
	bool                 more;

	first = resolver_new(req, RESOLVER_ANONYMOUS);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert(resolver_get(first, bad[i], &res[0]) == BW_EINVAL, "row %zu", i);
		cr_assert(resolver_children(first, bad[i], BW_ABSENT, 1, &children, &n, &more) ==
		                  BW_EINVAL,
		          "row %zu", i);
	}
	cr_assert_eq(resolver_children(first, BW_STR("/"), BW_ABSENT, 0, &children, &n, &more),
	             BW_EINVAL);
	cr_assert_eq(resolver_children(first, BW_STR("/"), BW_ABSENT, 257, &children, &n, &more),
	             BW_EINVAL);
	done++;
}

Test(resolver, bad_arguments_are_refused_without_a_question)
{
	struct bw_req *req;

	world_ready();
	req = start(bad_paths);
	cr_assert(done == 1 && auth.n_questions == 0 && repo.n_questions == 0);
	request_release(req);
	world_done();
}

static void good_paths(struct bw_req *req)
{
	static const char *const good[] = {
		"/", "/a", "/a/b", "/...", "/.a/..b", "/a.b/c..", "/a b"
	};

	first = resolver_new(req, RESOLVER_ANONYMOUS);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (resolver_get(first, bw_str(good[i]), &res[0]) == BW_ENOTFOUND)
			done++;
}

Test(resolver, odd_but_canonical_paths_are_asked_for)
{
	struct bw_req *req;

	world_ready();
	req = start(good_paths);
	answer_handle("anonymous", 1);
	for (int i = 0; i < 7; i++) {
		cr_assert_eq(done, i);
		answer_failed(&repo, BW_ENOTFOUND);
	}
	cr_assert_eq(done, 7);
	request_release(req);
	world_done();
}
