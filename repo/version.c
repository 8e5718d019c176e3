/* version.c - the history of a node, and what it and what was below it were in a version.
 *
 *      versions_ask --statement--> on_rows --entries as new as the rows--> answered, or on_blob called
 *                        ^            |
 *                        |            | newer
 *                        `-- loaded --'   (struct versions.pausing)
 *
 * Owns: questions that wait. Runs in: repo's loop. Fails with: BW_ENOTFOUND (also for what may not be
 * read), BW_ECONFLICT, BW_ETOOBIG, and pg.h's. Tests: tests/unit/repo/version_test.c. */
#include "version.h"
#include "encode.h"
#include "permit.h"
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>
#include <wire/record.h>

#define PAGE_OCTETS 200000u /* one more version still fits a frame */
#define RETRY_S     1u

enum statement {
#define Q_VERSION(name, n_params, n_columns, writes, sql) VERSION_##name,
#include "queries.def"
};

/* Columns of both, then of each. */
enum { GENERATION, NODE_TYPE, NAME, LISTED };
enum { TYPE = 2, RESOURCE_TYPE, SUPER_TYPE, PROPERTIES };

struct versions {
	struct resources   *r;
	struct loaded_watch watch;
	TAILQ_HEAD(, version_ask) pausing; /* until the entries are as new as what they saw */
};

struct version_ask {
	struct versions      *owner; /* not to be touched when the statement has failed */
	struct version_asker *asker; /* NULL: gone */
	struct wire_question  q;
	struct principals    *who;
	int64_t               generation;
	LIST_ENTRY(version_ask) with_asker;
	TAILQ_ENTRY(version_ask) with_pausing;
	struct version_question question; /* its strings are in text, a NUL behind each */
	char                    text[];
};

/* ---- ends ---- */

static void end(struct version_ask *ask)
{
	if (ask->asker != NULL)
		LIST_REMOVE(ask, with_asker);
	principals_unref(ask->who);
	free(ask);
}

static void fail(struct version_ask *ask, int err)
{
	static const char *const reasons[] = {
		[-BW_ENOTFOUND] = "not found",
		[-BW_ETOOBIG] = "the version does not fit an answer",
		[-BW_ECONFLICT] = "the property has another value in this version",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many reads are waiting for PostgreSQL",
		[-BW_ETIME] = "PostgreSQL took too long",
		[-BW_EIO] = "PostgreSQL refused a read",
	};

	if (ask->asker != NULL)
		wire_fail(ask->asker->chan, &ask->q, err,
		          err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0, reasons[-err]);
	end(ask);
}

static void answer(struct version_ask *ask, const ProtobufCMessage *m)
{
	uint64_t types, acl;

	resources_counters(ask->owner->r, &types, &acl);
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, types, acl, m);
	end(ask);
}

/* ---- permissions ---- */

/* Who reads which node. */
struct reader {
	struct permit   permit;
	struct arena    arena;
	struct acl_item item;
};

static void reader_init(struct reader *reader, struct version_ask *ask)
{
	arena_init(&reader->arena);
	permit_init(&reader->permit, resources_acl(ask->owner->r), ask->who, &reader->arena);
}

static bool may_read_node(struct reader *reader, struct bw_str path, struct bw_str type)
{
	reader->item = (struct acl_item){ path, type, BW_ABSENT };
	return permit(&reader->permit, PERMIT_READ_NODE, &reader->item, BW_ABSENT) == BW_OK;
}

/* Of a part of a version: what stood where it did, as what it was then. */
static bool may_read_part(struct reader *reader, const struct version_question *question,
                          struct bw_str type)
{
	const char *path;

	if (question->below.p == NULL)
		return true;
	path = arena_printf(&reader->arena, "%s/%s", question->path.n > 1 ? question->path.p : "",
	                    question->below.p);
	return may_read_node(reader, bw_str(path), type);
}

static bool may_read_property(void *arg, struct bw_str name)
{
	struct reader *reader = arg;

	reader->item.property = name;
	return permit(&reader->permit, PERMIT_READ_PROPERTY, &reader->item, BW_ABSENT) == BW_OK;
}

/* ---- answers ---- */

