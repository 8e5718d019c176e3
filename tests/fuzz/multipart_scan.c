/* Fuzz target: gateway/forms/multipart_scan.c and mediatype.c. The first line of the input is a
 * Content-Type, the rest a body. It must be read the same whether it arrives at once or in
 * pieces of a few octets; no content may hold a delimiter; begin, content and end come in order. */
#include <boardwalk/err.h>
#include <forms/multipart_scan.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
	const uint8_t *body;
	size_t         n, most; /* octets per read */
	uint64_t       hash;    /* of all that was found */
	bool           in_part;
	struct bw_str  delimiter;
	uint8_t       *content; /* of the part */
	size_t         n_content;
};

static void note(struct reading *r, const void *p, size_t n)
{
	const uint8_t *at = p;

	for (; n > 0; n--)
		r->hash = (r->hash ^ *at++) * 0x100000001b3u;
	r->hash = (r->hash ^ 0x100) * 0x100000001b3u;
}

static int on_read(void *arg, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	struct reading *r = arg;

	if (offset > r->n)
		abort();
	n = n > r->most ? r->most : n;
	n = n > r->n - offset ? r->n - offset : n;
	if (n > 0)
		memcpy(buf, r->body + offset, n);
	*ret_n = n;
	return BW_OK;
}

static int on_begin(void *arg, const struct multipart_head *head)
{
	struct reading *r = arg;

	if (r->in_part || !head->name.p || head->name.n > MULTIPART_MAX_NAME ||
	    head->lines.n > MULTIPART_MAX_LINES)
		abort();
	r->in_part = true;
	r->n_content = 0;
	note(r, head->name.p, head->name.n);
	if (head->file_name.p)
		note(r, head->file_name.p, head->file_name.n);
	for (size_t i = 0; i < head->lines.n; i++) {
		note(r, head->lines.items[i].name.p, head->lines.items[i].name.n);
		note(r, head->lines.items[i].value.p, head->lines.items[i].value.n);
	}
	return BW_OK;
}

static int on_content(void *arg, const void *p, size_t n)
{
	struct reading *r = arg;

	if (!r->in_part || n == 0 || r->n_content + n > r->n)
		abort();
	memcpy(r->content + r->n_content, p, n);
	r->n_content += n;
	return BW_OK;
}

static int on_end(void *arg)
{
	struct reading *r = arg;

	if (!r->in_part || memmem(r->content, r->n_content, r->delimiter.p, r->delimiter.n) != NULL)
		abort();
	r->in_part = false;
	note(r, r->content, r->n_content);
	return BW_OK;
}

static int scan_body(struct bw_str boundary, struct reading *r, size_t window)
{
	const struct multipart_io io = { r, on_read, on_begin, on_content, on_end };
	struct arena              a;
	int                       err;

	arena_init(&a);
	r->delimiter = bw_str(arena_printf(&a, "\r\n--%s", boundary.p));
	r->content = arena_alloc(&a, r->n + 1);
	err = multipart_scan(&a, boundary, window, &io);
	if (err == BW_OK && r->in_part)
		abort();
	arena_done(&a);
	return err;
}

static void check(struct bw_str boundary, const uint8_t *body, size_t n)
{
	struct reading whole = { .body = body, .n = n, .most = SIZE_MAX };
	int            err = scan_body(boundary, &whole, 64 * 1024);

	for (size_t most = 1; most <= 9; most += 4) {
		struct reading pieces = { .body = body, .n = n, .most = most };

		if (scan_body(boundary, &pieces, MULTIPART_MIN_WINDOW) != err)
			abort();
		if (err == BW_OK && pieces.hash != whole.hash)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *eol = size > 0 ? memchr(data, '\n', size) : NULL;
	struct bw_str  boundary;
	struct arena   a;

	if (!eol)
		return 0;
	arena_init(&a);
	if (multipart_boundary(&a, (struct bw_str){ (const char *)data, (size_t)(eol - data) },
	                       &boundary))
		check(boundary, eol + 1, size - (size_t)(eol + 1 - data));
	arena_done(&a);
	return 0;
}
