/* route.c - who would answer a request, what would run for it, and why nobody else would, as text:
 *
 *   GET /shop/cart
 *     is answered by servlet cart of acme.shop, pattern /cart/(star), in context shop at /shop
 *     through preprocessor of acme.trace; filter guard of acme.shop
 *   not by
 *     servlet old of acme.old, "/cart/(star)" in shop: acme.shop:cart has this pattern: it is ...
 *
 * Owns: nothing. Runs in: the command `ctl`. Fails with: nothing; a member that is missing is left
 * out.
 * Tests: tests/unit/cli/route_test.c. */
#include "route.h"

#include <string.h>

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* "servlet NAME of BUNDLE"; what has no name is what it is. */
static void print_who(const char *kind, const json_t *record, FILE *out)
{
	const char *name = text(record, "name"), *bundle = text(record, "bundle");

	fprintf(out, "%s%s%s", kind, name ? " " : "", name ? name : "");
	if (bundle)
		fprintf(out, " of %s", bundle);
}

static void print_list(const json_t *answer, const char *key, const char *kind,
                       const char **between, FILE *out)
{
	size_t        i;
	const json_t *record;

	json_array_foreach (json_object_get(answer, key), i, record) {
		fputs(*between, out);
		print_who(kind, record, out);
		*between = "; ";
	}
}

static void print_chain(const json_t *answer, FILE *out)
{
	const char *between = "  through ";

	print_list(answer, "preprocessorDTOs", "preprocessor", &between, out);
	print_list(answer, "filterDTOs", "filter", &between, out);
	if (strcmp(between, "; ") == 0)
		fputc('\n', out);
}

static void print_answerer(const json_t *answer, FILE *out)
{
	const json_t *servlet = json_object_get(answer, "servletDTO");
	const json_t *resource = json_object_get(answer, "resourceDTO");
	const char   *path = text(answer, "contextPath");

	fputs("  is answered by ", out);
	if (json_is_object(servlet))
		print_who("servlet", servlet, out);
	else
		print_who("resource", resource, out);
	fprintf(out, ", pattern \"%s\", in context %s at %s\n", text(answer, "pattern"),
	        text(answer, "context"), path && *path ? path : "/");
}

static void print_engine(const json_t *answer, FILE *out)
{
	const json_t *engine = json_object_get(answer, "engine");

	if (text(engine, "servlet"))
		fprintf(out, "  the engine has servlet %s at %s\n", text(engine, "servlet"),
		        text(engine, "path"));
	if (engine)
		fprintf(out, "  %s\n", text(engine, "note"));
	if (text(engine, "unavailable"))
		fprintf(out, "  it answers 503: %s\n", text(engine, "unavailable"));
}

static void print_status(const json_t *answer, FILE *out)
{
	if (text(answer, "unavailable"))
		fprintf(out, "  with 503: %s\n", text(answer, "unavailable"));
	switch (json_integer_value(json_object_get(answer, "status"))) {
	case 404:
		fputs("  is answered 404: nothing takes it\n", out);
		break;
	case 405:
		fputs("  with 405: it does not take this method\n", out);
		break;
	case 501:
		fputs("  with 501: it does not know this method\n", out);
		break;
	}
}

static void print_others(const json_t *answer, FILE *out)
{
	const json_t *others = json_object_get(answer, "others"), *other;
	size_t        i;

	if (json_array_size(others) > 0)
		fputs("not by\n", out);
	json_array_foreach (others, i, other) {
		const char *pattern = text(other, "pattern"), *context = text(other, "context");

		fputs("  ", out);
		print_who(text(other, "kind"), other, out);
		if (pattern)
			fprintf(out, ", \"%s\"", pattern);
		if (context && pattern)
			fprintf(out, " in %s", context);
		fprintf(out, ": %s\n", text(other, "reason"));
	}
}

void route_print(const json_t *answer, FILE *out)
{
	fprintf(out, "%s %s\n", text(answer, "method"), text(answer, "path"));
	if (json_is_object(json_object_get(answer, "servletDTO")) ||
	    json_is_object(json_object_get(answer, "resourceDTO")))
		print_answerer(answer, out);
	print_engine(answer, out);
	print_status(answer, out);
	print_chain(answer, out);
	print_others(answer, out);
}
