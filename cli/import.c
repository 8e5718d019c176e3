/* import.c - the command `import`: initial content from a JSON file, in transactions of 1,000 nodes.
 *
 *    file --> content_json.c --items--> batch --repo.import_nodes--> COMMIT
 *                            --octets-> repo.blob_write
 *
 * What is there already keeps its values (but for --overwrite), so that an import that was interrupted
 * is run once more and goes on where it ended. A batch that ends between a node and what its type wants of
 * its children is refused by the database; then it takes more nodes in, and only the last word counts.
 *
 * Owns: the batch. Runs in: the command. Fails with: a line with the file's place, or the server's reason;
 * batches before it stay. Tests: tests/system/port_test.c. */
#include "cli.h"
#include "content_json.h"
#include "database.h"
#include "instance.h"
#include "progress.h"
#include "repoinit.h"

#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_NODES  1000u
#define BATCH_MOST   100000u     /* of one that has to take more in */
#define BATCH_OCTETS (32u << 20) /* the same */
#define BLOB_PIECE   196608u

struct import {
	const char     *name, *path;
	int             fd;
	bool            overwrite, failed; /* failed: a line has been said */
	struct database db;
	struct buf      items; /* "[" and items, separated */
	unsigned        n_items, retry_at;
	uint64_t        made, changed, seen;
	struct progress progress;
	/* The binary value that comes. */
	char     upload[40]; /* "" before the first octets are written */
	uint64_t sent;
	size_t   n_piece;
	uint8_t  piece[BLOB_PIECE];
};

static bool no_good(struct import *im, const char *format, const char *reason)
{
	im->failed = true;
	return complain(format, im->name, reason);
}

/* ---- batches ---- */

/* True: committed, or to be tried again with more (then nothing was written). */
static bool flush(struct import *im, bool last)
{
	const char *params[] = { NULL, im->overwrite ? "true" : "false" };
	PGresult   *rows;
	bool        done;

	if (im->n_items == 0)
		return true;
	buf_append(&im->items, "]", 2); /* and its NUL */
	params[0] = (const char *)buf_data(&im->items);
	done = database_try(&im->db, "SELECT made, changed FROM repo.import_nodes($1::jsonb, $2)",
	                    2, params, &rows);
	if (!done && !last && strcmp(im->db.sqlstate, "23514") == 0 && im->n_items < BATCH_MOST &&
	    buf_size(&im->items) < BATCH_OCTETS) {
		im->items.end -= 2;
		im->retry_at = im->n_items + BATCH_NODES;
		return true;
	}
	if (!done)
		return no_good(im, "%s: %s", database_reason(&im->db));
	im->made += strtoull(PQgetvalue(rows, 0, 0), NULL, 10);
	im->changed += strtoull(PQgetvalue(rows, 0, 1), NULL, 10);
	PQclear(rows);
	buf_clear(&im->items);
	im->n_items = 0;
	im->retry_at = BATCH_NODES;
	return true;
}

static bool on_item(void *arg, const char *json, size_t n)
{
	struct import *im = arg;

	buf_append(&im->items, im->n_items == 0 ? "[" : ",", 1);
	buf_append(&im->items, json, n);
	im->n_items++;
	im->progress.done = ++im->seen;
	return im->n_items < im->retry_at || flush(im, false);
}

/* ---- binary values ---- */

/* The octets that have been collected; also none, so that an empty value has an upload. */
static bool send_piece(struct import *im)
{
	size_t      n_text = 2 * im->n_piece + 3;
	char       *text = xmalloc(n_text), offset[24];
	const char *params[] = { im->upload[0] != '\0' ? im->upload : NULL, offset, text };
	PGresult   *rows;
	bool        done;

	memcpy(text, "\\x", 2);
	sodium_bin2hex(text + 2, n_text - 2, im->piece, im->n_piece);
	snprintf(offset, sizeof(offset), "%llu", (unsigned long long)im->sent);
	done = database_try(&im->db, "SELECT outcome, upload FROM repo.blob_write($1, 1, $2, $3)",
	                    3, params, &rows);
	free(text);
	if (!done)
		return no_good(im, "%s: %s", database_reason(&im->db));
	done = strcmp(PQgetvalue(rows, 0, 0), "done") == 0;
	if (done)
		snprintf(im->upload, sizeof(im->upload), "%s", PQgetvalue(rows, 0, 1));
	else
		no_good(im, "%s: a binary value: %s", PQgetvalue(rows, 0, 0));
	PQclear(rows);
	im->sent += im->n_piece;
	im->n_piece = 0;
	return done;
}

