/* cli/alike.c: what workers may differ in, and what not. */
#include <alike.h>
#include <criterion/criterion.h>

static const struct {
	const char *first, *second;
	bool        alike;
} rows[] = {
	{ "{\"a\":1}", "{\"a\":1}", true },
	{ "{\"a\":1}", "{\"a\":2}", false },
	{ "{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}", true },
	{ "{\"b\":[1,2]}", "{\"b\":[2,1]}", false },
	{ "{\"serviceId\":4,\"x\":[{\"service.id\":7}]}",
	  "{\"serviceId\":9,\"x\":[{\"service.id\":1}]}", true },
	{ "[{\"servletContextId\":4,\"y\":1}]", "[{\"servletContextId\":5,\"y\":2}]", false },
	{ "{\"bundle\":\"acme.a\",\"name\":\"acme.a/4\"}",
	  "{\"bundle\":\"acme.a\",\"name\":\"acme.a/7\"}", true },
	{ "{\"bundle\":\"acme.a\",\"name\":\"acme.a/x\"}",
	  "{\"bundle\":\"acme.a\",\"name\":\"acme.a/y\"}", false },
	{ "{\"bundle\":\"acme.a\",\"name\":\"one\"}", "{\"bundle\":\"acme.a\",\"name\":\"two\"}",
	  false },
	{ "{\"bundle\":\"acme.a\",\"serviceId\":1,\"standIn\":true}",
	  "{\"bundle\":\"acme.a\",\"serviceId\":1}", false },
	{ "{\"engine\":{\"servlet\":\"acme.a/4\",\"bundle\":\"acme.a\"}}",
	  "{\"engine\":{\"servlet\":\"acme.a/7\",\"bundle\":\"acme.a\"}}", true },
	{ "{\"engine\":{\"servlet\":\"a/4\",\"bundle\":\"acme.a\"}}",
	  "{\"engine\":{\"servlet\":\"a/7\",\"bundle\":\"acme.a\"}}", false },
	{ "{\"name\":\"default\",\"attributes\":{\"hits\":7}}",
	  "{\"name\":\"default\",\"attributes\":{}}", true },
	{ "null", "null", true },
	{ "null", NULL, false },
};

static json_t *line(int worker, const char *answer)
{
	if (answer == NULL)
		return json_pack("{s:i, s:s}", "worker", worker, "error", "has ended");
	return json_pack("{s:i, s:o}", "worker", worker, "answer",
	                 json_loads(answer, JSON_DECODE_ANY, NULL));
}

Test(alike, workers)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *lines = json_array();

		json_array_append_new(lines, line(0, rows[i].first));
		json_array_append_new(lines, line(1, rows[i].second));
		cr_expect(alike_check(lines) == rows[i].alike, "row %zu", i);
		json_decref(lines);
	}
}
