/* Under test: repo/resource.c and fetch.c, over the wire. What may be read is found, listed and cut
 * as the rules say; what may not is indistinguishable from what is not there. */
#include "world.h"
#include <stdio.h>
#include <stdlib.h>

enum { ADMIN = 1, ANONYMOUS = 2, EVERYONE = 3 };

static struct world  w;
static struct client c;
static uint64_t      alice;              /* principal */
static uint64_t      as_admin, as_alice; /* open handles */

static void begin(void)
{
	char *id;

	world_begin(&w, 64u << 20);
	id = test_postgres_value(w.server, "SELECT auth.principal_create('alice', 'user')");
	alice = strtoull(id, NULL, 10);
	free(id);
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, ADMIN, NULL);
	as_alice = client_login(&c, HANDLE_USER, alice, (uint64_t[]){ EVERYONE, 0 });
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

static void sql(const char *text)
{
	test_postgres_sql(w.server, "%s", text);
	client_settle(&c, as_admin);
}

/* How many octets of path name a resource; -1: none. */
static long resolve(uint64_t sequence, const char *path)
{
	struct call         call;
	struct wire_message m;
	long                resolved = -1;

	client_resolve(&c, &call, NULL, 0, sequence, bw_str(path));
	call_wait(&w, &call);
	if (call.err == BW_OK) {
		struct wire_frame f = { .id = WIRE_RESOURCE_FOUND,
			                .length = (uint32_t)call.n,
			                .payload = call.answer };
		struct record     r;

		cr_assert_eq(wire_message_get(&f, &m), BW_OK);
		resolved = m.u->resource_found.resolved;
		cr_assert_eq(record_get(m.u->resource_found.record.data,
		                        m.u->resource_found.record.len, &r),
		             BW_OK);
		cr_assert(r.path.n == (size_t)resolved && memcmp(r.path.p, path, r.path.n) == 0);
	} else {
		cr_assert_eq(call.err, BW_ENOTFOUND, "%s: %d", path, call.err);
	}
	call_done(&call);
	return resolved;
}

/* The rows of the resolution: path, what is found of it. '-': nothing. */
Test(resource, resolve_cuts_before_dots)
{
	char  path[512], expected[512];
	FILE *rows;
	int   n = 0;

	begin();
	sql("SELECT repo.node_create(p, 'nt:unstructured') FROM "
	    "unnest('{/a,/a/b,/a/b/c,/a/d.e,/a/d.e/f.g,"
	    "/a/x,/a/x.y,/content,/content/p.q,/content/p.q/r,/a/.hid,/only}'::text[]) p");
	rows = fopen(UNIT_DIR "/cut.rows", "re");
	cr_assert_not_null(rows);
	for (int twice = 0; twice < 2; twice++, rewind(rows)) {
		for (; fscanf(rows, "%511s %511s", path, expected) == 2; n++) {
			long found = resolve(as_admin, path);

			if (expected[0] == '-')
				cr_assert_eq(found, -1, "%s: found %ld octets", path, found);
			else
				cr_assert(found == (long)strlen(expected) &&
				                  strncmp(path, expected, (size_t)found) == 0,
				          "%s: %ld octets, not %s", path, found, expected);
		}
	}
	cr_assert_eq(n % 2, 0);
	cr_assert(n >= 2 * 40, "only %d rows", n / 2);
	fclose(rows);
	end();
}

Test(resource, paths_that_cannot_exist)
{
	char many[4096] = "/a", name[400] = "/", deep[400] = "";

	begin();
	for (size_t i = 2; i + 2 < sizeof(many); i += 2)
		memcpy(many + i, ".a", 3);
	memset(name + 1, 'n', 300);
	for (size_t i = 0; i < 130; i += 2)
		memcpy(deep + i, "/d", 3);
	cr_assert_eq(resolve(as_admin, many), -1);
	cr_assert_eq(resolve(as_admin, name), -1);
	cr_assert_eq(resolve(as_admin, deep), -1);
	cr_assert_eq(resolve(as_admin, "/a\xff\xfe"), -1);
	cr_assert_eq(resolve(as_admin, "/a\"{},\\b.x"), -1);
	cr_assert_eq(resolve(as_admin, "relative"), -1);
	{
		struct call call;

		client_get(&c, &call, NULL, 0, as_admin, (struct bw_str){ "/\0", 2 });
		call_wait(&w, &call);
		cr_assert_eq(call.err, BW_ENOTFOUND);
		call_done(&call);
		client_get(&c, &call, NULL, 0, as_admin, BW_STR(""));
		call_wait(&w, &call);
		cr_assert_eq(call.err, BW_ENOTFOUND);
		call_done(&call);
	}
	end();
}

