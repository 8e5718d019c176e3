/* gateway/forms/multipart_scan.c: what is a multipart body and what is not, whatever pieces it comes
 * in. */
#include "gateway/forms/multipart_scan.c"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>

/* What the scanner found, as text: "name(file,type)=content;" for each part. */
struct found {
	struct arena *arena;
	const char   *body;
	size_t        n, most; /* octets per read */
	char         *text, *at, *end;
};

/* The text is never longer than the body and a few marks for each of its parts. */
static void found_init(struct found *f)
{
	size_t room = 4 * f->n + 64;

	f->text = f->at = arena_alloc(f->arena, room);
	f->end = f->text + room;
	*f->at = '\0';
}

__attribute__((format(printf, 2, 3))) static void found_add(struct found *f, const char *format,
                                                            ...)
{
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(f->at, (size_t)(f->end - f->at), format, args);
	va_end(args);
	cr_assert(n >= 0 && n < f->end - f->at);
	f->at += n;
}

static int on_read(void *arg, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	struct found *f = arg;

	n = n > f->most ? f->most : n;
	n = n > f->n - offset ? f->n - offset : n;
	memcpy(buf, f->body + offset, n);
	*ret_n = n;
	return BW_OK;
}

static const char *show(struct bw_str s)
{
	return s.p ? s.p : "-";
}

static int on_begin(void *arg, const struct multipart_head *head)
{
	struct found *f = arg;

	found_add(f, "%s(%s,%s)=", head->name.p, show(head->file_name), show(head->content_type));
	return BW_OK;
}

static int on_content(void *arg, const void *p, size_t n)
{
	struct found *f = arg;

	cr_assert(n > 0);
	found_add(f, "%.*s", (int)n, (const char *)p);
	return BW_OK;
}

static int on_end(void *arg)
{
	struct found *f = arg;

	found_add(f, ";");
	return BW_OK;
}

/* The same whether it comes at once or octet by octet. */
static const char *scan_body(struct arena *a, const char *boundary, const char *body, size_t n)
{
	static const size_t mosts[] = { SIZE_MAX, 1, 7, 100 };
	const char         *first = NULL;

	for (size_t i = 0; i < sizeof(mosts) / sizeof(*mosts); i++) {
		struct found f = { .arena = a, .body = body, .n = n, .most = mosts[i] };
		const struct multipart_io io = { &f, on_read, on_begin, on_content, on_end };
		const char               *text;
		int                       err;

		found_init(&f);
		err = multipart_scan(a, bw_str(boundary), MULTIPART_MIN_WINDOW, &io);
		text = err == BW_OK ? f.text : err == BW_EPARTSYNTAX ? "!" : "another error";
		if (first)
			cr_expect_str_eq(text, first, "%zu octets a read", mosts[i]);
		first = text;
	}
	return first;
}

#define CD "Content-Disposition: form-data; name="

