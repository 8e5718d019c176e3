/* lib/base/ldap.c: what is a filter, and what it matches, as rows. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <base/ldap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define N(array) (sizeof(array) / sizeof(*(array)))

/* ---- a map of properties ---- */

struct property {
	const char       *key;
	struct ldap_value value;
};

#define STRING(k, v) \
	{ \
		k, \
		{ \
			.type = LDAP_STRING, .string = v \
		} \
	}
#define INTEGER(k, v) \
	{ \
		k, \
		{ \
			.type = LDAP_INTEGER, .integer = v \
		} \
	}
#define BOOL(k, v) \
	{ \
		k, \
		{ \
			.type = LDAP_BOOL, .boolean = v \
		} \
	}

static const struct property properties[] = {
	STRING("osgi.http.whiteboard.context.name", "c1"),
	STRING("osgi.http.whiteboard.context.path", "/c1"),
	STRING("color", "blue"), /* a list of two */
	STRING("color", "red"),
	STRING("odd", "a(b)*c\\d"),
	STRING("empty", ""),
	STRING("spaced", "Hello  Big World"),
	STRING("with blank", "x"),
	STRING("number.text", "10"),
	INTEGER("service.ranking", 9),
	INTEGER("many", -5), /* a list of two */
	INTEGER("many", 70),
	INTEGER("biggest", INT64_MAX),
	INTEGER("smallest", INT64_MIN),
	BOOL("on", true),
	BOOL("off", false),
	STRING("mixed", "x"), /* a list of two types */
	INTEGER("mixed", 3),
};

static bool look_up(void *map, const char *key, size_t i, struct ldap_value *ret)
{
	(void)map;
	for (size_t k = 0; k < N(properties); k++) {
		if (strcasecmp(properties[k].key, key) == 0 && i-- == 0) {
			*ret = properties[k].value;
			return true;
		}
	}
	return false;
}

