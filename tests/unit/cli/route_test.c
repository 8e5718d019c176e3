/* cli/route.c: an answer of `ctl route` as text. */
#include <cli/route.c>

#include <criterion/criterion.h>
#include <stdlib.h>

static void expect(const char *json, const char *want)
{
	json_error_t error;
	json_t      *answer = json_loads(json, 0, &error);
	char        *got = NULL;
	size_t       n;
	FILE        *out = open_memstream(&got, &n);

	cr_assert(answer != NULL, "%s", error.text);
	route_print(answer, out);
	fclose(out);
	cr_expect_str_eq(got, want, "%s", got);
	free(got);
	json_decref(answer);
}

Test(route, a_servlet_with_its_chain_and_those_who_lost)
{
	expect("{\"method\": \"POST\", \"path\": \"/c/x\", \"servletContextId\": 3, \"context\": "
	       "\"c\","
	       " \"contextPath\": \"/c\", \"pattern\": \"/x\", \"status\": 405,"
	       " \"servletDTO\": {\"name\": \"S\", \"bundle\": \"acme\"}, \"resourceDTO\": null,"
	       " \"filterDTOs\": [{\"name\": \"F\", \"bundle\": \"acme\"},"
	       "                  {\"name\": \"G\", \"bundle\": \"other\"}],"
	       " \"preprocessorDTOs\": [{\"bundle\": \"trace\"}],"
	       " \"others\": [{\"kind\": \"servlet\", \"name\": \"L\", \"bundle\": \"acme\","
	       "   \"context\": \"c\", \"pattern\": \"/*\", \"code\": \"LESS_SPECIFIC\","
	       "   \"reason\": \"/x goes first\"},"
	       "  {\"kind\": \"context\", \"name\": \"e\", \"bundle\": \"acme\", \"context\": "
	       "\"e\","
	       "   \"pattern\": null, \"code\": \"NO_PATTERN_MATCHES\", \"reason\": \"none in "
	       "it\"}]}",
	       "POST /c/x\n"
	       "  is answered by servlet S of acme, pattern \"/x\", in context c at /c\n"
	       "  with 405: it does not take this method\n"
	       "  through preprocessor of trace; filter F of acme; filter G of other\n"
	       "not by\n"
	       "  servlet L of acme, \"/*\" in c: /x goes first\n"
	       "  context e of acme: none in it\n");
}

Test(route, a_resource_in_the_context_at_the_root)
{
	expect("{\"method\": \"GET\", \"path\": \"/\", \"context\": \"default\", \"contextPath\": "
	       "\"\","
	       " \"pattern\": \"\", \"status\": 0, \"servletDTO\": null,"
	       " \"resourceDTO\": {\"bundle\": \"acme\"}, \"filterDTOs\": [],"
	       " \"preprocessorDTOs\": [], \"others\": []}",
	       "GET /\n"
	       "  is answered by resource of acme, pattern \"\", in context default at /\n");
}

Test(route, the_engine_says_what_it_would_do)
{
	expect("{\"method\": \"GET\", \"path\": \"/bin/x\", \"context\": \"e\", \"contextPath\": "
	       "\"\","
	       " \"pattern\": \"/\", \"status\": 0, \"servletDTO\": {\"name\": \"E\", \"bundle\": "
	       "\"b\"},"
	       " \"engine\": {\"servlet\": \"X\", \"path\": \"/bin/x\", \"note\": \"it answers\"}}",
	       "GET /bin/x\n"
	       "  is answered by servlet E of b, pattern \"/\", in context e at /\n"
	       "  the engine has servlet X at /bin/x\n"
	       "  it answers\n");
}

Test(route, what_is_unavailable_says_why)
{
	expect("{\"method\": \"GET\", \"path\": \"/x\", \"context\": \"c\", \"contextPath\": \"\","
	       " \"pattern\": \"/x\", \"status\": 503, \"unavailable\": \"bundle b is stopped\","
	       " \"servletDTO\": {\"name\": \"X\", \"bundle\": \"b\", \"standIn\": true}}",
	       "GET /x\n"
	       "  is answered by servlet X of b, pattern \"/x\", in context c at /\n"
	       "  with 503: bundle b is stopped\n");
	expect("{\"method\": \"GET\", \"path\": \"/bin/x\", \"context\": \"e\", \"contextPath\": "
	       "\"\","
	       " \"pattern\": \"/\", \"status\": 503, \"unavailable\": null,"
	       " \"servletDTO\": {\"name\": \"E\", \"bundle\": \"b\"},"
	       " \"engine\": {\"servlet\": \"X\", \"path\": \"/bin/x\", \"note\": \"it answers\","
	       "   \"unavailable\": \"bundle a is stopped\"}}",
	       "GET /bin/x\n"
	       "  is answered by servlet E of b, pattern \"/\", in context e at /\n"
	       "  the engine has servlet X at /bin/x\n"
	       "  it answers\n"
	       "  it answers 503: bundle a is stopped\n");
}

Test(route, nobody)
{
	expect("{\"method\": \"GET\", \"path\": \"/x\", \"status\": 404, \"servletDTO\": null,"
	       " \"resourceDTO\": null, \"filterDTOs\": [], \"preprocessorDTOs\": [], \"others\": "
	       "[]}",
	       "GET /x\n  is answered 404: nothing takes it\n");
}
