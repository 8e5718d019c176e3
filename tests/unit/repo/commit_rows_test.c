/* The rows of tests/conformance/commit: two sessions of one state, A commits, then B; over the wire
 * against a real PostgreSQL.
 *
 * Lines: id | before | A | B | what B is told | what is there afterwards. Steps as in changing.h;
 * afterwards is read by the administrator over the same repo, whose cache has seen what was before.
 *
 *    before     steps of the administrator; also  acl /a +ada jcr:read,jcr:write
 *    A, B       steps; "as ada: STEPS" of another than the administrator; "-": nothing;
 *               "acl /a -ada jcr:write" is done when A would commit
 *    told       ok, ok N (N changes changed something), conflict, notfound, forbidden, content, toobig;
 *               behind a colon a part of the text that comes with it
 *    afterwards "/a p=v" (values as in steps), "/a -p" (not there), "/a: x y" (children), "/a is T",
 *               "/a mixins M", "no /a" */
#include "changing.h"
#include <stdio.h>
#include <stdlib.h>
#include <support/rows.h>

#define ADA 100

static struct world  w;
static struct client c;
static bool          has_lists; /* the row before, or this one */

static const struct {
	const char *name;
	int         err;
} outcomes[] = {
	{ "ok", BW_OK },
	{ "conflict", BW_ECONFLICT },
	{ "notfound", BW_ENOTFOUND },
	{ "forbidden", BW_EFORBIDDEN },
	{ "content", BW_ECONTENT },
	{ "toobig", BW_ECONTENTSIZE },
};

static const char *name_of(int err)
{
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		if (outcomes[i].err == err)
			return outcomes[i].name;
	return "an error that rows do not know";
}

static char *trim(char *s)
{
	char *end;

	while (*s == ' ')
		s++;
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\n'))
		*--end = '\0';
	return s;
}

/* ---- before ---- */

/* "acl /a +ada jcr:read,jcr:write": true if the step is one, and then it is done. */
static bool do_acl(const char *step)
{
	char path[256], sign, privileges[256];

	if (sscanf(step, " acl %255s %cada %255s", path, &sign, privileges) != 3)
		return false;
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('%s', %d, %s, string_to_array('%s', ','))", path,
	                  ADA, sign == '+' ? "true" : "false", privileges);
	has_lists = true;
	return true;
}

static void do_before(uint64_t admin, char *steps)
{
	char *step;

	while ((step = strsep(&steps, ";")) != NULL) {
		int err = BW_OK;

		if (*trim(step) != '\0' && strcmp(trim(step), "-") != 0 && !do_acl(step))
			err = change(&c, admin, step);
		cr_assert(err == BW_OK, "before: %s: %s", step, name_of(err));
	}
}

/* ---- sessions ---- */

struct session {
	struct changing changing;
	const char     *acl;  /* in place of steps */
	bool            none; /* nothing is committed */
};

static void session_open(struct session *s, uint64_t admin, char *steps)
{
	uint64_t who = admin;

	*s = (struct session){ .none = strcmp(steps, "-") == 0 };
	if (strncmp(steps, "acl ", 4) == 0)
		s->acl = steps;
	if (s->none || s->acl != NULL)
		return;
	if (strncmp(steps, "as ada:", 7) == 0) {
		who = client_login(&c, HANDLE_USER, ADA, NULL);
		steps += 7;
	}
	changing_init(&s->changing, &c, who, steps);
}

static int session_commit(struct session *s, unsigned *ret_changed, char *text)
{
	int err;

	*ret_changed = 0;
	text[0] = '\0';
	if (s->none)
		return BW_OK;
	if (s->acl != NULL)
		return do_acl(s->acl) ? BW_OK : BW_EINVAL;
	err = changing_commit(&s->changing, ret_changed, text);
	changing_done(&s->changing);
	return err;
}

static bool is_told(const char *expected, int err, unsigned changed, const char *text)
{
	const char *name = name_of(err), *part;
	size_t      n = strlen(name);

	if (strncmp(expected, name, n) != 0)
		return false;
	expected += n;
	if (*expected == ' ')
		return (unsigned)strtoul(expected, NULL, 10) == changed;
	if (*expected == '\0')
		return true;
	part = trim((char *)expected + 1);
	return *expected == ':' && strstr(text, part) != NULL;
}

