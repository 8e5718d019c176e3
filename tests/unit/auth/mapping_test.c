/* Under test: auth/mapping.c. A bundle becomes exactly the user or the list that the configuration
 * names, or nobody. */
#include <criterion/criterion.h>
#include <base/log.h>
#include "auth/mapping.c"

#define MAX 8

struct row {
	const char *id;
	const char *entries[MAX];
	/* subservice NULL: absent; target NULL: refused, "[p,q]": a list */
	const char *bundle, *subservice, *target;
};

static const struct row rows[] = {
	{ "M01", { "b=u" }, "b", NULL, "u" },
	{ "M02", { "b=u" }, "b", "s", "u" },
	{ "M03", { "b:s=v" }, "b", "s", "v" },
	{ "M04", { "b:s=v" }, "b", NULL, NULL },
	{ "M05", { "b=u", "b:s=v" }, "b", "s", "v" },
	{ "M05, the other order", { "b:s=v", "b=u" }, "b", "s", "v" },
	{ "M05, without", { "b=u", "b:s=v" }, "b", NULL, "u" },
	{ "M05, another", { "b=u", "b:s=v" }, "b", "t", "u" },
	{ "M07", { "b=[p,q]" }, "b", "s", "[p,q]" },
	{ "M09", { "b:s=[p]", "b=u" }, "b", NULL, "u" },
	{ "M09, with", { "b:s=[p]", "b=u" }, "b", "s", "[p]" },
	{ "a list of the bundle beats a user of the subservice",
	  { "b=[p]", "b:s=u" },
	  "b",
	  "s",
	  "[p]" },
	{ "M10", { "b=[ p , ,q,p ]" }, "b", NULL, "[p,q]" },
	{ "list not closed", { "b=[p", "c=w" }, "b", NULL, NULL },
	{ "list with no name", { "b=[p,q\tr]", "c=w" }, "b", NULL, NULL },
	{ "list is normalised", { "b=[Zoe\xcc\x88,Zo\xc3\xab]" }, "b", NULL, "[Zo\xc3\xab]" },
	{ "one of each", { "b=u", "b=[p]" }, "b", NULL, "[p]" },
	{ "M13", { "b=u:x" }, "b", NULL, "u:x" },
	{ "M14 b:=u", { "b:=u", "c=w" }, "b", NULL, NULL },
	{ "M14 =u", { "=u", "c=w" }, "", NULL, NULL },
	{ "M14 :s=u", { ":s=u", "c=w" }, "", "s", NULL },
	{ "M14 b=", { "b=", "c=w" }, "b", NULL, NULL },
	{ "M14 b", { "b", "c=w" }, "b", NULL, NULL },
	{ "M14, the others work", { "b:=u", "=u", ":s=u", "b=", "b", "c=w" }, "c", NULL, "w" },
	{ "M15", { "b:s:t=u" }, "b", "s:t", "u" },
	{ "M16", { "b=u=v" }, "b", NULL, "u=v" },
	{ "M22", { NULL }, "b", "s", NULL },
	{ "M24", { "b=u" }, "b", "", "u" },
	{ "M35", { "B=u" }, "b", NULL, NULL },
	{ "a name is not a beginning", { "bundle=u" }, "bun", NULL, NULL },
	{ "nor longer", { "bun=u" }, "bundle", NULL, NULL },
	{ "name is normalised", { "b=Zoe\xcc\x88" }, "b", NULL, "Zo\xc3\xab" },
	{ "name with control", { "b=u\tv" }, "b", NULL, NULL },
	{ "many", { "d=4", "a=1", "c=3", "b=2", "b:x=5", "a:x=6" }, "b", "x", "5" },
};

static struct mapping *mapping_of(const char *const *entries, char *err, size_t err_size)
{
	char            *items[MAX];
	struct conf_list list = { items, 0 };

	for (; list.n < MAX && entries[list.n] != NULL; list.n++)
		items[list.n] = (char *)entries[list.n];
	return mapping_new(&list, err, err_size);
}

static void put_target(const struct mapping_target *t, char *text, size_t room)
{
	size_t n = 0;

	*text = '\0';
	for (unsigned i = 0; t != NULL && i < t->n; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%.*s",
		                      i > 0        ? ","
		                      : t->is_list ? "["
		                                   : "",
		                      (int)t->names[i].n, t->names[i].p);
	if (t != NULL && t->is_list)
		snprintf(text + n, room - n, "]");
}

Test(mapping, rows)
{
	log_init("test", LOG_LEVEL_ERROR);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char            err[256] = "";
		struct mapping *m = mapping_of(rows[i].entries, err, sizeof(err));
		char            text[256];

		cr_assert_not_null(m, "%s: %s", rows[i].id, err);
		put_target(mapping_find(m, bw_str(rows[i].bundle), bw_str(rows[i].subservice)),
		           text, sizeof(text));
		cr_assert_str_eq(text, rows[i].target != NULL ? rows[i].target : "", "%s",
		                 rows[i].id);
		mapping_free(m);
	}
}

Test(mapping, refused_at_start)
{
	static const struct {
		const char *entries[MAX], *says;
	} bad[] = {
		{ { "b:s=[]" }, "\"b:s=[]\": a list has" }, /* M11 */
		{ { "b=u", "c=[ , ]" }, "\"c=[ , ]\": a list has" },
		{ { "b=[p]", "b=[q]" }, "map the same service" },
		{ { "b=u", "c=x", "b=v" }, "map the same service" },
		{ { "b:s=u", "b:s=u" }, "map the same service" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char err[256] = "";

		cr_assert_null(mapping_of(bad[i].entries, err, sizeof(err)), "row %zu", i);
		cr_assert_not_null(strstr(err, bad[i].says), "row %zu: %s", i, err);
		cr_assert_not_null(strstr(err, "auth.service_users"), "row %zu: %s", i, err);
	}
}