/* Versions as records, one behind the other, as many as fit; how many. BW_EIO: malformed. */
static int put_versions(struct version_ask *ask, const struct pg_rows *rows, struct buf *out,
                        unsigned *ret_n)
{
	unsigned n = pg_rows_count(rows);
	int      err = BW_OK;

	if (pg_text(rows, 0, NAME).p == NULL)
		n = 0;
	for (*ret_n = 0; err == BW_OK && *ret_n < n && *ret_n < ask->question.max; ++*ret_n) {
		struct bw_str     name = pg_text(rows, *ret_n, NAME);
		char              path[300];
		struct encode_row row = { .primary_type = BW_STR("nt:version"),
			                  .properties = pg_text(rows, *ret_n, LISTED) };
		uint32_t          props_at;
		bool              cycle;

		if (buf_size(out) > PAGE_OCTETS)
			break;
		snprintf(path, sizeof(path), "/%s", name.p);
		row.path = bw_str(path);
		err = encode_record(out, &row, resources_types(ask->owner->r), &props_at, &cycle);
	}
	return err;
}

static void answer_list(struct version_ask *ask, const struct pg_rows *rows)
{
	Bw__Wire__ResourcePage m = BW__WIRE__RESOURCE_PAGE__INIT;
	struct buf             out;
	unsigned               n;
	int                    err;

	buf_init(&out);
	err = put_versions(ask, rows, &out, &n);
	m.more = n > 0 && n < pg_rows_count(rows);
	m.count = n;
	m.records = (ProtobufCBinaryData){ buf_size(&out), buf_data(&out) };
	if (err != BW_OK)
		fail(ask, err);
	else
		answer(ask, &m.base);
	buf_done(&out);
}

/* The record that reader may read of the node of the row. */
static int put_node(struct version_ask *ask, const struct pg_rows *rows, struct reader *reader,
                    struct buf *out)
{
	struct encode_row row = {
		.path = reader->item.path,
		.primary_type = pg_text(rows, 0, TYPE),
		.resource_type = pg_text(rows, 0, RESOURCE_TYPE),
		.super_type = pg_text(rows, 0, SUPER_TYPE),
		.properties = pg_text(rows, 0, PROPERTIES),
	};
	struct buf whole;
	uint32_t   props_at;
	bool       cycle;
	int        err;

	buf_init(&whole);
	err = encode_record(&whole, &row, resources_types(ask->owner->r), &props_at, &cycle);
	if (err == BW_OK)
		encode_filtered(out, buf_data(&whole), (uint32_t)buf_size(&whole), props_at,
		                may_read_property, reader);
	buf_done(&whole);
	return err;
}

static void answer_node(struct version_ask *ask, const struct buf *record, size_t n_path)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;

	m.resolved = (uint32_t)n_path;
	m.record = (ProtobufCBinaryData){ buf_size(record), buf_data(record) };
	if (buf_size(record) > WIRE_FRAME_MAX - 64u)
		fail(ask, BW_ETOOBIG);
	else
		answer(ask, &m.base);
}

static int find_value(const struct version_question *question, const struct buf *bytes)
{
	struct record      record;
	struct record_prop prop;

	if (record_get(buf_data(bytes), buf_size(bytes), &record) != BW_OK ||
	    !record_prop(&record, question->property, &prop) || prop.type != BW_VALUE_BINARY)
		return BW_ENOTFOUND;
	for (unsigned i = 0; i < prop.n; i++)
		if (bw_str_eq(record_value(&record, &prop, i), question->range.value))
			return BW_OK;
	return BW_ECONFLICT;
}

static void answer_blob(struct version_ask *ask, const struct buf *record)
{
	int err = find_value(&ask->question, record);

	if (err != BW_OK) {
		fail(ask, err);
		return;
	}
	if (ask->asker != NULL)
		ask->question.on_blob(ask->asker, &ask->q, &ask->question.range);
	end(ask);
}

static void answer_part(struct version_ask *ask, const struct pg_rows *rows, struct reader *reader)
{
	struct bw_str type = pg_text(rows, 0, TYPE);
	struct buf    record;
	int           err = BW_ENOTFOUND;

	buf_init(&record);
	if (type.p != NULL && may_read_part(reader, &ask->question, type))
		err = put_node(ask, rows, reader, &record);
	if (err != BW_OK)
		fail(ask, err);
	else if (ask->question.kind == VERSION_NODE)
		answer_node(ask, &record, ask->question.path.n);
	else
		answer_blob(ask, &record);
	buf_done(&record);
}

/* ---- questions ---- */