static void same_failure(uint64_t sequence, const char *hidden, const char *missing, bool children)
{
	struct call a, b;

	for (int twice = 0; twice < 2; twice++) { /* cold, then from the cache */
		if (children) {
			client_children(&c, &a, sequence, bw_str(hidden), BW_ABSENT, 10);
			client_children(&c, &b, sequence, bw_str(missing), BW_ABSENT, 10);
		} else {
			client_get(&c, &a, NULL, 0, sequence, bw_str(hidden));
			client_get(&c, &b, NULL, 0, sequence, bw_str(missing));
		}
		call_wait(&w, &a);
		call_wait(&w, &b);
		cr_assert(a.err == BW_ENOTFOUND && b.err == BW_ENOTFOUND);
		cr_assert(a.n == b.n && memcmp(a.answer, b.answer, a.n) == 0 &&
		          a.types == b.types && a.acl == b.acl);
		call_done(&a);
		call_done(&b);
	}
}

Test(resource, unreadable_is_like_missing)
{
	struct call   call;
	struct record r;

	begin();
	sql("SELECT repo.node_create(p, 'nt:unstructured') FROM "
	    "unnest('{/a,/a/b,/a/b.x,/a/half}'::text[]) p;"
	    "SELECT repo.property_set('/a/half', 'title', '{\"s\":\"secret\"}')");
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('/a', %llu, true, '{jcr:read}'),"
	                  "repo.ace_append('/a/b.x', %llu, false, '{jcr:all}'),"
	                  "repo.ace_append('/a/half', %llu, false, '{rep:readProperties}')",
	                  (unsigned long long)alice, (unsigned long long)alice,
	                  (unsigned long long)alice);
	sql("SELECT 1");
	same_failure(as_alice, "/a/b.x", "/a/nothing", false);
	same_failure(as_alice, "/a/b.x", "/a/nothing", true);
	same_failure(as_alice, "/", "/b", false);
	/* The cut goes on behind what is hidden. */
	cr_assert_eq(resolve(as_alice, "/a/b.x.html"), (long)strlen("/a/b"));
	cr_assert_eq(resolve(as_admin, "/a/b.x.html"), (long)strlen("/a/b.x"));
	/* The node, but not its properties. */
	cr_assert_eq(client_read(&c, as_alice, "/a/half", &call, &r), BW_OK);
	cr_assert_eq(r.n_props, 0);
	call_done(&call);
	cr_assert_eq(client_read(&c, as_admin, "/a/half", &call, &r), BW_OK);
	cr_assert_eq(r.n_props, 1);
	call_done(&call);
	end();
}