Test(multipart_scan, bodies)
{
	static const struct {
		const char *body, *want;
	} rows[] = {
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b--", "a(-,-)=1;" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b--\r\n", "a(-,-)=1;" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b\r\n" CD "a\r\n\r\n2\r\n--b--\r\n",
		  "a(-,-)=1;a(-,-)=2;" },
		{ "--b\r\n" CD
		  "f; filename=x.txt\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--",
		  "f(x.txt,text/plain)=hello;" },
		{ "--b\r\ncontent-TYPE:text/plain \t\r\n" CD "\"f\";filename=\"\"\r\n\r\n\r\n--b--",
		  "f(,text/plain)=;" },
		{ "--b\r\n" CD "a\r\n\r\n\r\n--b--", "a(-,-)=;" }, /* no content */
		{ "--b\r\n" CD "a\r\n\r\n--b--", "a(-,-)=;" },     /* the same, RFC 2046's way */
		{ "--b--", "" },
		{ "\r\n--b--", "" },
		{ "junk\r\njunk --b\r\n\r\n--b\r\n" CD "a\r\n\r\n1\r\n--b--\r\njunk\r\n--b\r\n",
		  "a(-,-)=1;" },
		{ "--b \t\r\n" CD "a\r\n\r\n1\r\n--b-- \t\r\n", "a(-,-)=1;" },
		/* What only looks like the end of a part is content. */
		{ "--b\r\n" CD "a\r\n\r\n\r\n--\r\n-b\r\r\n--a\n--b --b\r\n--b--",
		  "a(-,-)=\r\n--\r\n-b\r\r\n--a\n--b --b;" },
		{ "--b\r\n" CD "a\r\n\r\n\r\n\r\n\r\n--b--", "a(-,-)=\r\n\r\n;" },
		/* Names. */
		{ "--b\r\n" CD "\"a%22%0D%0a%20b\"\r\n\r\n1\r\n--b--", "a\"\r\n%20b(-,-)=1;" },
		{ "--b\r\n" CD "\"a\\\"b\"; filename=\"C:\\d\\x\"\r\n\r\n1\r\n--b--",
		  "a\"b(C:\\d\\x,-)=1;" },
		{ "--b\r\n" CD "a; filename*=UTF-8''y; filename=x\r\n\r\n1\r\n--b--", "a(x,-)=1;" },
		{ "--b\r\n" CD "\xc3\xa4\r\n\r\n1\r\n--b--", "\xc3\xa4(-,-)=1;" },
		{ "--b\r\n" CD "\"\"\r\n\r\n1\r\n--b--", "(-,-)=1;" },
		{ "--b\r\n" CD "a\r\nContent-Transfer-Encoding: Binary\r\n\r\n1\r\n--b--",
		  "a(-,-)=1;" },
		/* Broken ends. */
		{ "", "!" },
		{ "--b", "!" },
		{ "--b-", "!" },
		{ "--b\r\n", "!" },
		{ "--b\r\n" CD "a\r\n", "!" },
		{ "--b\r\n" CD "a\r\n\r\n", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b\r\n", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--c--", "!" },
		/* Lines that begin with a boundary. */
		{ "--bx\r\n" CD "a\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--bx\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b--x", "!" },
		{ "--b\r\n" CD "a\r\n\r\n1\r\n--b - -", "!" },
		{ "--b\n" CD "a\n\n1\n--b--", "!" },
		/* Broken heads. */
		{ "--b\r\n" CD "a\r\n\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\rX: y\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\n folded\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n " CD "a\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\n: x\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\nX : x\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\nX\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\nX: \x01\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a; name=b\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a; filename=b; filename=c\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\n" CD "a\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\nContent-Type: a/b\r\nContent-Type: a/b\r\n\r\n1\r\n--b--",
		  "!" },
		{ "--b\r\n" CD "\"a\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "\xff\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--b--", "!" },
		{ "--b\r\n" CD "a\r\nContent-Transfer-Encoding: base64\r\n\r\n1\r\n--b--", "!" },
	};
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(scan_body(&a, "b", rows[i].body, strlen(rows[i].body)),
		                 rows[i].want, "row %zu: %s", i, rows[i].body);
	arena_done(&a);
}

/* before, n times what, behind. */
static const char *repeat(struct arena *a, const char *before, const char *what, size_t n,
                          const char *behind)
{
	size_t len = strlen(what);
	char  *text = arena_alloc(a, strlen(before) + n * len + strlen(behind) + 1), *at = text;

	at = stpcpy(at, before);
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, what);
	strcpy(at, behind);
	return text;
}

Test(multipart_scan, limits_of_a_head)
{
	const char  *rest = "\r\n\r\n1\r\n--b--";
	struct arena a;
	const char  *body;

	arena_init(&a);
	body = repeat(&a, "--b\r\n" CD "a\r\n", "X: y\r\n", MULTIPART_MAX_LINES - 1,
	              "\r\n1\r\n--b--");
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "a(-,-)=1;");
	body = repeat(&a, "--b\r\n" CD "a\r\n", "X: y\r\n", MULTIPART_MAX_LINES, "\r\n1\r\n--b--");
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "!");
	body = repeat(&a, "--b\r\n" CD, "n", MULTIPART_MAX_NAME, rest);
	cr_expect(scan_body(&a, "b", body, strlen(body))[0] == 'n');
	body = repeat(&a, "--b\r\n" CD, "n", MULTIPART_MAX_NAME + 1, rest);
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "!");
	body = repeat(&a, "--b\r\n" CD "a\r\nX: ", "x", 8000, rest);
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "a(-,-)=1;");
	body = repeat(&a, "--b\r\n" CD "a\r\nX: ", "x", 8192, rest);
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "!");
	body = repeat(&a, "--b", " ", MAX_PADDING, "\r\n" CD "a\r\n\r\n1\r\n--b--");
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "a(-,-)=1;");
	body = repeat(&a, "", "x", MAX_PREAMBLE - 2, "\r\n--b\r\n" CD "a\r\n\r\n1\r\n--b--");
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "a(-,-)=1;");
	body = repeat(&a, "", "x", MAX_PREAMBLE - 1, "\r\n--b\r\n" CD "a\r\n\r\n1\r\n--b--");
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "!");
	body = repeat(&a, "--b", " ", MAX_PADDING + 1, "\r\n" CD "a\r\n\r\n1\r\n--b--");
	cr_expect_str_eq(scan_body(&a, "b", body, strlen(body)), "!");
	arena_done(&a);
}