/* ---- afterwards ---- */

static void put_value(struct buf *out, const struct record *r, const struct record_prop *prop)
{
	static const char *const prefixes[] = { [BW_VALUE_LONG] = "l:",
		                                [BW_VALUE_DOUBLE] = "d:",
		                                [BW_VALUE_DECIMAL] = "dec:",
		                                [BW_VALUE_DATE] = "date:",
		                                [BW_VALUE_BOOLEAN] = "b:",
		                                [BW_VALUE_NAME] = "name:",
		                                [BW_VALUE_PATH] = "path:",
		                                [BW_VALUE_REFERENCE] = "ref:",
		                                [BW_VALUE_WEAKREFERENCE] = "weak:",
		                                [BW_VALUE_URI] = "uri:" };

	buf_printf(out, "%s%s", prefixes[prop->type] != NULL ? prefixes[prop->type] : "",
	           prop->multiple ? "[" : "");
	for (unsigned i = 0; i < prop->n; i++)
		buf_printf(out, "%s%s", i > 0 ? "," : "", record_value(r, prop, i).p);
	buf_printf(out, "%s", prop->multiple ? "]" : "");
}

/* What the property is, as steps have it; absent: "". Heap. */
static char *property_of(const struct record *r, const char *name)
{
	struct record_prop prop;
	struct buf         out;
	char              *text;

	buf_init(&out);
	if (record_prop(r, bw_str(name), &prop))
		put_value(&out, r, &prop);
	buf_append(&out, "", 1);
	text = strdup((char *)buf_data(&out));
	buf_done(&out);
	return text;
}

static char *children_of(uint64_t admin, const char *path)
{
	struct wire_frame   f = { .id = WIRE_RESOURCE_PAGE };
	struct wire_message m;
	struct record       r;
	struct call         call;
	struct buf          out;
	size_t              at = 0;
	char               *text;

	client_children(&c, &call, admin, bw_str(path), BW_ABSENT, 256);
	call_wait(&w, &call);
	cr_assert_eq(call.err, BW_OK, "children of %s", path);
	f.length = (uint32_t)call.n;
	f.payload = call.answer;
	cr_assert_eq(wire_message_get(&f, &m), BW_OK);
	buf_init(&out);
	for (unsigned i = 0; i < m.u->resource_page.count; i++) {
		ProtobufCBinaryData records = m.u->resource_page.records;

		cr_assert_eq(record_get(records.data + at, records.len - at, &r), BW_OK);
		buf_printf(&out, "%s%s", i > 0 ? " " : "", r.name.p);
		at += r.size;
	}
	buf_append(&out, "", 1);
	text = strdup((char *)buf_data(&out));
	buf_done(&out);
	call_done(&call);
	return text;
}

/* One item about a node that is there; got: what it is instead, 256 octets. */
static bool holds(const struct record *r, char *item, char *got)
{
	char *equals = strchr(item, '=');
	char *value;
	bool  fits;

	if (strncmp(item, "is ", 3) == 0) {
		snprintf(got, 256, "is %s", r->primary_type.p);
		return strcmp(item, got) == 0;
	}
	if (item[0] == '-') {
		value = property_of(r, item + 1);
		snprintf(got, 256, "%s=%s", item + 1, value);
		fits = value[0] == '\0';
		free(value);
		return fits;
	}
	cr_assert_not_null(equals, "afterwards: %s", item);
	*equals = '\0';
	value = property_of(r, item);
	snprintf(got, 256, "%s=%s", item, value);
	fits = strcmp(value, equals + 1) == 0;
	free(value);
	return fits;
}

