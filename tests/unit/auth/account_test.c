/* Under test: auth/account.c, over a fake connection, so that answers come when the test says. What
 * is in memory is used for as long as it is vouched for; a read that a change overtook is not kept;
 * principals are complete or the account is refused; memory is bounded. */
#include <criterion/criterion.h>
#include "auth/account.c"

/* ---- the fake connection: questions wait in a list until the test answers them ---- */

struct asked {
	char       name[300];
	pg_rows_cb cb;
	void      *arg;
};

struct pg_rows {
	unsigned    n;
	const char *columns[10]; /* NULL: NULL */
};

static struct asked asked[64];
static unsigned     n_asked;
static int          query_error;

struct pg *pg_new(struct ev_loop *loop, const char *conninfo, const struct pg_statement *list,
                  size_t n, const char *const *listen, unsigned timeout, unsigned queue,
                  const struct pg_ops *ops, void *owner)
{
	(void)loop, (void)conninfo, (void)list, (void)n, (void)listen, (void)timeout, (void)queue;
	(void)ops, (void)owner;
	return NULL;
}

void pg_require_schema(struct pg *pg)
{
	(void)pg;
}

void *pg_owner(const struct pg *pg)
{
	(void)pg;
	return NULL;
}

void pg_free(struct pg *pg)
{
	(void)pg;
}

int pg_query(struct pg *pg, unsigned statement, const struct pg_param *params, pg_rows_cb cb,
             void *arg)
{
	(void)pg;
	cr_assert_eq(statement, QUERY_ACCOUNT);
	if (query_error != BW_OK)
		return query_error;
	cr_assert_lt(n_asked, 64);
	snprintf(asked[n_asked].name, sizeof(asked[n_asked].name), "%s", params[0].text);
	asked[n_asked].cb = cb;
	asked[n_asked++].arg = arg;
	return BW_OK;
}

unsigned pg_rows_count(const struct pg_rows *rows)
{
	return rows->n;
}

struct bw_str pg_text(const struct pg_rows *rows, unsigned row, unsigned column)
{
	(void)row;
	return bw_str(rows->columns[column]);
}

int64_t pg_int(const struct pg_rows *rows, unsigned row, unsigned column)
{
	const char *text = pg_text(rows, row, column).p;

	return text != NULL ? strtoll(text, NULL, 10) : 0;
}

bool pg_bool(const struct pg_rows *rows, unsigned row, unsigned column)
{
	(void)row;
	return rows->columns[column] != NULL && rows->columns[column][0] == 't';
}

/* ---- driving ---- */

#define VERIFIER "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA"

static const struct pg_rows none = { 0 };
static const struct pg_rows reader = { 1, { "101", "user", "f", VERIFIER, "200 300" } };

struct outcome {
	unsigned n;
	int      err;
	uint64_t id, verifier_id;
};

static struct accounts *as;

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	log_init("test", LOG_LEVEL_ERROR);
	as = accounts_new(NULL, "", NULL, NULL);
	accounts_trust(as, UINT64_MAX);
}

static void tear_down(void)
{
	accounts_free(as);
}

TestSuite(account, .init = set_up, .fini = tear_down);

static void on_result(void *arg, int err, const struct account *a)
{
	struct outcome *o = arg;

	cr_assert_eq(a != NULL, err == BW_OK);
	o->n++;
	o->err = err;
	o->id = a != NULL ? a->id : 0;
	o->verifier_id = a != NULL ? a->verifier_id : 0;
}

static void fetch(const char *name, struct outcome *o)
{
	cr_assert_eq(accounts_fetch(as, bw_str(name), on_result, o), BW_OK);
}

static void answer(unsigned i, int err, const struct pg_rows *rows)
{
	asked[i].cb(asked[i].arg, err, err == BW_OK ? rows : NULL);
}

static const struct account *find(const char *name)
{
	return accounts_find(as, bw_str(name), 1000);
}

static void load(const char *name, const struct pg_rows *rows)
{
	struct outcome o = { 0 };

	n_asked = 0;
	fetch(name, &o);
	answer(0, BW_OK, rows);
	cr_assert_eq(o.n, 1);
}

Test(account, fields)
{
	const struct account *a;

	cr_assert_null(find("reader"));
	load("reader", &reader);
	a = find("reader");
	cr_assert_not_null(a);
	cr_assert(bw_str_eq(a->name, BW_STR("reader")));
	cr_assert(a->id == 101 && a->class == ACCOUNT_USER && !a->disabled && !a->is_crowded);
	cr_assert_str_eq(a->verifier, VERIFIER);
	cr_assert_neq(a->verifier_id, 0);
	cr_assert(a->who.kind == HANDLE_USER && a->who.user_id == 101 && a->who.n_principals == 4);
	cr_assert_eq(a->who.principals[0], 101 << 1);
	cr_assert_eq(a->who.principals[1], 200 << 1 | 1);
	cr_assert_eq(a->who.principals[2], 300 << 1 | 1);
	cr_assert_eq(a->who.principals[3], 3 << 1 | 1);
}

