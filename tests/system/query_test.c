/* Under test: boardwalk/query.h, called by a bundle, through a whole instance: as the administrator, and as
 * somebody who may read less. What is found by which condition is tests/conformance/query's; searches over
 * HTTP are tests/system/search_test.c's. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http.h"
#include "support/instance.h"

#define READER "reader:reader's password"

static struct test_instance instance;

static void begin(void)
{
	test_instance_start(&instance, &(struct test_instance_options){ .bundle = "finding" });
	test_instance_repoinit(
		&instance,
		"create path (sling:Folder) /s/a(nt:unstructured)\n"
		"create path (sling:Folder) /s/b(nt:unstructured)\n"
		"create path (sling:Folder) /s/hid(nt:unstructured)\n"
		"create path (sling:Folder) /s/find(nt:unstructured)\n"
		"set properties on /s/a\n  set title to \"Red <img onerror=1> apple\"\n"
		"  set price{Long} to 3\n  set tags to \"fruit\", \"red\"\nend\n"
		"set properties on /s/b\n  set title to \"Green apple\"\n  set body to \"red "
		"inside\"\nend\n"
		"set properties on /s/hid\n  set title to \"Secret apple\"\nend\n"
		"set properties on /s/find\n  set sling:resourceType to boardwalk/search\nend\n"
		"set ACL on /s\n  allow jcr:read for reader\nend\n"
		"set ACL on /s/hid\n  deny jcr:read for reader\nend\n");
	test_instance_password(&instance, "reader", "reader's password");
}

static void end(void)
{
	test_instance_stop(&instance);
}

TestSuite(query, .init = begin, .fini = end);

static void finds(const char *query, const char *body, const char *credentials,
                  const char *expected)
{
	struct http          http;
	struct http_response a;
	char                 head[4096], *basic = http_basic(credentials);
	int                  n = snprintf(head, sizeof(head),
	                                  "POST /finding/x%s HTTP/1.1\r\nHost: t\r\n%s"
	                                                   "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s",
	                                  query, basic, strlen(body), body);

	http_open(&http, instance.port);
	cr_assert(http_send(&http, head, (size_t)n));
	http_read(&http, false, &a);
	cr_assert_eq(a.status, 200, "%s: %d %s", body, a.status, a.body);
	cr_assert_str_eq(a.body, expected, "%s", body);
	http_response_done(&a);
	http_close(&http);
	free(basic);
}

Test(query, statements)
{
	const char *admin = instance.credentials;

	finds("?limit=1",
	      "SELECT * FROM [nt:base] AS s WHERE ISCHILDNODE(s, '/s') ORDER BY s.[price]", admin,
	      "/s/a\n/s/b\n/s/find\n/s/hid\n");
	finds("?limit=1&show=title",
	      "SELECT * FROM [nt:base] AS s WHERE CONTAINS(s.*, 'apple') AND ISDESCENDANTNODE(s, "
	      "'/s') "
	      "ORDER BY s.[title]",
	      READER, "/s/b Green apple\n/s/a Red <img onerror=1> apple\n");
	/* A column that was not selected is not there; it is read no other way. */
	finds("?show=title", "SELECT [price] FROM [nt:base] AS s WHERE ISSAMENODE(s, '/s/a')",
	      admin, "/s/a -\n");
	finds("?show=price", "SELECT [price] FROM [nt:base] AS s WHERE ISSAMENODE(s, '/s/a')",
	      admin, "/s/a 3\n");
	finds("", "SELECT * FROM [nt:base] WHERE [price] =", admin,
	      "error 39 a value is expected\n");
	finds("", "SELECT * FROM [nt:base] AS s WHERE ISSAMENODE(s, '/s/hid')", READER, "");
}

Test(query, types)
{
	test_instance_repoinit(&instance, "create path (nt:unstructured) /apps/t/page\n"
	                                  "set properties on /apps/t/page\n"
	                                  "  set sling:resourceSuperType to t/base\nend\n"
	                                  "create path (nt:unstructured) /s/a/p\n"
	                                  "create path (nt:unstructured) /s/b/p\n"
	                                  "set properties on /s/a/p, /s/b/p\n"
	                                  "  set sling:resourceType to t/page\nend\n");
	finds("?limit=1", "type t/base /s", instance.credentials, "/s/a/p\n/s/b/p\n");
	finds("", "type t/base /s/b", READER, "/s/b/p\n");
	finds("", "type t/none", READER, "");
	test_instance_repoinit(&instance, "set properties on /apps/t/page\n"
	                                  "  set sling:resourceSuperType to t/none\nend\n");
	finds("", "type t/none /s/b", READER, "/s/b/p\n");
}
