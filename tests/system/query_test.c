/* Under test: boardwalk/query.h and servlets/search, through a whole instance: what a search over HTTP
 * answers, as the administrator, as somebody who may read less, and as nobody; its pages, its marks, its
 * refusals. What is found by which condition is tests/conformance/query's. */
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
	char *said;

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
	cr_assert_eq(
		test_instance_cli(&instance, NULL, &said,
	                          (const char *[]){ "bundle", "install", SEARCH_BUNDLE, NULL }),
		0, "%s", said);
	free(said);
}

static void end(void)
{
	test_instance_stop(&instance);
}

TestSuite(query, .init = begin, .fini = end);

static struct http_response ask(const char *target, const char *credentials)
{
	struct http_response a;

	http_ask_once(instance.port, "GET", target, credentials, &a);
	return a;
}

static void answers(const char *target, const char *credentials, int status, const char *part)
{
	struct http_response a = ask(target, credentials);

	cr_assert_eq(a.status, status, "%s: %d %s", target, a.status, a.body);
	cr_assert(part == NULL || strstr(a.body, part) != NULL, "%s: %s is not in %s", target, part,
	          a.body);
	http_response_done(&a);
}

Test(query, over_http)
{
	const char          *admin = instance.credentials;
	struct http_response a;
	char                 next[8192], *at, *quote;

	answers("/search.json?q=apple&path=/s", admin, 200,
	        "\"total\":{\"value\":3,\"relation\":\"eq\"}");
	answers("/search.json?q=apple&path=/s", READER, 200,
	        "\"total\":{\"value\":2,\"relation\":\"eq\"}");
	answers("/search.json?q=secret", READER, 200,
	        "{\"items\":[],\"total\":{\"value\":0,\"relation\":\"eq\"}}");
	answers("/search.json?q=apple", NULL, 401, NULL);
	answers("/s/find.json?q=green", READER, 200, "\"path\":\"/s/b\"");
	answers("/search.json?q=red&highlight=true&path=/s/a", READER, 200,
	        "\"highlights\":{\"title\":[\"<mark>Red</mark> &lt;img onerror=1&gt; apple\"]");
	answers("/search.json?path=/s/a&fields=price,tags", READER, 200,
	        "apple\",\"properties\":{\"price\":3,\"tags\":[\"fruit\",\"red\"]}");
	answers("/search.json?path=/s/a&fields=none", READER, 200, "\"properties\":{}");
	answers("/search.json?path=/s/a&fields=*", READER, 200,
	        "\"properties\":{\"price\":3,\"tags\"");
	answers("/search.json?path=/s&facet=tags&hits=none", READER, 200,
	        "\"facets\":{\"tags\":[{\"value\":\"fruit\",\"count\":1},{\"value\":\"red\","
	        "\"count\":1}]}");
	answers("/search.json?path=/s&p.price.min=3&p.price.type=Long", READER, 200,
	        "\"value\":1,\"relation\":\"eq\"");
	answers("/search.json?q=apple&limit=1000", READER, 200, "\"limit\":100");
	answers("/search.json?colour=red", READER, 400, "unknown parameter: colour");
	answers("/search.json", READER, 400, "nothing to search for");
	answers("/search.json?q=apple&offset=1001", READER, 400, "out of range: offset");
	answers("/search.json?q=apple&limit=0", READER, 400, "out of range: limit");
	answers("/search.json?q=apple&cursor=AAAA", READER, 400, "not a cursor");

	/* Page by page. */
	a = ask("/search.json?q=apple&path=/s&limit=1", READER);
	cr_assert(strstr(a.body, "\"path\":\"/s/a\"") != NULL ||
	          strstr(a.body, "\"path\":\"/s/b\""));
	at = strstr(a.body, "\"next\":\"");
	cr_assert_not_null(at, "%s", a.body);
	quote = strchr(at + 8, '"');
	snprintf(next, sizeof(next), "/search.json?q=apple&path=/s&limit=1&cursor=%.*s",
	         (int)(quote - at - 8), at + 8);
	http_response_done(&a);
	a = ask(next, READER);
	cr_assert_eq(a.status, 200, "%s", a.body);
	cr_assert_null(strstr(a.body, "\"next\""), "%s", a.body);
	http_response_done(&a);
	next[strlen(next) - 1] ^= 1;
	answers(next, READER, 400, "not a cursor");
}

/* ---- the functions, called by a bundle ---- */

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
