/* cli/bundle_list.c: the table of `bundle list`, from what workers say. */
#include <cli/bundle_list.c>

#include <criterion/criterion.h>

#define A(state, reason) \
	"{\"name\":\"acme.a\",\"version\":\"1.0.0\",\"generation\":3,\"services\":2," \
	"\"state\":\"" state "\",\"reason\":" reason ",\"mapped\":0}"
#define B \
	"{\"name\":\"acme.b\",\"version\":null,\"generation\":4,\"services\":0," \
	"\"state\":\"INSTALLED\",\"reason\":\"crashed in init\",\"mapped\":1}"
#define LINE(name, version, generation, state) \
	name "                           " version "        " generation "  " state "\n"

static json_t *line(int worker, const char *member, const char *value)
{
	return json_pack("{s:i, s:o}", "worker", worker, member,
	                 json_loads(value, JSON_DECODE_ANY, NULL));
}

/* What two workers say; the second may have another member than its answer. */
static void expect(const char *first, const char *member, const char *second, const char *want)
{
	struct store         store = { 0 };
	struct store_bundle *b = store_add(&store, "acme.b");
	json_t              *lines = json_array();
	char                *got = NULL;
	size_t               n;
	FILE                *out = open_memstream(&got, &n);

	free(b->version);
	b->version = strdup("0.9.0");
	json_array_append_new(lines, line(0, "answer", first));
	json_array_append_new(lines, line(1, member, second));
	print_bundles(lines, &store, out);
	fclose(out);
	cr_expect_str_eq(got, want, "%s", got);
	free(got);
	json_decref(lines);
	store_done(&store);
}

Test(bundle_list, workers_that_agree_are_told_once)
{
	expect("[" A("ACTIVE", "null") "," B "]", "answer", "[" B "," A("ACTIVE", "null") "]",
	       LINE("acme.a", "1.0.0", "         3", "started")
	               LINE("acme.b", "0.9.0", "         4", "refused") "  it crashed in init\n");
}

Test(bundle_list, workers_that_differ_are_told_one_by_one)
{
	expect("[" A("ACTIVE", "null") "]", "answer",
	       "[" A("INSTALLED", "\"failed to start (-1)\"") "]",
	       LINE("acme.a", "1.0.0", "         3",
	            "differs") "  worker 0: started (generation 3, services 2)\n"
	                       "  worker 1: refused (generation 3, services 2): it failed to start "
	                       "(-1)\n");
	expect("[" A("INSTALLED", "\"crashed in start\"") "]", "answer",
	       "[" A("INSTALLED", "\"failed to start (-1)\"") "]",
	       LINE("acme.a", "1.0.0", "         3",
	            "differs") "  worker 0: refused (generation 3, services 2): it crashed in "
	                       "start\n"
	                       "  worker 1: refused (generation 3, services 2): it failed to start "
	                       "(-1)\n");
}

Test(bundle_list, what_one_worker_does_not_have_is_told)
{
	expect("[]", "answer", "[" B "]",
	       LINE("acme.b", "0.9.0", "         4",
	            "differs") "  worker 0: it does not have it\n"
	                       "  worker 1: refused (generation 4, services 0): it crashed in "
	                       "init\n");
}

Test(bundle_list, a_worker_that_does_not_answer_is_no_difference_in_the_table)
{
	json_t *lines = json_array();

	expect("[" A("ACTIVE", "null") "]", "error", "\"does not run\"",
	       LINE("acme.a", "1.0.0", "         3", "started"));
	json_array_append_new(lines, line(0, "answer", "[]"));
	json_array_append_new(lines, line(1, "error", "\"does not run\""));
	cr_expect_not(alike_check(lines), "it is told on stderr, and is a failure");
	json_decref(lines);
}
