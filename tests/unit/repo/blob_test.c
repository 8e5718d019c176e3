/* repo/blob.c and migrations/0012_blob.sql over the wire against a real PostgreSQL: uploads, ranges,
 * equal content stored once, what damage and permissions do, what nobody holds. */
#include "changing.h"
#include <criterion/new/assert.h>
#include <repo/blob.h>
#include <stdio.h>
#include <stdlib.h>

#define PIECE BLOB_PIECE

static struct world  w;
static struct client c;
static uint64_t      admin;

static void begin(void)
{
	world_begin(&w, 1 << 20);
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	cr_assert(eq(int, change(&c, admin, "create /f type=nt:unstructured"), BW_OK));
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

TestSuite(blob, .init = begin, .fini = end);

/* Octet i of the content number seed: no two chunks of it are equal. */
static uint8_t octet(unsigned seed, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;

	return (uint8_t)(x >> 29 ^ x >> 51);
}

static ProtobufCBinaryData bytes(struct bw_str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)s.p };
}

/* Appends octets offset to offset + n of a content; upload: 37 octets, "" for a new one, then its id. */
static int append(struct client *of, uint64_t handle, char *upload, unsigned seed, uint64_t offset,
                  size_t n)
{
	Bw__Wire__BlobWrite m = BW__WIRE__BLOB_WRITE__INIT;
	uint8_t            *data = malloc(n + 1);
	struct call         call;
	int                 err;

	for (size_t i = 0; i < n; i++)
		data[i] = octet(seed, offset + i);
	m.sequence = handle;
	m.has_upload = upload[0] != '\0';
	m.upload = bytes(bw_str(upload));
	m.offset = offset;
	m.data = (ProtobufCBinaryData){ n, data };
	client_ask(of, &call, WIRE_BLOB_WRITE, &m.base);
	call_wait(&w, &call);
	err = call.err;
	if (err == BW_OK) {
		struct wire_frame   f = { .id = WIRE_BLOB_WRITTEN,
			                  .length = (uint32_t)call.n,
			                  .payload = call.answer };
		struct wire_message got;

		cr_assert(eq(int, wire_message_get(&f, &got), BW_OK));
		cr_assert(eq(u64, got.u->blob_written.length, offset + n));
		cr_assert(eq(sz, got.u->blob_written.upload.len, (size_t)36));
		memcpy(upload, got.u->blob_written.upload.data, 36);
		upload[36] = '\0';
	}
	call_done(&call);
	free(data);
	return err;
}

/* A whole content as one value of a property. */
static void put(const char *path, const char *name, unsigned seed, uint64_t length)
{
	char     upload[37] = "", steps[200];
	uint64_t at = 0;

	do {
		size_t n = length - at < 3 * PIECE ? (size_t)(length - at) : 3 * PIECE;

		cr_assert(eq(int, append(&c, admin, upload, seed, at, n), BW_OK));
		at += n;
	} while (at < length);
	snprintf(steps, sizeof(steps), "set %s %s=bin:%s", path, name, upload);
	cr_assert(eq(int, change(&c, admin, steps), BW_OK));
}

/* Reads up to max octets; *ret_n of them were right, or the test ends. */
static int get(struct client *of, uint64_t handle, const char *path, const char *name,
               const char *value, unsigned seed, uint64_t offset, unsigned max, size_t *ret_n)
{
	Bw__Wire__BlobRead m = BW__WIRE__BLOB_READ__INIT;
	struct call        call;
	int                err;

	m.sequence = handle;
	m.value = bytes(bw_str(value));
	m.property = bytes(bw_str(name));
	m.offset = offset;
	m.max = max;
	m.path = bytes(bw_str(path));
	client_ask(of, &call, WIRE_BLOB_READ, &m.base);
	call_wait(&w, &call);
	err = call.err;
	if (err == BW_OK) {
		struct wire_frame   f = { .id = WIRE_BLOB_DATA,
			                  .length = (uint32_t)call.n,
			                  .payload = call.answer };
		struct wire_message got;

		cr_assert(eq(int, wire_message_get(&f, &got), BW_OK));
		*ret_n = got.u->blob_data.data.len;
		cr_assert(le(sz, *ret_n, (size_t)max));
		for (size_t i = 0; i < *ret_n; i++)
			cr_assert(eq(u8, got.u->blob_data.data.data[i], octet(seed, offset + i)),
			          "octet %zu", i);
	}
	call_done(&call);
	return err;
}

/* The value as the record has it; heap. */
static char *value_of(const char *path, const char *name)
{
	return client_property(&c, admin, path, name);
}

static void assert_sql(const char *sql, const char *expected)
{
	char *text = test_postgres_value(w.server, "%s", sql);

	cr_assert(eq(str, text, (char *)expected), "%s", sql);
	free(text);
}