static void on_rows(void *arg, int err, const struct pg_rows *rows)
{
	struct version_ask *ask = arg;
	struct resources   *r;
	struct reader       reader;
	struct bw_str       type;

	if (err != BW_OK) {
		fail(ask, err);
		return;
	}
	r = ask->owner->r;
	ask->generation = pg_int(rows, 0, GENERATION);
	if (ask->generation > acl_generation(resources_acl(r))) {
		TAILQ_INSERT_TAIL(&ask->owner->pausing, ask, with_pausing);
		resources_want_entries(r);
		return;
	}
	type = pg_text(rows, 0, NODE_TYPE);
	reader_init(&reader, ask);
	if (type.p == NULL || !may_read_node(&reader, ask->question.path, type))
		fail(ask, BW_ENOTFOUND);
	else if (ask->question.kind == VERSION_LIST)
		answer_list(ask, rows);
	else
		answer_part(ask, rows, &reader);
	arena_done(&reader.arena);
}

static void send_statement(struct version_ask *ask)
{
	const struct version_question *question = &ask->question;
	bool                           list = question->kind == VERSION_LIST;
	char                           most[16];
	struct pg_param                params[] = { { question->path.p },
		                                    { question->name.p },
		                                    { list ? most : question->below.p } };
	int                            err;

	snprintf(most, sizeof(most), "%u", question->max + 1);
	err = resources_ask_versions(ask->owner->r, list ? VERSION_VERSIONS : VERSION_FROZEN,
	                             params, on_rows, ask);
	if (err != BW_OK)
		fail(ask, err);
}

static void on_loaded(void *arg)
{
	struct versions    *v = arg;
	struct version_ask *ask, *next;

	for (ask = TAILQ_FIRST(&v->pausing); ask != NULL; ask = next) {
		next = TAILQ_NEXT(ask, with_pausing);
		if (ask->generation > acl_generation(resources_acl(v->r)))
			continue;
		TAILQ_REMOVE(&v->pausing, ask, with_pausing);
		send_statement(ask);
	}
	if (!TAILQ_EMPTY(&v->pausing))
		resources_want_entries(v->r);
}

/* What PostgreSQL takes as text. */
static bool is_text(struct bw_str s)
{
	utf8proc_int32_t c;

	for (size_t i = 0; i < s.n;) {
		utf8proc_ssize_t n =
			utf8proc_iterate((const uint8_t *)s.p + i, (utf8proc_ssize_t)(s.n - i), &c);

		if (n <= 0 || c == 0)
			return false;
		i += (size_t)n;
	}
	return true;
}

/* Copies it to *at, which is moved behind its NUL. */
static struct bw_str keep(struct bw_str s, char **at)
{
	struct bw_str copy = { *at, s.n };

	if (s.p == NULL)
		return s;
	memcpy(*at, s.p, s.n);
	*at += s.n + 1;
	return copy;
}

void versions_ask(struct versions *v, struct version_asker *asker, const struct wire_question *q,
                  struct principals *who, const struct version_question *question)
{
	const struct bw_str strings[] = { question->path, question->name, question->below,
		                          question->property, question->range.value };
	size_t              n = 0;
	struct version_ask *ask;
	char               *at;

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		n += strings[i].n + 1;
	ask = xcalloc(1, sizeof(*ask) + n);
	at = ask->text;
	ask->owner = v;
	ask->asker = asker;
	ask->q = *q;
	ask->who = principals_ref(who);
	ask->question = *question;
	ask->question.path = keep(question->path, &at);
	ask->question.name = keep(question->name, &at);
	ask->question.below = keep(question->below, &at);
	ask->question.property = keep(question->property, &at);
	ask->question.range.value = keep(question->range.value, &at);
	LIST_INSERT_HEAD(&asker->waiting, ask, with_asker);
	if (!is_text(question->path) || !is_text(question->name) || !is_text(question->below))
		fail(ask, BW_ENOTFOUND);
	else
		send_statement(ask);
}

/* ---- life ---- */

struct versions *versions_new(struct resources *r)
{
	struct versions *v = xcalloc(1, sizeof(*v));

	v->r = r;
	TAILQ_INIT(&v->pausing);
	resources_on_loaded(r, &v->watch, on_loaded, v);
	return v;
}

void versions_free(struct versions *v)
{
	struct version_ask *ask;

	if (v == NULL)
		return;
	resources_off_loaded(&v->watch);
	while ((ask = TAILQ_FIRST(&v->pausing)) != NULL) {
		TAILQ_REMOVE(&v->pausing, ask, with_pausing);
		fail(ask, BW_EGONE);
	}
	free(v);
}

void version_asker_init(struct version_asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->waiting);
}

void version_asker_gone(struct version_asker *a)
{
	struct version_ask *ask;

	while ((ask = LIST_FIRST(&a->waiting)) != NULL) {
		LIST_REMOVE(ask, with_asker);
		ask->asker = NULL;
	}
}