Test(ldap, matches)
{
	static const struct {
		const char *filter;
		bool        matches;
	} rows[] = {
		/* equality; keys ignore case, values do not */
		{ "(osgi.http.whiteboard.context.path=/c1)", true },
		{ "(OSGI.HTTP.whiteboard.CONTEXT.name=c1)", true },
		{ "(osgi.http.whiteboard.context.name=C1)", false },
		{ "(osgi.http.whiteboard.context.name=c)", false },
		{ "(!(osgi.http.whiteboard.context.name=c1))", false },
		{ "(empty=)", true },
		{ "(color=)", false },
		/* a missing key makes any comparison false */
		{ "(none=x)", false },
		{ "(none=)", false },
		{ "(none>=0)", false },
		{ "(none<=0)", false },
		{ "(none~=x)", false },
		{ "(none=*)", false },
		{ "(none=a*)", false },
		{ "(!(none=x))", true },
		/* presence, also of an empty text */
		{ "(color=*)", true },
		{ "(empty=*)", true },
		{ "(off=*)", true },
		{ "(service.ranking=* )", true },
		/* lists match if one item does */
		{ "(color=red)", true },
		{ "(color=blue)", true },
		{ "(color=green)", false },
		{ "(many>=70)", true },
		{ "(many<=-5)", true },
		{ "(many=0)", false },
		{ "(&(osgi.http.whiteboard.context.name=c*)(color=red))", true },
		{ "(mixed=3)", true },
		{ "(mixed=x)", true },
		/* numbers compare as numbers, texts as texts */
		{ "(service.ranking>=10)", false },
		{ "(service.ranking<=10)", true },
		{ "(service.ranking=9)", true },
		{ "(service.ranking=+9)", true },
		{ "(service.ranking= 9 )", true },
		{ "(service.ranking=09)", true },
		{ "(service.ranking~=9)", true },
		{ "(service.ranking>=9)", true },
		{ "(service.ranking<=9)", true },
		{ "(number.text>=9)", false },
		{ "(number.text>=1)", true },
		{ "(number.text= 10)", false },
		{ "(biggest>=9223372036854775807)", true },
		{ "(smallest<=-9223372036854775808)", true },
		/* an operand that is no number is false, whichever way it is asked */
		{ "(service.ranking=nine)", false },
		{ "(service.ranking>=nine)", false },
		{ "(service.ranking<=nine)", false },
		{ "(service.ranking<=9x)", false },
		{ "(service.ranking=)", false },
		{ "(service.ranking=0x9)", false },
		{ "(service.ranking=9.0)", false },
		{ "(service.ranking<=9223372036854775808)", false },
		{ "(biggest>=99999999999999999999)", false },
		{ "(service.ranking=9*)", false },
		{ "(!(service.ranking>=nine))", true },
		/* booleans ignore case; what is not true says false; no order */
		{ "(on=true)", true },
		{ "(on=TRUE)", true },
		{ "(on= True )", true },
		{ "(on~=true)", true },
		{ "(on>=true)", true },
		{ "(on=false)", false },
		{ "(on=yes)", false },
		{ "(off=false)", true },
		{ "(off=no)", true },
		{ "(off<=true)", false },
		{ "(on=t*)", false },
		/* approximately: case and blanks do not count */
		{ "(spaced~=helloBIGworld)", true },
		{ "(spaced~= h e l l o big world )", true },
		{ "(spaced~=hello small world)", false },
		{ "(color~=RED)", true },
		{ "(color~=re)", false },
		/* texts in order of their octets */
		{ "(osgi.http.whiteboard.context.name>=c0)", true },
		{ "(osgi.http.whiteboard.context.name>=c1)", true },
		{ "(osgi.http.whiteboard.context.name>=c2)", false },
		{ "(osgi.http.whiteboard.context.name<=c2)", true },
		{ "(osgi.http.whiteboard.context.name<=c0)", false },
		{ "(osgi.http.whiteboard.context.name>=C1)", true },
		/* substrings */
		{ "(spaced=Hello*)", true },
		{ "(spaced=*World)", true },
		{ "(spaced=*Big*)", true },
		{ "(spaced=H*B*d)", true },
		{ "(spaced=H*d*d)", false }, /* the only d serves one part */
		{ "(spaced=H*o*o*d)", true },
		{ "(spaced=*l*l*l*)", true },
		{ "(spaced=*l*l*l*l*)", false },
		{ "(spaced=hello*)", false },
		{ "(spaced=*world)", false },
		{ "(spaced=Hello*Big World*World)", false }, /* parts do not overlap */
		{ "(color=re*ed)", false },
		{ "(color=r*ed)", true },
		{ "(color=**)", true },
		{ "(empty=**)", true },
		{ "(none=**)", false },
		{ "(empty=*x*)", false },
		/* escapes */
		{ "(odd=a\\(b\\)\\*c\\\\d)", true },
		{ "(odd=a\\(b\\)*c\\\\d)", true }, /* here the star stands for itself */
		{ "(odd=*\\**)", true },
		{ "(color=*\\**)", false },
		{ "(color=\\r\\e\\d)", true },
		{ "(color=\\*)", false },
		{ "(odd~=A\\(B\\)*C\\\\D)", true }, /* a star is text but after '=' */
		/* blanks around parentheses, operators and keys; inside they count */
		{ " ( & ( color = red ) ( on=true ) ) ",
		  false }, /* "(color = red )" asks for " red " */
		{ " ( & ( color =red) ( on =true) ) ", true },
		{ "\t(\n|\r\n(color=green)\n(color=red)\n)\n", true },
		{ "( with blank =x)", true },
		{ "(with  blank=x)", false },
		/* and, or, not */
		{ "(&(color=red)(on=true))", true },
		{ "(&(color=red)(on=false))", false },
		{ "(&(color=red))", true },
		{ "(|(color=green)(color=black))", false },
		{ "(|(color=green)(color=red)(color=black))", true },
		{ "(|(color=green))", false },
		{ "(!(&(color=red)(on=true)))", false },
		{ "(!(!(color=red)))", true },
		{ "(&(|(a=1)(on=true))(!(|(off=true)(b=2)))(color=blue))", true },
		{ "(|(&(on=true)(off=true))(&(on=true)(!(off=true))))", true },
		{ "(&(!(a=1))(!(b=1))(c=1))", false },
		{ "(|(!(on=*))(!(off=*))(color=red))", true },
	};

	for (size_t i = 0; i < N(rows); i++) {
		char                err[256] = "";
		struct ldap_filter *f = ldap_parse(rows[i].filter, err, sizeof(err));

		cr_assert(f != NULL, "%s: %s", rows[i].filter, err);
		cr_assert(ldap_match(f, look_up, NULL) == rows[i].matches, "%s", rows[i].filter);
		ldap_free(f);
	}
}