Test(resource, record_carries_types_and_values)
{
	struct call        call;
	struct record      r;
	struct record_prop p;

	begin();
	sql("SELECT repo.node_create(p, 'sling:Folder') FROM "
	    "unnest('{/apps,/apps/t,/apps/t/one,/libs,/libs/t,"
	    "/libs/t/two,/libs/t/loop,/c,/c/x}'::text[]) p;"
	    "SELECT repo.property_set('/apps/t/one', 'sling:resourceSuperType', "
	    "'{\"s\":\"t/two\"}');"
	    "SELECT repo.property_set('/libs/t/two', 'sling:resourceSuperType', "
	    "'{\"s\":\"t/three\"}');"
	    "SELECT repo.property_set('/c/x', 'sling:resourceType', '{\"s\":\"t/one\"}');"
	    "SELECT repo.property_set('/c/x', 'n', '{\"l\":[1,-2]}'), repo.property_set('/c/x', "
	    "'b', '{\"b\":true}'),"
	    "repo.property_set('/c/x', 'empty', '{\"s\":[]}'), repo.property_set('/c/x', 'd', "
	    "'{\"d\":\"-0.0\"}')");
	cr_assert_eq(client_read(&c, as_admin, "/c/x", &call, &r), BW_OK);
	cr_assert(bw_str_eq(r.resource_type, BW_STR("t/one")) &&
	          bw_str_eq(r.primary_type, BW_STR("sling:Folder")));
	cr_assert(bw_str_eq(r.path, BW_STR("/c/x")) && bw_str_eq(r.name, BW_STR("x")) &&
	          r.super_type.n == 0);
	cr_assert(r.n_chain == 2 && bw_str_eq(record_chain(&r, 0), BW_STR("t/two")) &&
	          bw_str_eq(record_chain(&r, 1), BW_STR("t/three")));
	cr_assert_eq(r.n_props, 7); /* with jcr:created and jcr:createdBy */
	cr_assert(record_prop(&r, BW_STR("n"), &p) && p.multiple && p.n == 2 &&
	          p.type == BW_VALUE_LONG);
	cr_assert(bw_str_eq(record_value(&r, &p, 1), BW_STR("-2")));
	cr_assert(record_prop(&r, BW_STR("b"), &p) && !p.multiple && p.type == BW_VALUE_BOOLEAN &&
	          bw_str_eq(record_value(&r, &p, 0), BW_STR("true")));
	cr_assert(record_prop(&r, BW_STR("empty"), &p) && p.multiple && p.n == 0);
	cr_assert(record_prop(&r, BW_STR("d"), &p) &&
	          bw_str_eq(record_value(&r, &p, 0), BW_STR("-0.0")));
	call_done(&call);
	/* A new link changes the chains of resources that are cached. */
	{
		uint64_t types = call.types;

		sql("SELECT repo.property_set('/libs/t/two', 'sling:resourceSuperType', "
		    "'{\"s\":\"t/one\"}')");
		cr_assert_eq(client_read(&c, as_admin, "/c/x", &call, &r), BW_OK);
		cr_assert(r.n_chain == 2 && bw_str_eq(record_chain(&r, 0), BW_STR("t/two")) &&
		                  bw_str_eq(record_chain(&r, 1), BW_STR("t/one")),
		          "a cycle ends where it is closed");
		cr_assert(call.types > types, "the counter of types is raised");
		call_done(&call);
	}
	end();
}

/* ---- children ---- */

struct listing {
	unsigned count;
	bool     more;
	char     first[64], last[64];
};

static int list(uint64_t sequence, const char *path, const char *after, unsigned max,
                struct listing *ret)
{
	struct call         call;
	struct wire_message m;
	struct wire_frame   f;
	size_t              at = 0;

	client_children(&c, &call, sequence, bw_str(path), bw_str(after), max);
	call_wait(&w, &call);
	*ret = (struct listing){ 0 };
	if (call.err != BW_OK) {
		call_done(&call);
		return call.err;
	}
	f = (struct wire_frame){ .id = WIRE_RESOURCE_PAGE,
		                 .length = (uint32_t)call.n,
		                 .payload = call.answer };
	cr_assert_eq(wire_message_get(&f, &m), BW_OK);
	ret->more = m.u->resource_page.more;
	for (; ret->count < m.u->resource_page.count; ret->count++) {
		struct record r;

		cr_assert_eq(record_get(m.u->resource_page.records.data + at,
		                        m.u->resource_page.records.len - at, &r),
		             BW_OK);
		cr_assert_eq(r.n_props, 0);
		at += r.size;
		snprintf(ret->last, sizeof(ret->last), "%s", r.name.p);
		if (ret->count == 0)
			snprintf(ret->first, sizeof(ret->first), "%s", r.name.p);
	}
	cr_assert_eq(at, m.u->resource_page.records.len);
	call_done(&call);
	return BW_OK;
}

