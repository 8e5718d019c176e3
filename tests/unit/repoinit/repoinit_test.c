/* lib/repoinit: hostile and broken texts. What parses into what is in tests/conformance/repoinit. */
#include <base/buf.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <repoinit/repoinit.h>
#include <stdlib.h>
#include <string.h>

/* Every statement and every kind of word this version knows. */
static const char example[] =
	"# board application\n"
	"register namespace (bw) http://boardwalk.invalid/ns/1.0\n"
	"register privilege bw:draw with rep:addProperties,rep:alterProperties\n"
	"create path (sling:Folder) "
	"/boards/public(sling:OrderedFolder mixin "
	"mix:title)\"/gr\xc3\xb6\xc3\x9f\x65\"\n"
	"ensure nodes /boards(sling:OrderedFolder)\n"
	"add mixin mix:created to /boards\n"
	"create service user bw-indexer, \"b w\" with forced path system/bw\n"
	"create group painters\n"
	"disable user eve : \"gone \\\"away\\\"\"\n"
	"add ada, bob to group painters\n"
	"delete service user old\n"
	"create user ada with path /home/a with password {argon2id} "
	"\"$argon2id$v=19$m=8,t=1,p=1$YWFh$YmJi\"\n"
	"set ACL on /boards,/boards/public (ACLOptions=ignoreMissingPrincipal)\n"
	"  remove * for painters\n"
	"  allow jcr:read,rep:write for everyone # behind\n"
	"  deny jcr:all for \"a \\\"b\\\\\"\n"
	"end\n"
	"remove ACE for bw-indexer\n"
	"  deny jcr:read on /boards\n"
	"end\n"
	"delete ACL on /old\n"
	"set properties on /boards/public\n"
	"  set title to \"Open\nboards\"\n"
	"  default limit{Long} to 50\n"
	"  set tags{String[]} to fun\n"
	"  set when{Date} to \"2026-11-30T10:00:00.5+01:00\"\n"
	"end";

static int parse(const char *text, size_t n, struct repoinit_error *error)
{
	struct repoinit_script *script = NULL;
	int                     result = repoinit_parse(text, n, &script, error);

	repoinit_free(script);
	return result;
}

Test(repoinit, counts_the_statements_of_the_example_in_order)
{
	static const enum repoinit_kind want[] = {
		REPOINIT_REGISTER_NAMESPACE, REPOINIT_REGISTER_PRIVILEGE, REPOINIT_CREATE_PATH,
		REPOINIT_ENSURE_NODES,       REPOINIT_ADD_MIXIN,          REPOINIT_CREATE_PRINCIPAL,
		REPOINIT_CREATE_PRINCIPAL,   REPOINIT_DISABLE_USER,       REPOINIT_ADD_MEMBERS,
		REPOINIT_DELETE_PRINCIPAL,   REPOINIT_CREATE_PRINCIPAL,   REPOINIT_SET_ACL,
		REPOINIT_REMOVE_ACE,         REPOINIT_DELETE_ACL,         REPOINIT_SET_PROPERTIES,
	};
	struct repoinit_script          *script;
	const struct repoinit_statement *s;
	struct repoinit_error            error;
	size_t                           n = 0;

	cr_assert(eq(int, repoinit_parse(example, sizeof(example) - 1, &script, &error), 0));
	for (s = repoinit_first(script); s != NULL; s = s->next, n++) {
		cr_assert(lt(sz, n, sizeof(want) / sizeof(*want)));
		cr_assert(eq(int, (int)s->kind, (int)want[n]), "statement %zu", n);
	}
	cr_assert(eq(sz, n, sizeof(want) / sizeof(*want)));
	repoinit_free(script);
	repoinit_free(NULL);
}

/* Each length in a block of its own, so that a read beyond the end is seen. */
Test(repoinit, survives_every_truncation_and_names_a_place_in_the_text)
{
	unsigned lines = 1;

	for (size_t i = 0; i < sizeof(example) - 1; i++)
		lines += example[i] == '\n';
	for (size_t n = 0; n < sizeof(example); n++) {
		char                 *copy = malloc(n > 0 ? n : 1);
		struct repoinit_error error = { 0 };

		memcpy(copy, example, n);
		if (parse(copy, n, &error) != 0) {
			cr_assert(ge(uint, error.at.line, 1), "cut at %zu", n);
			cr_assert(le(uint, error.at.line, lines), "cut at %zu", n);
			cr_assert(ge(uint, error.at.column, 1), "cut at %zu", n);
			cr_assert(gt(sz, strlen(error.text), 0), "cut at %zu", n);
		}
		free(copy);
	}
}

Test(repoinit, survives_every_single_octet_changed)
{
	static const char with[] = { '\0', '"', '\n', '(', '\\', '\xff', '/', '#' };
	unsigned          refused = 0;

	for (size_t at = 0; at < sizeof(example) - 1; at++)
		for (size_t k = 0; k < sizeof(with); k++) {
			char                  copy[sizeof(example)];
			struct repoinit_error error = { 0 };

			memcpy(copy, example, sizeof(example));
			copy[at] = with[k];
			refused += parse(copy, sizeof(example) - 1, &error) != 0;
		}
	cr_assert(gt(uint, refused, 1000));
}

Test(repoinit, refuses_what_is_not_utf8_before_anything_else)
{
	static const struct {
		const char *text;
		unsigned    line, column;
	} rows[] = {
		{ "create path \xff", 1, 13 },
		{ "# \xc3\x28\nfrobnicate", 1, 3 },  /* second octet wrong */
		{ "# \xc3\xb6\n\xc0\xaf", 2, 1 },    /* overlong */
		{ "\xed\xa0\x80", 1, 1 },            /* surrogate */
		{ "# \xf4\x90\x80\x80", 1, 3 },      /* beyond U+10FFFF */
		{ "create user \"\xe2\x82", 1, 14 }, /* cut */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct repoinit_error error = { 0 };

		cr_assert(eq(int, parse(rows[i].text, strlen(rows[i].text), &error), -1), "row %zu",
		          i);
		cr_assert(eq(int, strcmp(error.text, "not UTF-8"), 0), "row %zu", i);
		cr_assert(eq(uint, error.at.line, rows[i].line), "row %zu", i);
		cr_assert(eq(uint, error.at.column, rows[i].column), "row %zu", i);
	}
}

Test(repoinit, refuses_a_nul_and_a_text_beyond_the_limit)
{
	struct repoinit_error error = { 0 };
	char                 *text = malloc(REPOINIT_MAX_SCRIPT + 1);

	cr_assert(eq(int, parse("create path /a\0b", 16, &error), -1));
	cr_assert(eq(int, strcmp(error.text, "a NUL octet"), 0));
	cr_assert(eq(uint, error.at.column, 15));

	memset(text, '\n', REPOINIT_MAX_SCRIPT + 1);
	cr_assert(eq(int, parse(text, REPOINIT_MAX_SCRIPT, &error), 0));
	cr_assert(eq(int, parse(text, REPOINIT_MAX_SCRIPT + 1, &error), -1));
	free(text);
}

/* One statement of the largest size: no recursion, no quadratic walk. */
Test(repoinit, parses_a_list_of_a_hundred_thousand_names)
{
	struct buf            text;
	struct repoinit_error error = { 0 };

	buf_init(&text);
	buf_printf(&text, "create service user u");
	for (int i = 0; i < 100000; i++)
		buf_printf(&text, ",u%d", i);
	cr_assert(eq(int, parse((char *)buf_data(&text), buf_size(&text), &error), 0), "%s",
	          error.text);
	buf_done(&text);
}
