/* blob.c - binary values: octets of uploads in, ranges of values out; once a minute the sweep of what
 * nobody holds.
 *
 * Owns: the connections, questions that wait. Runs in: repo's loop. Fails with: BW_ESTATE (there is no
 * such upload), BW_EINVAL (it does not end there), BW_ECONTENTSIZE, BW_EIO (a chunk is damaged or
 * missing), and pg.h's. Logs damaged chunks, and how many values were swept.
 * Tests: tests/unit/repo/blob_test.c. */
#include "blob.h"
#include "bytea.h"
#include <base/fatal.h>
#include <base/log.h>
#include <pg/pg.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_READS   32u /* statements on the way, of at most 400 KiB of text each */
#define MAX_WRITES  32u /* on each connection */
#define MAX_WRITERS 4u
#define WRITER_BUSY 2u /* in flight on each: another one is worth its connection */
#define RETRY_S     1u
#define SWEEP_S     60.
#define SWEEP_MOST  "100"
#define UPLOAD_ID   36u
#define HASH_TEXT   64u

enum blob_read {
#define Q_BLOB_READ(name, n_params, n_columns, writes, sql) BLOB_READ_##name,
#include "queries.def"
	N_READS
};
enum blob_write {
#define Q_BLOB_WRITE(name, n_params, n_columns, writes, sql) BLOB_WRITE_##name,
#include "queries.def"
	N_WRITES
};
static const struct pg_statement read_statements[] = {
#define Q_BLOB_READ(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};
static const struct pg_statement write_statements[] = {
#define Q_BLOB_WRITE(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

struct blobs {
	struct ev_loop *loop;
	char           *conninfo;
	unsigned        timeout_ms;
	struct pg      *reads, *writers[MAX_WRITERS];
	unsigned        n_writers;
	unsigned        n_waiting;
	ev_timer        sweep;
};

struct blob_ask {
	struct blobs        *b;
	struct blob_asker   *asker; /* NULL: gone */
	struct wire_question q;
	LIST_ENTRY(blob_ask) with_asker;
	uint64_t offset, length; /* READ: of the first octet asked for; of the value */
	unsigned max;
};

/* ---- connections ---- */

static struct pg *connect_to(struct blobs *b, const struct pg_statement *statements, size_t n,
                             unsigned max_queue)
{
	static const struct pg_ops ops = { NULL, NULL, NULL };
	struct pg *pg = pg_new(b->loop, b->conninfo, statements, n, NULL, b->timeout_ms, max_queue,
	                       &ops, b);

	pg_require_schema(pg);
	return pg;
}

static void add_writer(struct blobs *b)
{
	b->writers[b->n_writers++] = connect_to(b, write_statements, N_WRITES, MAX_WRITES);
}

/* The one with the least to do, of those that are there. */
static struct pg *writer(struct blobs *b)
{
	struct pg *best = b->writers[0];

	for (unsigned i = 1; i < b->n_writers; i++) {
		struct pg *pg = b->writers[i];

		if (pg_is_up(pg) && (!pg_is_up(best) || pg_in_flight(pg) < pg_in_flight(best)))
			best = pg;
	}
	if (pg_in_flight(best) >= WRITER_BUSY && b->n_writers < MAX_WRITERS)
		add_writer(b);
	return best;
}

/* ---- the end of a question ---- */

static void end(struct blob_ask *ask)
{
	if (ask->asker != NULL)
		LIST_REMOVE(ask, with_asker);
	ask->b->n_waiting--;
	free(ask);
}

static void fail(struct blob_ask *ask, int err)
{
	static const char *const reasons[] = {
		[-BW_ESTATE] = "there is no such upload",
		[-BW_EINVAL] = "the upload does not end there",
		[-BW_ECONTENTSIZE] = "a binary value has at most 1 GiB",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many binary values are on the way",
		[-BW_ETIME] = "PostgreSQL took too long",
		[-BW_EIO] = "the value cannot be read or written",
	};
	unsigned retry = err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0;

	if (ask->asker != NULL)
		wire_fail(ask->asker->chan, &ask->q, err, retry, reasons[-err]);
	end(ask);
}

static struct blob_ask *ask_new(struct blobs *b, struct blob_asker *asker,
                                const struct wire_question *q)
{
	struct blob_ask *ask = xcalloc(1, sizeof(*ask));

	ask->b = b;
	ask->asker = asker;
	ask->q = *q;
	LIST_INSERT_HEAD(&asker->waiting, ask, with_asker);
	b->n_waiting++;
	return ask;
}

/* ---- BLOB_WRITE ---- */

static int outcome_of(struct bw_str text)
{
	static const struct {
		struct bw_str text;
		int           err;
	} all[] = {
		{ { "done", 4 }, BW_OK },      { { "gone", 4 }, BW_ESTATE },
		{ { "order", 5 }, BW_EINVAL }, { { "full", 4 }, BW_ECONTENTSIZE },
		{ { "busy", 4 }, BW_EBUSY },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (bw_str_eq(text, all[i].text))
			return all[i].err;
	fatalx("blob_write says \"%.20s\"", text.p != NULL ? text.p : "");
}

static void on_written(void *arg, int err, const struct pg_rows *rows)
{
	struct blob_ask      *ask = arg;
	Bw__Wire__BlobWritten m = BW__WIRE__BLOB_WRITTEN__INIT;
	struct bw_str         upload;

	if (err == BW_OK)
		err = outcome_of(pg_text(rows, 0, 0));
	if (err != BW_OK) {
		fail(ask, err);
		return;
	}
	upload = pg_text(rows, 0, 1);
	m.upload = (ProtobufCBinaryData){ upload.n, (uint8_t *)upload.p };
	m.length = (uint64_t)pg_int(rows, 0, 2);
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	end(ask);
}

static bool is_upload_id(const ProtobufCBinaryData *id)
{
	if (id->len != UPLOAD_ID)
		return false;
	for (size_t i = 0; i < id->len; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? id->data[i] != '-'
		         : strchr("0123456789abcdef", id->data[i]) == NULL || id->data[i] == '\0')
			return false;
	}
	return true;
}

bool blobs_write(struct blobs *b, struct blob_asker *asker, const struct wire_question *q,
                 const struct principals *who, const Bw__Wire__BlobWrite *m)
{
	uint64_t         owner = principals_user(who);
	struct blob_ask *ask;
	struct arena     a;
	int              err;

	if (owner == 0)
		fatalx("a handle without a user");
	if (m->data.len > BLOB_MAX_OCTETS || m->offset % BLOB_PIECE != 0 || m->offset > INT64_MAX ||
	    (m->has_upload && !is_upload_id(&m->upload)))
		return false;
	ask = ask_new(b, asker, q);
	arena_init(&a);
	err = pg_query(
		writer(b), BLOB_WRITE_APPEND,
		(struct pg_param[]){
			{ m->has_upload ? arena_dup(&a, m->upload.data, m->upload.len) : NULL },
			{ arena_printf(&a, "%llu", (unsigned long long)owner) },
			{ arena_printf(&a, "%llu", (unsigned long long)m->offset) },
			{ bytea_text(&a, m->data.data, m->data.len) },
		},
		on_written, ask);
	arena_done(&a);
	if (err != BW_OK)
		fail(ask, err);
	return true;
}

/* ---- BLOB_READ ---- */

/* Octets of one chunk, the part of it that was asked for; false: the chunk is not what was stored. */
static bool put_chunk(struct buf *out, const struct blob_ask *ask, const struct pg_rows *rows,
                      unsigned row, struct arena *a)
{
	uint64_t      begin = (uint64_t)pg_int(rows, row, 0) * BLOB_PIECE, skip, n;
	struct bw_str hash = bytea_get(a, rows, row, 1), data = bytea_get(a, rows, row, 2);
	uint64_t      whole = ask->length - begin < BLOB_PIECE ? ask->length - begin : BLOB_PIECE;
	uint8_t       is[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(is, (const uint8_t *)data.p, data.n);
	if (data.n != whole || hash.n != sizeof(is) || memcmp(hash.p, is, sizeof(is)) != 0)
		return false;
	skip = ask->offset > begin ? ask->offset - begin : 0;
	n = data.n - skip;
	if (n > ask->max - buf_size(out))
		n = ask->max - buf_size(out);
	buf_append(out, data.p + skip, n);
	return true;
}

/* All chunks of the range, one behind the other. */
static bool put_chunks(struct buf *out, const struct blob_ask *ask, const struct pg_rows *rows)
{
	uint64_t     first = ask->offset / BLOB_PIECE;
	unsigned     n = pg_rows_count(rows);
	struct arena a;
	bool         whole = n > 0;

	arena_init(&a);
	for (unsigned i = 0; whole && i < n; i++)
		whole = (uint64_t)pg_int(rows, i, 0) == first + i &&
		        put_chunk(out, ask, rows, i, &a);
	arena_done(&a);
	return whole;
}

static void answer(struct blob_ask *ask, const void *octets, size_t n)
{
	Bw__Wire__BlobData m = BW__WIRE__BLOB_DATA__INIT;

	m.data = (ProtobufCBinaryData){ n, (uint8_t *)octets };
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	end(ask);
}

static void on_chunks(void *arg, int err, const struct pg_rows *rows)
{
	struct blob_ask *ask = arg;
	struct buf       out;

	buf_init(&out);
	if (err == BW_OK && !put_chunks(&out, ask, rows)) {
		log_error(ask->q.request, "a binary value is damaged or incomplete near octet %llu",
		          (unsigned long long)ask->offset);
		err = BW_EIO;
	}
	if (err != BW_OK)
		fail(ask, err);
	else
		answer(ask, buf_data(&out), buf_size(&out));
	buf_done(&out);
}

/* "HASH LENGTH", as the content has been checked to hold it. */
static uint64_t length_of(struct bw_str value)
{
	uint64_t length = 0;

	for (size_t i = HASH_TEXT + 1; i < value.n; i++)
		length = length * 10 + (uint64_t)(value.p[i] - '0');
	return length;
}

void blobs_read(struct blobs *b, struct blob_asker *asker, const struct wire_question *q,
                const struct blob_range *range)
{
	struct blob_ask *ask = ask_new(b, asker, q);
	uint64_t         last;
	struct arena     a;
	int              err;

	ask->offset = range->offset;
	ask->length = length_of(range->value);
	ask->max = range->max;
	if (ask->offset >= ask->length) {
		answer(ask, "", 0);
		return;
	}
	/* Three chunks at most: a range that begins within one ends with the third. */
	last = (ask->offset + ask->max - 1) / BLOB_PIECE;
	if (last > ask->offset / BLOB_PIECE + 2)
		last = ask->offset / BLOB_PIECE + 2;
	arena_init(&a);
	err = pg_query(b->reads, BLOB_READ_CHUNKS,
	               (struct pg_param[]){
			       { arena_printf(&a, "\\x%.*s", (int)HASH_TEXT, range->value.p) },
			       { arena_printf(&a, "%llu", (unsigned long long)ask->length) },
			       { arena_printf(&a, "%llu",
	                                      (unsigned long long)(ask->offset / BLOB_PIECE)) },
			       { arena_printf(&a, "%llu", (unsigned long long)last) },
		       },
	               on_chunks, ask);
	arena_done(&a);
	if (err != BW_OK)
		fail(ask, err);
}

/* ---- what nobody holds ---- */

static void on_swept(void *arg, int err, const struct pg_rows *rows)
{
	(void)arg; /* pg.c has logged an error; the next minute tries again */
	if (err == BW_OK && pg_int(rows, 0, 0) > 0)
		log_info(0, "%lld binary values that nobody holds are gone",
		         (long long)pg_int(rows, 0, 0));
}

static void on_sweep(struct ev_loop *loop, ev_timer *w, int events)
{
	struct blobs *b = w->data;

	(void)loop;
	(void)events;
	(void)pg_query(writer(b), BLOB_WRITE_SWEEP_BLOBS, (struct pg_param[]){ { SWEEP_MOST } },
	               on_swept, b);
}

/* ---- life ---- */

struct blobs *blobs_new(struct ev_loop *loop, const char *conninfo, unsigned statement_timeout_ms)
{
	struct blobs *b = xcalloc(1, sizeof(*b));

	b->loop = loop;
	b->conninfo = xstrdup(conninfo);
	b->timeout_ms = statement_timeout_ms;
	b->reads = connect_to(b, read_statements, N_READS, MAX_READS);
	add_writer(b);
	ev_timer_init(&b->sweep, on_sweep, SWEEP_S, SWEEP_S);
	b->sweep.data = b;
	ev_timer_start(loop, &b->sweep);
	return b;
}

void blobs_free(struct blobs *b)
{
	if (b == NULL)
		return;
	ev_timer_stop(b->loop, &b->sweep);
	pg_free(b->reads);
	for (unsigned i = 0; i < b->n_writers; i++)
		pg_free(b->writers[i]);
	free(b->conninfo);
	free(b);
}

bool blobs_are_up(const struct blobs *b)
{
	return pg_is_up(b->reads) && pg_is_up(b->writers[0]);
}

unsigned blobs_waiting(const struct blobs *b)
{
	return b->n_waiting;
}

void blob_asker_init(struct blob_asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->waiting);
}

void blob_asker_gone(struct blob_asker *a)
{
	struct blob_ask *ask;

	while ((ask = LIST_FIRST(&a->waiting)) != NULL) {
		LIST_REMOVE(ask, with_asker);
		ask->asker = NULL;
	}
}