Test(ldap, refuses_what_is_no_filter_and_says_where)
{
	static const struct {
		const char *filter, *err;
	} rows[] = {
		{ "", "character 1: '(' is expected" },
		{ "   ", "character 4: '(' is expected" },
		{ "bad", "character 1: '(' is expected" },
		{ "c1", "character 1: '(' is expected" },
		{ "a=b", "character 1: '(' is expected" },
		{ "(bad", "character 5: one of = >= <= ~= is expected" },
		{ "(bad)", "character 5: one of = >= <= ~= is expected" },
		{ "(", "character 2: a key is expected" },
		{ "()", "character 2: a key is expected" },
		{ "(=b)", "character 2: a key is expected" },
		{ "( =b)", "character 3: a key is expected" },
		{ "(a=b", "character 5: ')' is expected" },
		{ "(a=b))", "character 6: something follows the filter" },
		{ "(a=b)x", "character 6: something follows the filter" },
		{ "(a=b)(c=d)", "character 6: something follows the filter" },
		{ "(a=(b))", "character 4: ')' is expected" },
		{ "(a=b(c)", "character 5: ')' is expected" },
		{ "(a(b=c)", "character 3: one of = >= <= ~= is expected" },
		{ "(a>b)", "character 4: one of = >= <= ~= is expected" },
		{ "(a<b)", "character 4: one of = >= <= ~= is expected" },
		{ "(a~b)", "character 4: one of = >= <= ~= is expected" },
		{ "(a>=)", "character 5: a value is expected" },
		{ "(a<=)", "character 5: a value is expected" },
		{ "(a~=)", "character 5: a value is expected" },
		{ "(a=b\\", "character 6: nothing follows the '\\'" },
		{ "(a=b\\)", "character 7: ')' is expected" },
		{ "(&)", "character 3: '(' is expected" },
		{ "(|)", "character 3: '(' is expected" },
		{ "(!)", "character 3: '(' is expected" },
		{ "(&a=b)", "character 3: '(' is expected" },
		{ "(!(a=b)(c=d))", "character 8: ')' is expected" },
		{ "(&(a=b)", "character 8: ')' is expected" },
		{ "(&(a=b)c)", "character 8: ')' is expected" },
	};

	for (size_t i = 0; i < N(rows); i++) {
		char err[256] = "";

		cr_assert(ldap_parse(rows[i].filter, err, sizeof(err)) == NULL, "%s",
		          rows[i].filter);
		cr_assert(eq(str, err, (char *)rows[i].err), "%s", rows[i].filter);
		cr_assert(ldap_parse(rows[i].filter, NULL, 0) == NULL);
		cr_assert(ldap_parse(rows[i].filter, err, 3) == NULL);
		cr_assert(eq(sz, strlen(err), 2), "cut, with its NUL");
	}
}

/* n times "(!" around a comparison, which is a level too. */
static bool parses_with_levels(unsigned levels)
{
	char                text[4096] = "";
	struct ldap_filter *f;

	for (unsigned i = 1; i < levels; i++)
		strcat(text, "(!");
	strcat(text, "(on=true)");
	for (unsigned i = 1; i < levels; i++)
		strcat(text, ")");
	f = ldap_parse(text, NULL, 0);
	if (f != NULL)
		cr_assert(ldap_match(f, look_up, NULL) == (levels % 2 == 1), "%u levels", levels);
	ldap_free(f);
	return f != NULL;
}

Test(ldap, has_limits)
{
	char                text[5001], err[256];
	struct ldap_filter *f;

	cr_assert(parses_with_levels(1));
	cr_assert(parses_with_levels(31));
	cr_assert(parses_with_levels(32));
	cr_assert(not(parses_with_levels(33)));
	cr_assert(not(parses_with_levels(1000)));
	/* 4,096 octets are a filter, 4,097 none */
	memset(text, 'x', sizeof(text));
	memcpy(text, "(color=", 7);
	memcpy(text + 4095, ")", 2);
	f = ldap_parse(text, err, sizeof(err));
	cr_assert(f != NULL, "%s", err);
	cr_assert(not(ldap_match(f, look_up, NULL)));
	ldap_free(f);
	memcpy(text + 4095, "x)", 3);
	cr_assert(ldap_parse(text, err, sizeof(err)) == NULL);
	cr_assert(eq(str, err, "character 1: a filter of more than 4096 octets"));
	/* wide is not deep: 800 siblings, twice */
	strcpy(text, "(|");
	for (int i = 0; i < 800; i++)
		strcat(text, "(a=b)");
	strcat(text, ")");
	f = ldap_parse(text, err, sizeof(err));
	cr_assert(f != NULL, "%s", err);
	cr_assert(not(ldap_match(f, look_up, NULL)));
	ldap_free(f);
	ldap_free(NULL);
}