static bool on_octets(void *arg, const void *p, size_t n)
{
	struct import *im = arg;
	const uint8_t *from = p;

	while (n > 0) {
		size_t part = BLOB_PIECE - im->n_piece < n ? BLOB_PIECE - im->n_piece : n;

		memcpy(im->piece + im->n_piece, from, part);
		im->n_piece += part;
		from += part;
		n -= part;
		if (im->n_piece == BLOB_PIECE && !send_piece(im))
			return false;
	}
	return true;
}

/* Of a value whose octets are not in the file, because the database has them. */
static bool is_there(struct import *im, const char *expected)
{
	const char *params[] = { expected };
	PGresult   *rows;
	bool        there;

	if (!database_query(&im->db,
	                    "SELECT FROM repo.blob WHERE hash = decode(left($1, 64), 'hex')"
	                    " AND length = substr($1, 66)::bigint",
	                    1, params, &rows)) {
		im->failed = true;
		return false;
	}
	there = PQntuples(rows) > 0;
	PQclear(rows);
	return there;
}

/* The upload has done its work once its value is known: whoever interrupts the import leaves none. */
static bool take(struct import *im, char value[96])
{
	const char *params[] = { im->upload };
	PGresult   *rows;
	bool        done = database_query(&im->db,
	                                  "WITH taken AS MATERIALIZED (SELECT repo.blob_take($1, 1) AS v)"
	                                         "SELECT v FROM taken",
	                                  1, params, &rows);

	if (done) {
		snprintf(value, 96, "%s", PQgetvalue(rows, 0, 0));
		PQclear(rows);
		done = database_query(&im->db, "DELETE FROM repo.blob_upload WHERE id = $1", 1,
		                      params, &rows);
	}
	if (done)
		PQclear(rows);
	im->failed |= !done;
	return done;
}

static bool on_binary(void *arg, const char *expected, char value[96])
{
	struct import *im = arg;
	bool           done;

	if (im->sent == 0 && im->n_piece == 0 && expected[0] != '\0' &&
	    strcmp(expected + 64, " 0") != 0) {
		snprintf(value, 96, "%s", expected);
		return is_there(im, expected) ||
		       (!im->failed &&
		        no_good(im, "%s: the octets of a binary value are missing: %s", expected));
	}
	done = (im->upload[0] != '\0' && im->n_piece == 0) || send_piece(im);
	done = done && take(im, value);
	im->upload[0] = '\0';
	im->sent = 0;
	im->n_piece = 0;
	if (done && expected[0] != '\0' && strcmp(expected, value) != 0)
		return no_good(im, "%s: octets of a binary value are damaged: %s", expected);
	return done;
}

/* ---- the file ---- */

static bool read_all(struct import *im, struct content_reader *reader)
{
	static char text[1 << 18];
	ssize_t     n;

	do {
		n = read(im->fd, text, sizeof(text));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return complain_errno("%s", im->name);
		if (!content_read(reader, text, (size_t)n))
			return im->failed || complain("%s:%s", im->name, content_error(reader));
		im->progress.at += (uint64_t)n;
		progress_show(&im->progress);
	} while (n != 0);
	return flush(im, true);
}

static bool run(struct import *im)
{
	static const struct content_ops ops = { on_item, on_octets, on_binary };
	struct content_reader          *reader = content_reader_new(im->path, &ops, im);
	struct stat                     st;
	bool                            done;

	progress_begin(&im->progress,
	               fstat(im->fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
	               "nodes");
	im->retry_at = BATCH_NODES;
	buf_init(&im->items);
	done = read_all(im, reader) && !im->failed;
	progress_end(&im->progress);
	buf_done(&im->items);
	content_reader_free(reader);
	if (im->made + im->changed > 0 && !repoinit_ring(&im->db))
		done = false;
	printf("%s: %llu nodes made, %llu changed%s\n", im->path, (unsigned long long)im->made,
	       (unsigned long long)im->changed, done ? "" : "; the same command goes on from here");
	return done;
}

int import_main(struct cli *cli)
{
	static struct import im; /* large */
	struct instance      instance;
	const char          *file = cli->operands[1];
	bool                 done;

	im = (struct import){ .name = strcmp(file, "-") == 0 ? "standard input" : file,
		              .path = cli->operands[0],
		              .overwrite = cli->overwrite };
	if (im.path[0] != '/') {
		complain("%s: not an absolute path", im.path);
		return CLI_USAGE;
	}
	im.fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
	if (im.fd < 0) {
		complain_errno("%s", file);
		return CLI_FAILED;
	}
	done = instance_find(&instance, &cli->settings);
	if (done) {
		done = instance_become_owner(&instance) &&
		       database_open(&im.db, instance.owner_conninfo, false) && run(&im);
		database_close(&im.db);
		instance_done(&instance);
	}
	return done ? CLI_OK : CLI_FAILED;
}