Test(resource, children_are_filtered_and_paged)
{
	struct listing l;
	uint64_t       as_anonymous;

	begin();
	sql("SELECT repo.node_create(p, 'sling:Folder') FROM "
	    "unnest('{/dam,/dam/a,/dam/b,/dam/c,/dam/d,/dam/e,/big}'"
	    "::text[]) p;"
	    "SELECT repo.node_create('/big/n' || lpad(i::text, 4, '0'), 'sling:Folder') FROM "
	    "generate_series(0, 999) i");
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('/', 3, true, '{jcr:read}'),"
	                  "repo.ace_append('/dam/b', %llu, false, '{jcr:read}'),"
	                  "repo.ace_append('/dam/e', %llu, false, '{jcr:read}')",
	                  (unsigned long long)alice, (unsigned long long)alice);
	sql("SELECT 1");
	for (int twice = 0; twice < 2; twice++) {
		cr_assert_eq(list(as_admin, "/dam", NULL, 256, &l), BW_OK);
		cr_assert(l.count == 5 && !l.more && strcmp(l.first, "a") == 0 &&
		          strcmp(l.last, "e") == 0);
		cr_assert_eq(list(as_alice, "/dam", NULL, 256, &l), BW_OK);
		cr_assert(l.count == 3 && !l.more && strcmp(l.last, "d") == 0);
		cr_assert_eq(list(as_alice, "/dam", NULL, 2, &l), BW_OK);
		cr_assert(l.count == 2 && l.more && strcmp(l.last, "c") == 0);
		cr_assert_eq(list(as_alice, "/dam", "c", 2, &l), BW_OK);
		cr_assert(l.count == 1 && !l.more && strcmp(l.last, "d") == 0,
		          "no trace of the hidden one");
		cr_assert_eq(list(as_alice, "/dam", "b", 2, &l), BW_ENOTFOUND, "hidden");
		cr_assert_eq(list(as_alice, "/dam", "zz", 2, &l), BW_ENOTFOUND, "missing");
		cr_assert_eq(list(as_alice, "/dam", "a/x", 2, &l), BW_ENOTFOUND);
		cr_assert_eq(list(as_alice, "/dam/a", NULL, 2, &l), BW_OK);
		cr_assert(l.count == 0 && !l.more);
		cr_assert_eq(list(as_admin, "/", NULL, 256, &l), BW_OK);
		cr_assert(l.count == 2 && strcmp(l.last, "big") == 0);
		cr_assert_eq(list(as_admin, "/", "dam", 256, &l), BW_OK);
		cr_assert(l.count == 1 && strcmp(l.first, "big") == 0);
	}
	{
		unsigned total = 0;
		char     after[64] = "";

		do {
			cr_assert_eq(list(as_alice, "/big", total > 0 ? after : NULL, 256, &l),
			             BW_OK);
			total += l.count;
			snprintf(after, sizeof(after), "%s", l.last);
		} while (l.more);
		cr_assert_eq(total, 1000);
		cr_assert_str_eq(after, "n0999");
	}
	/* Only the last of many may be seen: the pages between are skipped. */
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('/big', %llu, true, '{jcr:read}');"
	                  "SELECT repo.ace_append('/big/n' || lpad(i::text, 4, '0'), %llu, false, "
	                  "'{jcr:read}')"
	                  " FROM generate_series(0, 998) i",
	                  (unsigned long long)alice, (unsigned long long)alice);
	sql("SELECT 1");
	cr_assert_eq(list(as_alice, "/big", NULL, 256, &l), BW_OK);
	cr_assert(l.count == 1 && !l.more && strcmp(l.first, "n0999") == 0);
	/* A full page, behind which nothing may be seen: no trace of what follows. */
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('/big/n' || lpad(i::text, 4, '0'), 2, false, "
	                  "'{jcr:read}') FROM generate_series(256, 999) i");
	sql("SELECT 1");
	as_anonymous = client_login(&c, HANDLE_ANONYMOUS, ANONYMOUS, (uint64_t[]){ EVERYONE, 0 });
	cr_assert_eq(list(as_anonymous, "/big", NULL, 256, &l), BW_OK);
	cr_assert(l.count == 256 && !l.more && strcmp(l.last, "n0255") == 0);
	cr_assert_eq(list(as_anonymous, "/big", NULL, 255, &l), BW_OK);
	cr_assert(l.count == 255 && l.more);
	/* Children come and go. */
	sql("SELECT repo.node_create('/dam/f', 'sling:Folder')");
	cr_assert_eq(list(as_admin, "/dam", NULL, 256, &l), BW_OK);
	cr_assert(l.count == 6 && strcmp(l.last, "f") == 0);
	sql("SELECT repo.node_delete('/dam/a')");
	cr_assert_eq(list(as_admin, "/dam", NULL, 256, &l), BW_OK);
	cr_assert(l.count == 5 && strcmp(l.first, "b") == 0);
	sql("SELECT repo.node_delete('/dam')");
	cr_assert_eq(list(as_admin, "/dam", NULL, 256, &l), BW_ENOTFOUND);
	end();
}

/* Whether alice sees exactly these properties of /r, and no others. */
static bool sees(const char *const *names)
{
	struct call        call;
	struct record      r;
	struct record_prop prop;
	unsigned           n = 0;
	bool               all = client_read(&c, as_alice, "/r", &call, &r) == BW_OK;

	for (; all && names[n] != NULL; n++)
		all = record_prop(&r, bw_str(names[n]), &prop) && prop.n == 1 &&
		      bw_str_eq(record_value(&r, &prop, 0), BW_STR("x"));
	all = all && r.n_props == n;
	call_done(&call);
	return all;
}