/* A boundary at every place of the window's edge. */
Test(multipart_scan, content_is_whole_wherever_the_window_ends)
{
	struct arena a;

	for (size_t n = MULTIPART_MIN_WINDOW - 120; n < MULTIPART_MIN_WINDOW + 20; n++) {
		const char *body, *got;

		arena_init(&a);
		body = repeat(&a, "--b\r\n" CD "a\r\n\r\n", "x", n,
		              "\r\n--b\r\n" CD "b\r\n\r\n2\r\n--b--");
		got = scan_body(&a, "b", body, strlen(body));
		cr_assert(strlen(got) == strlen("a(-,-)=;b(-,-)=2;") + n, "%zu", n);
		cr_assert(strspn(got + 7, "x") == n, "%zu", n);
		arena_done(&a);
	}
}

static int refuse_begin(void *arg, const struct multipart_head *head)
{
	(void)arg;
	(void)head;
	return BW_EPARTSIZE;
}

static int refuse_content(void *arg, const void *p, size_t n)
{
	(void)arg;
	(void)p;
	(void)n;
	return BW_EIO;
}

static int refuse_end(void *arg)
{
	(void)arg;
	return BW_EBUSY;
}

static int refuse_read(void *arg, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	if (offset >= 20)
		return BW_EGONE;
	return on_read(arg, offset, buf, n > 20 ? 20 : n, ret_n);
}

Test(multipart_scan, what_the_other_side_returns_ends_it)
{
	static const char body[] = "--b\r\n" CD "a\r\n\r\n1\r\n--b--";
	struct arena      a;
	struct found f = { .arena = &a, .body = body, .n = sizeof(body) - 1, .most = SIZE_MAX };
	const struct {
		struct multipart_io io;
		int                 err;
	} rows[] = {
		{ { &f, on_read, on_begin, on_content, on_end }, BW_OK },
		{ { &f, on_read, refuse_begin, on_content, on_end }, BW_EPARTSIZE },
		{ { &f, on_read, on_begin, refuse_content, on_end }, BW_EIO },
		{ { &f, on_read, on_begin, on_content, refuse_end }, BW_EBUSY },
		{ { &f, refuse_read, on_begin, on_content, on_end }, BW_EGONE },
	};

	arena_init(&a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		found_init(&f);
		cr_expect(multipart_scan(&a, BW_STR("b"), MULTIPART_MIN_WINDOW, &rows[i].io) ==
		                  rows[i].err,
		          "row %zu", i);
	}
	arena_done(&a);
}

Test(multipart_scan, boundaries)
{
	static const struct {
		const char *type, *want; /* NULL: not one */
	} rows[] = {
		{ "multipart/form-data; boundary=b", "b" },
		{ "multipart/form-data; charset=x; Boundary=\"a b'()+_,-./:=?z\"",
		  "a b'()+_,-./:=?z" },
		{ "multipart/form-data; boundary=----WebKitFormBoundaryA1",
		  "----WebKitFormBoundaryA1" },
		{ "multipart/form-data; boundary="
		  "1234567890123456789012345678901234567890123456789012345678901234567890",
		  "1234567890123456789012345678901234567890123456789012345678901234567890" },
		{ "multipart/form-data; boundary="
		  "12345678901234567890123456789012345678901234567890123456789012345678901",
		  NULL },
		{ "multipart/form-data", NULL },
		{ "multipart/form-data; boundary=", NULL },
		{ "multipart/form-data; boundary=\"\"", NULL },
		{ "multipart/form-data; boundary=\"a \"", NULL },
		{ "multipart/form-data; boundary=a\xc3\xa4", NULL },
		{ "multipart/form-data; boundary=\"a\\\\b\"", NULL },
		{ "multipart/form-data; boundary=a; boundary=a", NULL },
		{ "multipart/form-data; boundary=a; x", NULL },
	};
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_str got = BW_ABSENT;
		bool          ok = multipart_boundary(&a, bw_str(rows[i].type), &got);

		cr_expect(ok == (rows[i].want != NULL), "%s", rows[i].type);
		if (ok && rows[i].want)
			cr_expect_str_eq(got.p, rows[i].want);
	}
	arena_done(&a);
}