Test(account, kinds)
{
	static const struct {
		struct pg_rows rows;
		enum account_class class;
		bool             disabled, has_verifier;
		enum handle_kind kind;
		unsigned         n_principals;
	} table[] = {
		{ { 1, { "1", "user", "f", VERIFIER, NULL } },
		  ACCOUNT_USER,
		  false,
		  true,
		  HANDLE_ADMIN,
		  2 },
		{ { 1, { "120", "service", "f", NULL, "200" } },
		  ACCOUNT_SERVICE,
		  false,
		  false,
		  HANDLE_SERVICE,
		  3 },
		{ { 1, { "121", "user", "t", NULL, NULL } },
		  ACCOUNT_USER,
		  true,
		  false,
		  HANDLE_USER,
		  2 },
		{ { 1, { "122", "user", "f", "plain text", NULL } },
		  ACCOUNT_USER,
		  false,
		  false,
		  HANDLE_USER,
		  2 },
		{ { 1, { "123", "group", "f", NULL, NULL } },
		  ACCOUNT_GROUP,
		  false,
		  false,
		  HANDLE_USER,
		  2 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct account *a;

		load("x", &table[i].rows);
		a = find("x");
		cr_assert_eq(a->class, table[i].class, "row %zu", i);
		cr_assert_eq(a->disabled, table[i].disabled, "row %zu", i);
		cr_assert_eq(a->verifier != NULL, table[i].has_verifier, "row %zu", i);
		cr_assert_eq(a->verifier_id != 0, table[i].has_verifier, "row %zu", i);
		cr_assert_eq(a->who.kind, table[i].kind, "row %zu", i);
		cr_assert_eq(a->who.n_principals, table[i].n_principals, "row %zu", i);
	}
}

/* The user, 510 groups and everyone fit; 511 groups do not. */
Test(account, most_groups)
{
	static char    groups[8 * 520];
	struct pg_rows rows = { 1, { "101", "user", "f", NULL, groups } };
	size_t         n = 0;

	for (unsigned i = 0; i < 510; i++)
		n += (size_t)snprintf(groups + n, sizeof(groups) - n, i ? " %u" : "%u", 1000 + i);
	load("reader", &rows);
	cr_assert_not(find("reader")->is_crowded);
	cr_assert_eq(find("reader")->who.n_principals, 512);
	cr_assert_eq(find("reader")->who.principals[511], 3 << 1 | 1);
	for (unsigned i = 510; i < 513; i++) {
		n += (size_t)snprintf(groups + n, sizeof(groups) - n, " %u", 1000 + i);
		load("reader", &rows);
		cr_assert(find("reader")->is_crowded, "%u groups", i + 1);
		cr_assert_eq(find("reader")->who.n_principals, 0);
	}
}

Test(account, absence_is_known_too)
{
	load("nobody", &none);
	cr_assert_not_null(find("nobody"));
	cr_assert_eq(find("nobody")->id, 0);
	accounts_drop_all(as);
	cr_assert_null(find("nobody"));
}

Test(account, equal_reads_are_one_query)
{
	struct outcome o[20] = { 0 };

	for (unsigned i = 0; i < 20; i++)
		fetch(i % 2 ? "reader" : "writer", &o[i]);
	cr_assert_eq(n_asked, 2);
	cr_assert_str_eq(asked[0].name, "writer");
	answer(0, BW_OK, &none);
	answer(1, BW_OK, &reader);
	for (unsigned i = 0; i < 20; i++)
		cr_assert(o[i].n == 1 && o[i].err == BW_OK && o[i].id == (i % 2 ? 101 : 0));
}

Test(account, errors_reach_everybody_and_are_not_kept)
{
	struct outcome a = { 0 }, b = { 0 };

	fetch("reader", &a);
	fetch("reader", &b);
	answer(0, BW_EGONE, NULL);
	cr_assert(a.n == 1 && a.err == BW_EGONE && b.n == 1 && b.err == BW_EGONE);
	cr_assert_null(find("reader"));
	query_error = BW_EBUSY;
	cr_assert_eq(accounts_fetch(as, BW_STR("reader"), on_result, &a), BW_EBUSY);
	cr_assert_eq(a.n, 1);
}

/* The old row arrives after the news of its change. */
Test(account, overtaken_by_a_change)
{
	struct outcome before = { 0 }, after = { 0 };

	fetch("reader", &before);
	accounts_drop(as, 101);
	fetch("reader", &after);
	cr_assert_eq(n_asked, 2, "who asks after the news does not get an older answer");
	answer(0, BW_OK, &reader);
	cr_assert(before.n == 1 && before.id == 101, "who asked before is served");
	cr_assert_null(find("reader"), "and it is not kept");
	cr_assert_eq(after.n, 0);
	answer(1, BW_OK, &reader);
	cr_assert_eq(after.n, 1);
	cr_assert_not_null(find("reader"));
}

Test(account, bypassed_without_trust)
{
	struct outcome o[3] = { 0 };

	load("reader", &reader);
	accounts_trust(as, 1000);
	cr_assert_not_null(accounts_find(as, BW_STR("reader"), 999));
	cr_assert_null(accounts_find(as, BW_STR("reader"), 1000));
	n_asked = 0;
	for (unsigned i = 0; i < 3; i++)
		fetch("writer", &o[i]);
	cr_assert_eq(n_asked, 3, "one read per check");
	for (unsigned i = 0; i < 3; i++)
		answer(i, BW_OK, &none);
	accounts_trust(as, UINT64_MAX);
	cr_assert_null(find("writer"), "nothing read meanwhile was kept");
	cr_assert_not_null(find("reader"));
}

Test(account, dropped_by_id)
{
	struct pg_rows other = { 1, { "102", "user", "f", NULL, NULL } };
	struct pg_rows same_bucket = { 1, { "16485", "user", "f", NULL, NULL } };

	load("reader", &reader);
	load("other", &other);
	load("far", &same_bucket);
	cr_assert_eq(101 % BUCKETS, 16485 % BUCKETS);
	accounts_drop(as, 101);
	cr_assert_null(find("reader"));
	cr_assert_not_null(find("other"));
	cr_assert_not_null(find("far"));
}

Test(account, who_may_act_as_it_and_where_it_is_used)
{
	struct pg_rows        rows = { 1,
		                       { "101", "user", "f", VERIFIER, "200", "t",
		                         "7 18446744073709551615 9", "c0000201 20010db800000001" } };
	const struct account *a;
	char                  text[PLACE_TEXT];

	accounts_trust(as, UINT64_MAX);
	load("reader", &rows);
	a = find("reader");
	cr_assert(a->is_admin);
	cr_assert_eq(a->n_impersonators, 3);
	cr_assert(a->impersonators[0] == 7 && a->impersonators[1] == UINT64_MAX &&
	          a->impersonators[2] == 9);
	cr_assert_eq(a->who.n_principals, 3, "they are nobody it is");
	cr_assert_eq(a->n_places, 2);
	cr_assert_str_eq(place_text(&a->places[0], text), "192.0.2.1");
	cr_assert_str_eq(place_text(&a->places[1], text), "2001:db8:0:1::/64");
	cr_assert_str_eq(a->verifier, VERIFIER);
}

Test(account, verifiers_have_numbers)
{
	struct pg_rows changed = reader;
	uint64_t       first;

	load("reader", &reader);
	first = find("reader")->verifier_id;
	load("reader", &reader);
	cr_assert_eq(find("reader")->verifier_id, first);
	changed.columns[3] = VERIFIER "x";
	load("reader", &changed);
	cr_assert_neq(find("reader")->verifier_id, first);
}

/* Names nobody has cannot push out accounts; used accounts outlive unused ones. */
Test(account, bounded)
{
	struct pg_rows rows = { 1, { NULL, "user", "f", NULL, NULL } };
	char           name[16], id[16];

	load("reader", &reader);
	for (unsigned i = 0; i < 2 * MAX_ABSENT; i++) {
		snprintf(name, sizeof(name), "nobody%u", i);
		load(name, &none);
	}
	cr_assert_eq(as->n_absent, MAX_ABSENT);
	cr_assert_not_null(find("reader"));
	cr_assert_null(find("nobody0"));
	rows.columns[0] = id;
	for (unsigned i = 0; i < 3 * MAX_PRESENT; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		snprintf(id, sizeof(id), "%u", 1000 + i);
		load(name, &rows);
		if (i % 1000 == 0) {
			cr_assert_not_null(find(name), "the newest is there");
			cr_assert_not_null(find("reader"), "in use after %u", i);
		}
	}
	cr_assert_eq(as->n_present, MAX_PRESENT);
	cr_assert_null(find("user1"));
}
