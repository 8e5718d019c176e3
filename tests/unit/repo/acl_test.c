/* Under test: repo/acl.c, repo/permit.c. The rows of tests/conformance/acl.rows. Random
 * lists are in acl_random_test.c. */
#include "questions.h"
#include <boardwalk/err.h>
#include <criterion/criterion.h>
#include <support/rows.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ENTRIES 24
#define MAX_NAMES   16

struct row_entry {
	char             path[64];
	struct acl_entry e;
	char             restrictions[256]; /* JSON; "": none */
};

/* ---- shared ---- */

static struct principals *set_of(struct principals_table *t, enum handle_kind kind,
                                 const uint64_t *ids, unsigned n)
{
	struct handle h = { .kind = kind, .n_principals = n, .principals = (const uint8_t *)ids };

	return principals_ref_of(t, &h);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct row_entry *)a)->path, ((const struct row_entry *)b)->path);
}

/* Loads the entries as PostgreSQL would bring them: by path, then by position. */
static void load(struct acl *acl, const struct row_entry *entries, unsigned n)
{
	struct row_entry sorted[MAX_ENTRIES];
	int64_t          generation = acl_generation(acl);

	/* Stable for equal paths: insertion sort. */
	for (unsigned i = 0; i < n; i++) {
		unsigned k = i;

		for (; k > 0 && by_path(&sorted[k - 1], &entries[i]) > 0; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = entries[i];
	}
	acl_load_begin(acl);
	for (unsigned i = 0; i < n; i++) {
		const char *json = sorted[i].restrictions;

		if (*json != '\0')
			cr_assert_eq(restriction_parse(json, strlen(json), acl_arena(acl),
			                               &sorted[i].e.restriction),
			             BW_OK, "%s", json);
		acl_load_add(acl, bw_str(sorted[i].path), &sorted[i].e);
	}
	acl_load_end(acl, generation + 1);
	cr_assert_eq(acl_generation(acl), generation + 1);
}

static bool has_item(struct acl *acl, const struct acl_item *item, const struct principals *who,
                     uint64_t bits)
{
	const struct acl_scope *scope = acl_scope_of(acl, item->path);
	uint64_t                allowed = acl_evaluate(scope, who, item);

	if (!acl_is_restricted(scope, who))
		cr_assert_eq(acl_allowed(acl, scope, who), allowed,
		             "a decision is remembered wrongly");
	return (allowed & bits) == bits;
}

static bool has(struct acl *acl, const char *path, size_t n, const struct principals *who,
                uint64_t bits)
{
	return has_item(acl, &(struct acl_item){ .path = { path, n } }, who, bits);
}

/* ---- rows ---- */

static char     names[MAX_NAMES][32];
static unsigned n_names;

static uint64_t id_of(const char *name)
{
	for (unsigned i = 0; i < n_names; i++)
		if (strcmp(names[i], name) == 0)
			return i + 100;
	snprintf(names[n_names], sizeof(names[0]), "%s", name);
	return n_names++ + 100;
}

static uint64_t bits_of(const struct privileges *privileges, char *list)
{
	uint64_t bits = 0;
	char    *save, *name;

	for (name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
		uint64_t one = privilege_bits(privileges, bw_str(name));

		cr_assert(one != 0, "no privilege %s", name);
		bits |= one;
	}
	return bits;
}

/* name=value or name=[value,value]; "" is the empty value. Becomes JSON. */
static void parse_restriction(const char *text, char *json, size_t room)
{
	const char *equals = strchr(text, '='), *at = equals + 1;
	size_t      n = strlen(json);

	cr_assert_not_null(equals, "%s", text);
	n += (size_t)snprintf(json + n, room - n, "%s\"rep:%.*s\":[", n > 0 ? "," : "{",
	                      (int)(equals - text), text);
	at += *at == '[';
	while (*at != '\0' && *at != ']') {
		size_t size = strcspn(at, ",]");

		n += (size_t)snprintf(json + n, room - n, "\"%.*s\"%s",
		                      strncmp(at, "\"\"", 2) == 0 ? 0 : (int)size, at,
		                      at[size] == ',' ? "," : "");
		at += size + (at[size] == ',');
	}
	snprintf(json + n, room - n, "]");
}

static unsigned parse_entries(const struct privileges *privileges, char *text,
                              struct row_entry *ret)
{
	unsigned n = 0;
	char    *save, *one;

	for (one = strtok_r(text, ";", &save); one != NULL; one = strtok_r(NULL, ";", &save), n++) {
		char who[32], list[128], *rest, *restriction;
		int  size = 0;

		ret[n] = (struct row_entry){ 0 };
		cr_assert_eq(sscanf(one, " %63s %31s %127s%n", ret[n].path, who, list, &size), 3,
		             "%s", one);
		if (strcmp(ret[n].path, ":repository") == 0)
			ret[n].path[0] = '\0';
		ret[n].e = (struct acl_entry){ id_of(who + 1), bits_of(privileges, list),
			                       who[0] == '+', false, NULL };
		for (restriction = strtok_r(one + size, " ", &rest); restriction != NULL;
		     restriction = strtok_r(NULL, " ", &rest))
			parse_restriction(restriction, ret[n].restrictions,
			                  sizeof(ret[n].restrictions) - 1);
		if (ret[n].restrictions[0] != '\0')
			strcat(ret[n].restrictions, "}");
	}
	return n;
}

static struct principals *parse_who(struct principals_table *t, char *text)
{
	uint64_t ids[MAX_NAMES];
	unsigned n = 0;
	char    *slash = strchr(text, '/'), *save, *name;

	*slash = '\0';
	for (name = strtok_r(text, " ,", &save); name != NULL; name = strtok_r(NULL, " ,", &save))
		ids[n++] = id_of(name) << 1;
	for (name = strtok_r(slash + 1, " ,", &save); name != NULL;
	     name = strtok_r(NULL, " ,", &save))
		if (strcmp(name, "-") != 0)
			ids[n++] = id_of(name) << 1 | 1;
	return set_of(t, HANDLE_USER, ids, n);
}

Test(acl, rows)
{
	struct principals_table *t = principals_table_new();
	struct acl              *acl = acl_new();
	FILE                    *f = fopen(rows_file(CONFORMANCE_DIR "/acl.rows"), "re");
	char                     line[1024];
	unsigned                 n_rows = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct row_entry   entries[MAX_ENTRIES];
		struct principals *who;
		char              *save, *id, *list, *set, *question, *expected;

		if (line[0] == '#')
			continue;
		id = strtok_r(line, "\t", &save);
		list = strtok_r(NULL, "\t", &save);
		set = strtok_r(NULL, "\t", &save);
		question = strtok_r(NULL, "\t", &save);
		expected = strtok_r(NULL, "\t", &save);
		cr_assert_not_null(expected, "%s", id);
		n_names = 0;
		load(acl, entries, parse_entries(acl_privileges(acl), list, entries));
		who = parse_who(t, set);
		cr_assert_eq(question_allowed(acl, who, question), strcmp(expected, "yes") == 0,
		             "%s: %s", id, question);
		principals_unref(who);
		n_rows++;
	}
	cr_assert(n_rows >= rows_least(125), "only %u rows", n_rows);
	fclose(f);
	acl_free(acl);
	principals_table_free(t);
}

Test(acl, admin_and_empty)
{
	struct principals_table *t = principals_table_new();
	struct acl              *acl = acl_new();
	struct principals       *admin = set_of(t, HANDLE_ADMIN, (uint64_t[]){ 1 << 1 }, 1);
	struct principals       *user = set_of(t, HANDLE_USER, (uint64_t[]){ 1 << 1 }, 1);

	cr_assert(acl_generation(acl) == -1 && acl_loads(acl) > 0);
	cr_assert(has(acl, "/x", 2, admin, ACL_ALL) && !has(acl, "/x", 2, user, ACL_READ_NODES));
	cr_assert_neq(admin, user, "the same principals without the power are another set");
	load(acl, (struct row_entry[]){ { .path = "/", .e = { 1, ACL_ALL, false, false, NULL } } },
	     1);
	cr_assert(has(acl, "/x", 2, admin, ACL_ALL),
	          "no entry takes anything from the administrator");
	cr_assert_eq(privilege_bits(acl_privileges(acl), BW_STR("jcr:raed")), 0);
	cr_assert_eq(privilege_bits(acl_privileges(acl), BW_STR("")), 0);
	principals_unref(admin);
	principals_unref(user);
	acl_free(acl);
	principals_table_free(t);
}