static bool is_so(uint64_t admin, char *item, char *got)
{
	char         *rest = strchr(item, ' ');
	struct call   call;
	struct record r;
	bool          fits;
	int           err;
	char         *text;

	if (strncmp(item, "no ", 3) == 0) {
		err = client_read(&c, admin, item + 3, &call, &r);
		call_done(&call);
		snprintf(got, 256, "%s", err == BW_OK ? "it is there" : "another error");
		return err == BW_ENOTFOUND;
	}
	text = rest != NULL ? rest - 1 : item + strlen(item) - 1;
	if (*text == ':') {
		*text = '\0';
		text = children_of(admin, item);
		snprintf(got, 256, "%s: %s", item, text);
		fits = strcmp(text, rest != NULL ? trim(rest) : "") == 0;
		free(text);
		return fits;
	}
	cr_assert_not_null(rest, "afterwards: %s", item);
	*rest = '\0';
	err = client_read(&c, admin, item, &call, &r);
	snprintf(got, 256, "%s is not there", item);
	fits = err == BW_OK && holds(&r, trim(rest + 1), got);
	call_done(&call);
	return fits;
}

static unsigned check_afterwards(const char *id, uint64_t admin, char *items)
{
	unsigned failed = 0;
	char    *item, got[256], whole[512];

	while ((item = strsep(&items, ";")) != NULL) {
		item = trim(item);
		snprintf(whole, sizeof(whole), "%s", item);
		if (*item == '\0' || is_so(admin, item, got))
			continue;
		fprintf(stderr, "%s: afterwards: %s, but: %s\n", id, whole, got);
		failed++;
	}
	return failed;
}

/* ---- rows ---- */

/* Until repo judges by the lists that are in the database. */
static void wait_for_lists(void)
{
	char   *text = test_postgres_value(w.server, "SELECT acl FROM repo.generation");
	int64_t generation = strtoll(text, NULL, 10);

	free(text);
	journal_want_entries(w.journal);
	world_until(&w, acl_generation(resources_acl(w.resources)) >= generation);
}

static void empty_repository(uint64_t admin)
{
	char *names = children_of(admin, "/"), *name, *save, step[300];

	for (name = strtok_r(names, " ", &save); name != NULL; name = strtok_r(NULL, " ", &save)) {
		snprintf(step, sizeof(step), "remove /%s", name);
		cr_assert_eq(change(&c, admin, step), BW_OK, "%s", step);
	}
	free(names);
	if (has_lists)
		test_postgres_sql(w.server, "DELETE FROM repo.ace; SELECT repo.acl_raise()");
	has_lists = false;
}

static unsigned run_row(uint64_t admin, char *line)
{
	char          *fields[6], *at = line, text[256];
	struct session a, b;
	unsigned       changed;
	int            err;

	for (int i = 0; i < 6; i++) {
		fields[i] = strsep(&at, "|");
		cr_assert_not_null(fields[i], "a row has six fields: %s", line);
		fields[i] = trim(fields[i]);
	}
	empty_repository(admin);
	do_before(admin, fields[1]);
	if (has_lists)
		wait_for_lists();
	session_open(&a, admin, fields[2]);
	session_open(&b, admin, fields[3]);
	err = session_commit(&a, &changed, text);
	cr_assert_eq(err, BW_OK, "%s: A: %s: %s", fields[0], name_of(err), text);
	err = session_commit(&b, &changed, text);
	if (!is_told(fields[4], err, changed, text)) {
		fprintf(stderr, "%s: B is told: %s %u %s\n", fields[0], name_of(err), changed,
		        text);
		return 1 + check_afterwards(fields[0], admin, fields[5]);
	}
	return check_afterwards(fields[0], admin, fields[5]);
}

Test(commit_rows, rows)
{
	FILE    *f = fopen(rows_file(CONFORMANCE_DIR "/commit/commit.rows"), "re");
	char     line[4096];
	unsigned n = 0, failed = 0;
	uint64_t admin;

	cr_assert_not_null(f);
	world_begin(&w, 1 << 20);
	test_postgres_sql(w.server,
	                  "INSERT INTO auth.principal (id, name, class) VALUES (%d, 'ada', 'user')",
	                  ADA);
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		n++;
		failed += run_row(admin, line) > 0;
	}
	fclose(f);
	client_close(&c);
	world_end(&w);
	cr_assert(n >= rows_least(90), "%u rows", n);
	cr_assert_eq(failed, 0, "%u of %u rows failed", failed, n);
}
