/* Keeping the parts of a body.
 *
 *    multipart_scan --content--> field, or file up to the threshold:  the arena
 *                                a larger file:  one file per request, part after part; it never
 *                                                had a name, or has lost it
 *
 * The disk is left to the threads of offload.c, so that a slow one stops this request and no other.
 * The file is closed when the arena goes, however the request ends; nothing is left for anybody to
 * clean up.
 *
 * Owns: the file; all else is in the request's arena. Runs in: the request's fiber, the jobs in
 * a thread. Fails with: BW_ESTATE, BW_ESERVLET, BW_EPARTSYNTAX, BW_EPARTSIZE, BW_EFORMSIZE,
 * BW_EIO, BW_EBUSY. Logs: what the folder failed with.
 * Tests: tests/unit/gateway/multipart_test.c, tests/conformance (N). */
#include "multipart.h"

#include "mediatype.h"
#include "multipart_scan.h"
#include "offload.h"
#include "params.h"
#include "request.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/utf8.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define WINDOW (64 * 1024)

struct bw_part {
	struct multipart     *owner;
	struct multipart_head head;
	uint64_t              size;
	const char           *memory; /* NULL: in the file */
	uint64_t              offset; /* there */
};

struct multipart {
	struct bw_req       *req;
	const struct upload *allowed;
	int                  err; /* BW_OK, or what each call returns */
	struct bw_part     **parts;
	size_t               n, cap;
	int                  fd; /* -1: no file yet */
	uint64_t             file_size;
	uint64_t             text_size; /* of all fields */
	struct buf           kept;      /* of the part that is coming, as long as it fits */
};

/* ---- the file: in a thread ---- */

struct transfer {
	struct multipart *m;
	void             *p;
	size_t            n;
	uint64_t          offset;
	int               error; /* errno, 0 */
};