Test(blob, every_range_comes_back)
{
	static const uint64_t lengths[] = { 0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 500000 };
	size_t                n;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t length = lengths[i], at = 0;
		char    *value;

		put("/f", "data", (unsigned)i, length);
		value = value_of("/f", "data");
		do {
			cr_assert(eq(
				int,
				get(&c, admin, "/f", "data", value, (unsigned)i, at, 3 * PIECE, &n),
				BW_OK));
			at += n;
		} while (n > 0);
		cr_assert(eq(u64, at, length));
		if (length > PIECE) { /* a range over a border */
			cr_assert(eq(
				int,
				get(&c, admin, "/f", "data", value, (unsigned)i, PIECE - 1, 2, &n),
				BW_OK));
			cr_assert(eq(sz, n, (size_t)2));
		}
		cr_assert(eq(int,
		             get(&c, admin, "/f", "data", value, (unsigned)i, UINT64_MAX, 9, &n),
		             BW_OK));
		cr_assert(eq(sz, n, (size_t)0));
		free(value);
	}
}

Test(blob, equal_content_is_stored_once)
{
	char *one, *two;

	put("/f", "one", 7, 300000);
	put("/f", "two", 7, 300000);
	put("/f", "other", 8, 300000);
	one = value_of("/f", "one");
	two = value_of("/f", "two");
	cr_assert(eq(str, one, two));
	assert_sql("SELECT count(*) FROM repo.blob", "2");
	assert_sql("SELECT count(*) FROM repo.blob_chunk", "10");
	free(one);
	free(two);
}

Test(blob, an_upload_is_its_users)
{
	char     upload[37] = "", steps[200];
	uint64_t bob;

	test_postgres_sql(w.server, "SELECT auth.principal_create('bob', 'user')");
	bob = client_login(&c, HANDLE_USER, 100, NULL);
	cr_assert(eq(int, append(&c, admin, upload, 1, 0, PIECE), BW_OK));
	cr_assert(eq(int, append(&c, bob, upload, 1, PIECE, 1), BW_ESTATE));
	cr_assert(eq(int, append(&c, admin, upload, 1, 0, PIECE), BW_EINVAL),
	          "a gap or an overlap");
	cr_assert(eq(int, append(&c, admin, upload, 1, PIECE, 1), BW_OK));
	cr_assert(eq(int, append(&c, admin, upload, 1, 2 * PIECE, 1), BW_EINVAL), "behind its end");
	cr_assert(eq(int, change(&c, admin, "set /f p=bin:00000000-0000-0000-0000-000000000000"),
	             BW_ECONTENT));
	snprintf(steps, sizeof(steps), "create /g type=nt:unstructured p=bin:%s; set /f p=bin:%s",
	         upload, upload);
	cr_assert(eq(int, change(&c, admin, steps), BW_OK), "one upload for two properties");
}

Test(blob, a_hash_that_one_knows_is_no_value)
{
	char *value, steps[200];

	put("/f", "data", 1, 10);
	value = value_of("/f", "data");
	snprintf(steps, sizeof(steps), "set /f copy=bin:%.64s%%20%s", value, value + 65);
	cr_assert(eq(int, change(&c, admin, steps), BW_ECONTENT));
	free(value);
}

Test(blob, nobody_reads_what_he_may_not)
{
	uint64_t bob;
	size_t   n;
	char    *value;

	test_postgres_sql(w.server, "SELECT auth.principal_create('bob', 'user')");
	put("/f", "data", 1, 10);
	put("/f", "secret", 2, 10);
	test_postgres_sql(w.server,
	                  "SELECT repo.ace_append('/f', 100, true, '{jcr:read}');"
	                  "SELECT repo.ace_append('/f', 100, false, '{rep:readProperties}',"
	                  "  '{\"rep:itemNames\": [\"secret\"]}')");
	client_settle(&c, admin);
	bob = client_login(&c, HANDLE_USER, 100, NULL);
	value = value_of("/f", "data");
	cr_assert(eq(int, get(&c, bob, "/f", "data", value, 1, 0, 10, &n), BW_OK));
	cr_assert(eq(sz, n, (size_t)10));
	cr_assert(eq(int, get(&c, bob, "/f", "none", value, 1, 0, 10, &n), BW_ENOTFOUND));
	cr_assert(eq(int, get(&c, bob, "/g", "data", value, 1, 0, 10, &n), BW_ENOTFOUND));
	free(value);
	value = value_of("/f", "secret");
	cr_assert(eq(int, get(&c, bob, "/f", "secret", value, 2, 0, 10, &n), BW_ENOTFOUND));
	cr_assert(eq(int, get(&c, bob, "/f", "data", value, 2, 0, 10, &n), BW_ECONFLICT),
	          "the hash of something else opens nothing");
	free(value);
}