/* Entries with restrictions: by name, prefix and type; of nodes, of single properties, in lists. */
Test(resource, restrictions_hide_nodes_and_properties)
{
	struct listing l;

	begin();
	sql("SELECT repo.node_create(p, 'nt:unstructured') FROM "
	    "unnest('{/r,/r/.trash,/r/keep,/r/keep/.trash}'::text[]) p;"
	    "SELECT repo.node_create('/r/typed', 'nt:folder');"
	    "SELECT repo.property_set('/r', p, '{\"s\":\"x\"}') FROM "
	    "unnest('{title,secret,jcr:note,zz}'::text[]) p");
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('/r', %llu, true, '{jcr:read}'), "
	                  "repo.ace_append('/r', %llu, false, '{jcr:read}', "
	                  "'{\"rep:itemNames\":[\".trash\",\"secret\"]}'), "
	                  "repo.ace_append('/r', %llu, false, '{rep:readProperties}', "
	                  "'{\"rep:prefixes\":[\"jcr\"]}'), "
	                  "repo.ace_append('/r', %llu, false, '{jcr:read}', "
	                  "'{\"rep:ntNames\":[\"nt:folder\"]}')",
	                  (unsigned long long)alice, (unsigned long long)alice,
	                  (unsigned long long)alice, (unsigned long long)alice);
	sql("SELECT 1");
	for (int twice = 0; twice < 2; twice++) { /* cold, then from the cache */
		cr_assert_eq(list(as_alice, "/r", NULL, 256, &l), BW_OK);
		cr_assert(l.count == 1 && !l.more && strcmp(l.first, "keep") == 0);
		cr_assert_eq(list(as_alice, "/r", ".trash", 256, &l), BW_ENOTFOUND);
		cr_assert_eq(list(as_alice, "/r/keep", NULL, 256, &l), BW_OK);
		cr_assert_eq(l.count, 0);
		cr_assert_eq(list(as_admin, "/r", NULL, 256, &l), BW_OK);
		cr_assert_eq(l.count, 3);
		cr_assert(sees((const char *const[]){ "title", "zz", NULL }));
	}
	same_failure(as_alice, "/r/keep/.trash", "/r/keep/none", false);
	same_failure(as_alice, "/r/typed", "/r/none", false);
	/* The type decides as it is now. */
	sql("SELECT repo.node_type_set('/r/typed', 'nt:unstructured')");
	cr_assert_eq(resolve(as_alice, "/r/typed"), (long)strlen("/r/typed"));
	cr_assert_eq(list(as_alice, "/r", NULL, 256, &l), BW_OK);
	cr_assert_eq(l.count, 2);
	/* The list without restrictions, from its news on. */
	sql("SELECT repo.acl_delete('/r')");
	cr_assert_eq(resolve(as_alice, "/r"), -1);
	test_postgres_sql(w.server, "SELECT repo.ace_append('/r', %llu, true, '{jcr:read}')",
	                  (unsigned long long)alice);
	sql("SELECT 1");
	cr_assert(sees((const char *const[]){ "title", "secret", "jcr:note", "zz", NULL }));
	end();
}

Test(resource, single_flight_and_many_waiters)
{
	enum { N = 500 };
	static struct call calls[N];

	begin();
	sql("SELECT repo.node_create('/one', 'nt:unstructured')");
	for (unsigned i = 0; i < N; i++)
		client_resolve(&c, &calls[i], NULL, 0, as_admin, BW_STR("/one.html"));
	for (unsigned i = 0; i < N; i++) {
		call_wait(&w, &calls[i]);
		cr_assert_eq(calls[i].err, BW_OK);
		call_done(&calls[i]);
	}
	cr_assert_eq(resources_waiting(w.resources), 0);
	/* A connection goes while its questions wait. */
	for (unsigned i = 0; i < N; i++)
		client_get(&c, &calls[i], NULL, 0, as_admin, BW_STR("/two"));
	world_until(&w, resources_waiting(w.resources) > 0);
	client_close(&c);
	world_until(&w, resources_waiting(w.resources) == 0);
	for (unsigned i = 0; i < N; i++)
		cr_assert_eq(calls[i].err, BW_EGONE);
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, ADMIN, NULL);
	cr_assert_eq(resolve(as_admin, "/one.x"), 4);
	end();
}