/* A file that nobody else can reach, or not any more. */
static int open_nameless(const char *folder)
{
	int   fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	/* Not every file system can do that. */
	path = xasprintf("%s/part.XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static void write_out(void *arg)
{
	struct transfer *t = arg;
	const char      *p = t->p;

	if (t->m->fd < 0 && (t->m->fd = open_nameless(t->m->allowed->location)) < 0) {
		t->error = errno;
		return;
	}
	while (t->n > 0) {
		ssize_t n = pwrite(t->m->fd, p, t->n, (off_t)t->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			t->error = n < 0 ? errno : EIO;
			return;
		}
		p += n;
		t->n -= (size_t)n;
		t->offset += (uint64_t)n;
	}
}

static void read_in(void *arg)
{
	struct transfer *t = arg;
	char            *p = t->p;

	while (t->n > 0) {
		ssize_t n = pread(t->m->fd, p, t->n, (off_t)t->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			t->error = n < 0 ? errno : EIO;
			return;
		}
		p += n;
		t->n -= (size_t)n;
		t->offset += (uint64_t)n;
	}
}

static int transfer(struct multipart *m, void (*job)(void *arg), void *p, size_t n, uint64_t offset)
{
	struct transfer t = { .m = m, .p = p, .n = n, .offset = offset };
	int             err = offload_run(m->req, job, &t);

	if (err != BW_OK || t.error == 0)
		return err;
	log_error(m->req->id, "the parts of the request: %s: %s", m->allowed->location,
	          strerror(t.error));
	return t.error == ENOSPC || t.error == EDQUOT ? BW_EBUSY : BW_EIO;
}

static int append(struct multipart *m, const void *p, size_t n)
{
	int err = transfer(m, write_out, (void *)(uintptr_t)p, n, m->file_size);

	if (err == BW_OK)
		m->file_size += n;
	return err;
}

/* ---- what the scanner finds ---- */

static struct bw_part *coming(const struct multipart *m)
{
	return m->parts[m->n - 1];
}

static bool is_field(const struct bw_part *part)
{
	return !part->head.file_name.p;
}

static bool is_in_file(const struct multipart *m, const struct bw_part *part)
{
	return part->size > buf_size(&m->kept);
}

static int on_read(void *arg, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	return request_body_read(((struct multipart *)arg)->req, offset, buf, n, ret_n);
}

static int on_begin(void *arg, const struct multipart_head *head)
{
	struct multipart *m = arg;
	struct bw_part   *part;

	if (m->allowed->max_file_count >= 0 && m->n >= (uint64_t)m->allowed->max_file_count)
		return BW_EPARTSIZE;
	if (m->n == m->cap) {
		size_t           cap = m->cap > 0 ? 2 * m->cap : 8;
		struct bw_part **grown =
			arena_alloc(&m->req->arena, cap * sizeof(struct bw_part *));

		if (m->n > 0)
			memcpy(grown, m->parts, m->n * sizeof(struct bw_part *));
		m->parts = grown;
		m->cap = cap;
	}
	part = arena_zalloc(&m->req->arena, sizeof(*part));
	*part = (struct bw_part){ .owner = m, .head = *head, .offset = m->file_size };
	m->parts[m->n++] = part;
	return BW_OK;
}

static int on_content(void *arg, const void *p, size_t n)
{
	struct multipart *m = arg;
	struct bw_part   *part = coming(m);
	bool              spills = is_in_file(m, part);
	int               err;

	if (m->allowed->max_file_size >= 0 && part->size + n > (uint64_t)m->allowed->max_file_size)
		return BW_EPARTSIZE;
	if (is_field(part) && (m->text_size += n) > params_max_form())
		return BW_EFORMSIZE;
	spills |= !is_field(part) && part->size + n > (uint64_t)m->allowed->threshold;
	part->size += n;
	if (!spills) {
		buf_append(&m->kept, p, n);
		return BW_OK;
	}
	if (buf_size(&m->kept) > 0) {
		err = append(m, buf_data(&m->kept), buf_size(&m->kept));
		buf_clear(&m->kept);
		if (err != BW_OK)
			return err;
	}
	return append(m, p, n);
}

static int on_end(void *arg)
{
	struct multipart *m = arg;
	struct bw_part   *part = coming(m);

	if (is_in_file(m, part))
		return BW_OK;
	part->memory =
		arena_dup(&m->req->arena, part->size > 0 ? buf_data(&m->kept) : NULL, part->size);
	buf_clear(&m->kept);
	if (is_field(part) &&
	    (memchr(part->memory, '\0', part->size) || !utf8_ok(part->memory, part->size)))
		return BW_EPARTSYNTAX;
	return BW_OK;
}

/* ---- the body ---- */

static void close_file(struct multipart *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static void dispose(void *arg)
{
	close_file(arg);
	buf_done(&((struct multipart *)arg)->kept);
}

static int scan(struct multipart *m)
{
	const struct multipart_io io = {
		.arg = m, .read = on_read, .begin = on_begin, .content = on_content, .end = on_end
	};
	struct bw_req *req = m->req;
	struct bw_str  boundary;

	if (!multipart_boundary(&req->arena, request_header(req, "content-type"), &boundary))
		return BW_EPARTSYNTAX;
	/* All of the body is here; its length is what Content-Length said. */
	if (m->allowed->max_request_size >= 0 &&
	    req->body_length > (uint64_t)m->allowed->max_request_size)
		return BW_EPARTSIZE;
	return multipart_scan(&req->arena, boundary,
	                      req->body_length < WINDOW / 2 ? WINDOW / 2 : WINDOW, &io);
}

static struct multipart *multipart_of(struct bw_req *req)
{
	struct multipart *m = arena_zalloc(&req->arena, sizeof(*m));

	*m = (struct multipart){ .req = req, .allowed = req->upload, .fd = -1 };
	req->multipart = m;
	arena_on_done(&req->arena, dispose, m);
	m->err = scan(m);
	buf_done(&m->kept);
	if (m->err != BW_OK) {
		m->n = 0;
		close_file(m);
	}
	return m;
}

/* ---- the calls ---- */

int multipart_parts(struct bw_req *req, struct bw_part *const **ret_parts, size_t *ret_n)
{
	const struct multipart *m = req->multipart;

	if (!req->upload)
		return BW_ESTATE;
	if (!mediatype_is(request_header(req, "content-type"), "multipart/form-data"))
		return BW_ESERVLET;
	if (!m)
		m = multipart_of(req);
	if (m->err == BW_OK) {
		*ret_parts = m->parts;
		*ret_n = m->n;
	}
	return m->err;
}

int multipart_part(struct bw_req *req, const char *name, struct bw_part **ret_part)
{
	struct bw_part *const *parts;
	size_t                 n;
	int                    err = multipart_parts(req, &parts, &n);

	for (size_t i = 0; err == BW_OK && i < n; i++) {
		if (bw_str_eq(parts[i]->head.name, bw_str(name))) {
			*ret_part = parts[i];
			return BW_OK;
		}
	}
	return err != BW_OK ? err : BW_ENOTFOUND;
}

struct bw_str multipart_get(const struct bw_part *part, enum bw_part_field field)
{
	switch (field) {
	case BW_PART_NAME:
		return part->head.name;
	case BW_PART_FILE_NAME:
		return part->head.file_name;
	case BW_PART_CONTENT_TYPE:
		return part->head.content_type;
	}
	return BW_ABSENT; /* a field that this version does not know */
}

struct bw_str multipart_header(const struct bw_part *part, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < part->head.lines.n; i++) {
		const struct bw_pair *line = &part->head.lines.items[i];

		if (line->name.n == n && strncasecmp(line->name.p, name, n) == 0)
			return line->value;
	}
	return BW_ABSENT;
}

size_t multipart_headers(const struct bw_part *part, const struct bw_pair **ret_headers)
{
	*ret_headers = part->head.lines.items;
	return part->head.lines.n;
}

uint64_t multipart_size(const struct bw_part *part)
{
	return part->size;
}

bool multipart_text(const struct bw_part *part, struct bw_str *ret_text)
{
	if (!is_field(part))
		return false;
	*ret_text = (struct bw_str){ part->memory, part->size };
	return true;
}

int multipart_read(struct bw_part *part, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	int err = request_check(part->owner->req);

	if (err != BW_OK)
		return err;
	if (offset >= part->size)
		n = 0;
	else if (n > part->size - offset)
		n = part->size - offset;
	if (n > 0 && part->memory)
		memcpy(buf, part->memory + offset, n);
	else if (n > 0)
		err = transfer(part->owner, read_in, buf, n, part->offset + offset);
	if (err == BW_OK)
		*ret_n = n;
	return err;
}
