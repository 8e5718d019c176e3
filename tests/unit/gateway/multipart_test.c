/* gateway/forms/multipart.c: where parts are kept, what is refused, and that nothing is left. */
#include "gateway/forms/multipart.c"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

static int      busy_after = -1; /* jobs that still run; -1: all */
static unsigned jobs;

/* The job runs here and now. */
int offload_run(struct bw_req *req, void (*job)(void *arg), void *arg)
{
	(void)req;
	if (busy_after == 0)
		return BW_EBUSY;
	busy_after -= busy_after > 0;
	jobs++;
	job(arg);
	return BW_OK;
}

static char folder[] = "/tmp/boardwalk-multipart.XXXXXX";

static void make_folder(void)
{
	cr_assert(mkdtemp(folder) != NULL);
}

/* Fails if anything is left in it. */
static void remove_folder(void)
{
	cr_assert(rmdir(folder) == 0, "something is left in %s", folder);
}

TestSuite(multipart, .init = make_folder, .fini = remove_folder);

static unsigned open_files(void)
{
	DIR     *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct bw_res_header type = { BW_STR("content-type"),
	                             BW_STR("multipart/form-data; boundary=b") };
static struct upload        allowed;

static struct bw_req *request(const char *body, size_t n)
{
	struct bw_req *req = request_new();

	allowed = (struct upload){ -1, -1, -1, 10, folder };
	type.value = BW_STR("multipart/form-data; boundary=b");
	req->method = BW_STR("POST");
	req->headers = &type;
	req->n_headers = 1;
	req->body_in = (const uint8_t *)body;
	req->body_length = n;
	req->upload = &allowed;
	jobs = 0;
	busy_after = -1;
	return req;
}

static void end(struct bw_req *req)
{
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}

#define FILE_PART(name) \
	"--b\r\nContent-Disposition: form-data; name=" name "; filename=" name ".txt\r\n\r\n"
#define FIELD_PART(name) "--b\r\nContent-Disposition: form-data; name=" name "\r\n\r\n"

static const char mixed[] = FIELD_PART("t") "text longer than ten octets\r\n" FILE_PART(
	"f") "hello\r\n" FILE_PART("g") "0123456789A\r\n" FILE_PART("h") "abcdefghijklmnop\r\n"
									 "--b--\r\n";

static void read_is(struct bw_part *part, const char *want)
{
	char   got[64];
	size_t n = 9;

	cr_assert(multipart_size(part) == strlen(want));
	for (size_t at = 0; at < strlen(want); at += 3) {
		size_t left = strlen(want) - at;

		cr_assert(multipart_read(part, at, got, 3, &n) == BW_OK);
		cr_assert(n == (left < 3 ? left : 3) && memcmp(got, want + at, n) == 0);
	}
	cr_assert(multipart_read(part, strlen(want), got, 3, &n) == BW_OK && n == 0);
	cr_assert(multipart_read(part, UINT64_MAX, got, 3, &n) == BW_OK && n == 0);
}

Test(multipart, small_parts_are_in_memory_and_large_ones_in_a_file)
{
	struct bw_req         *req = request(mixed, sizeof(mixed) - 1);
	struct bw_part *const *parts = NULL, *part;
	struct bw_str          text;
	struct stat            st;
	unsigned               before = open_files();
	size_t                 n = 0;

	cr_assert(multipart_parts(req, &parts, &n) == BW_OK && n == 4);
	cr_assert(open_files() == before + 1, "one file for both");
	cr_assert(fstat(req->multipart->fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 27);
	cr_assert(multipart_text(parts[0], &text));
	cr_expect(bw_str_eq(text, BW_STR("text longer than ten octets")));
	cr_expect(!multipart_text(parts[1], &text));
	read_is(parts[0], "text longer than ten octets");
	read_is(parts[1], "hello");
	cr_expect(jobs == 2);
	read_is(parts[2], "0123456789A");
	read_is(parts[3], "abcdefghijklmnop");
	cr_assert(multipart_part(req, "g", &part) == BW_OK && part == parts[2]);
	cr_expect(bw_str_eq(multipart_get(part, BW_PART_FILE_NAME), BW_STR("g.txt")));
	cr_expect(multipart_get(part, BW_PART_CONTENT_TYPE).p == NULL);
	cr_expect(multipart_header(part, "CONTENT-disposition").n > 10);
	cr_expect(multipart_header(part, "x").p == NULL);
	cr_expect(multipart_part(req, "z", &part) == BW_ENOTFOUND);
	end(req);
	cr_assert(open_files() == before, "the file is closed with the request");
}

Test(multipart, a_long_part_comes_through_whole)
{
	static char     body[300000], got[70000];
	struct bw_req  *req;
	struct bw_part *part = NULL;
	size_t          head, n = 0, size = sizeof(body) - 100;
	unsigned        before = open_files();

	head = (size_t)sprintf(body, "%s", FILE_PART("f"));
	for (size_t i = 0; i < size; i++)
		body[head + i] = (char)(i * 7 + i / 251);
	n = head + size + (size_t)sprintf(body + head + size, "\r\n--b--");
	req = request(body, n);
	cr_assert(multipart_part(req, "f", &part) == BW_OK && multipart_size(part) == size);
	for (size_t at = 0; at < size; at += n) {
		cr_assert(multipart_read(part, at, got, sizeof(got), &n) == BW_OK && n > 0);
		cr_assert(memcmp(got, body + head + at, n) == 0, "at %zu", at);
	}
	end(req);
	cr_assert(open_files() == before);
}

Test(multipart, limits)
{
	static const struct {
		int64_t file, whole, count;
		int     err;
	} rows[] = {
		{ -1, -1, -1, BW_OK },
		{ 27, -1, -1, BW_OK }, /* exactly the limit */
		{ 26, -1, -1, BW_EPARTSIZE },
		{ 4, -1, -1, BW_EPARTSIZE },
		{ -1, sizeof(mixed) - 1, -1, BW_OK },
		{ -1, sizeof(mixed) - 2, -1, BW_EPARTSIZE },
		{ -1, -1, 4, BW_OK },
		{ -1, -1, 3, BW_EPARTSIZE },
	};
	unsigned before = open_files();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_req         *req = request(mixed, sizeof(mixed) - 1);
		struct bw_part *const *parts;
		size_t                 n = 77;

		allowed.max_file_size = rows[i].file;
		allowed.max_request_size = rows[i].whole;
		allowed.max_file_count = rows[i].count;
		cr_assert(multipart_parts(req, &parts, &n) == rows[i].err, "row %zu", i);
		cr_assert(rows[i].err == BW_OK ? n == 4 : n == 77 && open_files() == before,
		          "row %zu: closed at once", i);
		cr_assert(multipart_parts(req, &parts, &n) == rows[i].err, "the second time");
		end(req);
	}
	cr_assert(open_files() == before);
}

Test(multipart, fields_together_are_limited)
{
	struct bw_req         *req = request(mixed, sizeof(mixed) - 1);
	struct bw_part *const *parts;
	size_t                 n;

	params_init(100, 26);
	cr_assert(multipart_parts(req, &parts, &n) == BW_EFORMSIZE);
	end(req);
	params_init(100, 27);
	req = request(mixed, sizeof(mixed) - 1);
	cr_assert(multipart_parts(req, &parts, &n) == BW_OK);
	end(req);
}

Test(multipart, what_is_refused)
{
	static const char cut[] = FILE_PART("f") "0123456789ABCDEF",
			  nul[] = FIELD_PART("t") "a\0b\r\n--b--",
			  bad[] = FIELD_PART("t") "\xff\r\n--b--";
	struct bw_req         *req = request(cut, sizeof(cut) - 1);
	struct bw_part *const *parts;
	unsigned               before = open_files();
	size_t                 n;

	cr_expect(multipart_parts(req, &parts, &n) == BW_EPARTSYNTAX);
	cr_expect(open_files() == before, "what was written is gone before the answer");
	end(req);
	req = request(nul, sizeof(nul) - 1);
	cr_expect(multipart_parts(req, &parts, &n) == BW_EPARTSYNTAX);
	end(req);
	req = request(bad, sizeof(bad) - 1);
	cr_expect(multipart_parts(req, &parts, &n) == BW_EPARTSYNTAX);
	end(req);
	req = request(mixed, sizeof(mixed) - 1);
	req->upload = NULL;
	cr_expect(multipart_parts(req, &parts, &n) == BW_ESTATE);
	end(req);
	req = request(mixed, sizeof(mixed) - 1);
	type.value = BW_STR("application/x-www-form-urlencoded");
	cr_expect(multipart_parts(req, &parts, &n) == BW_ESERVLET);
	req->n_headers = 0;
	cr_expect(multipart_parts(req, &parts, &n) == BW_ESERVLET);
	end(req);
	req = request(mixed, sizeof(mixed) - 1);
	type.value = BW_STR("multipart/form-data");
	cr_expect(multipart_parts(req, &parts, &n) == BW_EPARTSYNTAX, "no boundary");
	end(req);
}

Test(multipart, a_client_that_is_gone_and_a_pool_that_is_full)
{
	struct bw_req         *req = request(mixed, sizeof(mixed) - 1);
	struct bw_part *const *parts = NULL;
	unsigned               before = open_files();
	char                   got[64];
	size_t                 n = 0;

	req->body_in = NULL;
	cr_expect(multipart_parts(req, &parts, &n) == BW_EGONE);
	end(req);
	for (int i = 0; i < 4; i++) {
		req = request(mixed, sizeof(mixed) - 1);
		busy_after = i;
		cr_expect(multipart_parts(req, &parts, &n) == (i < 2 ? BW_EBUSY : BW_OK), "%d", i);
		if (i == 2)
			cr_expect(multipart_read(parts[3], 0, got, 64, &n) == BW_EBUSY);
		if (i == 3)
			cr_expect(multipart_read(parts[3], 0, got, 64, &n) == BW_OK && n == 16);
		end(req);
	}
	req = request(mixed, sizeof(mixed) - 1);
	cr_assert(multipart_parts(req, &parts, &n) == BW_OK);
	req->gone = true;
	cr_expect(multipart_read(parts[1], 0, got, 64, &n) == BW_EGONE);
	end(req);
	cr_assert(open_files() == before);
}

Test(multipart, a_folder_that_fails)
{
	struct bw_req         *req = request(mixed, sizeof(mixed) - 1);
	struct bw_part *const *parts;
	size_t                 n;

	log_init("test", LOG_LEVEL_ERROR);
	allowed.location = "/tmp/boardwalk-multipart-there-is-no-such";
	cr_expect(multipart_parts(req, &parts, &n) == BW_EIO);
	end(req);
}

Test(multipart, a_file_is_for_nobody_else)
{
	int         fd = open_nameless(folder);
	struct stat st;

	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	cr_expect(st.st_nlink == 0 && (st.st_mode & 077) == 0);
	close(fd);
	cr_expect(open_nameless("/proc/self") < 0, "nothing can be made there, either way");
}