Test(blob, damage_is_noticed)
{
	size_t n;
	char  *value;

	put("/f", "data", 1, 3 * PIECE);
	value = value_of("/f", "data");
	test_postgres_sql(w.server, "UPDATE repo.blob_chunk SET data = set_byte(data, 9, 0), "
	                            "hash = hash WHERE n = 1");
	cr_assert(eq(int, get(&c, admin, "/f", "data", value, 1, 0, PIECE, &n), BW_OK));
	cr_assert(eq(int, get(&c, admin, "/f", "data", value, 1, PIECE, PIECE, &n), BW_EIO));
	test_postgres_sql(w.server, "DELETE FROM repo.blob_chunk WHERE n = 2");
	cr_assert(eq(int, get(&c, admin, "/f", "data", value, 1, 2 * PIECE, PIECE, &n), BW_EIO));
	free(value);
}

Test(blob, what_nobody_holds_goes_and_nothing_else)
{
	put("/f", "kept", 1, 100);
	put("/f", "gone", 2, 100);
	cr_assert(eq(int, change(&c, admin, "create /g type=nt:unstructured"), BW_OK));
	put("/g", "removed", 3, 100);
	put("/g", "same", 1, 100);
	cr_assert(eq(int, change(&c, admin, "unset /f gone"), BW_OK));
	cr_assert(eq(int, change(&c, admin, "remove /g"), BW_OK));
	assert_sql("SELECT repo.blob_sweep(100)", "0");
	test_postgres_sql(w.server,
	                  "UPDATE repo.blob_upload SET touched = now() - interval '2 hours';"
	                  "UPDATE repo.blob SET unused = unused - interval '2 hours'");
	assert_sql("SELECT repo.blob_sweep(100)", "2");
	assert_sql("SELECT count(*) || ' ' || (SELECT count(*) FROM repo.blob_upload) || ' ' || "
	           "(SELECT count(*) FROM repo.blob_chunk) FROM repo.blob",
	           "1 0 1");
	assert_sql("SELECT repo.blob_sweep(100)", "0");
}

Test(blob, one_user_has_64_uploads_at_most)
{
	for (int i = 0; i < 64; i++) {
		char upload[37] = "";

		cr_assert(eq(int, append(&c, admin, upload, (unsigned)i, 0, 1), BW_OK));
	}
	cr_assert(eq(int, append(&c, admin, (char[37]){ "" }, 99, 0, 1), BW_EBUSY));
}

Test(blob, over_a_gibibyte_is_refused)
{
	char upload[37] = "";

	cr_assert(eq(int, append(&c, admin, upload, 1, 0, PIECE), BW_OK));
	test_postgres_sql(w.server, "UPDATE repo.blob SET length = 1073741824");
	cr_assert(eq(int, append(&c, admin, upload, 1, 1073741824, 1), BW_ECONTENTSIZE));
}

Test(blob, what_is_malformed_ends_the_connection)
{
	Bw__Wire__BlobWrite m = BW__WIRE__BLOB_WRITE__INIT;
	struct call         call;
	uint8_t             data[1] = { 0 };

	m.sequence = admin;
	m.offset = 1; /* no multiple of 64 KiB */
	m.data = (ProtobufCBinaryData){ 1, data };
	client_ask(&c, &call, WIRE_BLOB_WRITE, &m.base);
	world_until(&w, c.closed);
	call_done(&call);
}

Test(blob, it_goes_on_after_postgresql_was_killed)
{
	char   upload[37] = "", steps[100], *value;
	size_t n;
	int    err;

	cr_assert(eq(int, append(&c, admin, upload, 5, 0, PIECE), BW_OK));
	test_postgres_kill(w.server);
	test_postgres_start(w.server);
	do
		err = append(&c, admin, upload, 5, PIECE, 7);
	while (err == BW_EGONE);
	cr_assert(err == BW_OK || err == BW_EINVAL, "BW_EINVAL: it had been written");
	snprintf(steps, sizeof(steps), "set /f data=bin:%s", upload);
	while ((err = change(&c, admin, steps)) == BW_EGONE)
		world_turn(&w);
	cr_assert(eq(int, err, BW_OK));
	value = value_of("/f", "data");
	while (value[0] == '?') { /* the connection for reads comes back by itself */
		free(value);
		world_turn(&w);
		value = value_of("/f", "data");
	}
	cr_assert(eq(str, value + 65, "65543"));
	while ((err = get(&c, admin, "/f", "data", value, 5, PIECE, 9, &n)) == BW_EGONE)
		world_turn(&w);
	cr_assert(eq(int, err, BW_OK));
	cr_assert(eq(sz, n, (size_t)7));
	free(value);
}
