/* gateway/files.c: a file below its root is found and read; nothing leads outside, and nothing but a
 * regular file is opened. */
#include <gateway/files.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

static int n_offloaded;

/* The pool's part, at once: what is tested here is what files.c does around it. */
int offload_run(struct bw_req *req, void (*job)(void *arg), void *arg)
{
	(void)req;
	n_offloaded++;
	job(arg);
	return BW_OK;
}

static char root[64];

static void path_of(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", root, name);
}

static void write_file(const char *name, const char *text)
{
	char  path[256];
	FILE *out;

	path_of(path, name);
	out = fopen(path, "w");
	cr_assert(out != NULL);
	fputs(text, out);
	fclose(out);
}

static void link_to(const char *target, const char *name)
{
	char path[256];

	path_of(path, name);
	cr_assert(eq(int, symlink(target, path), 0));
}

static void begin(void)
{
	char path[256];

	strcpy(root, "/tmp/files-test-XXXXXX");
	cr_assert(mkdtemp(root) != NULL);
	path_of(path, "d");
	cr_assert(eq(int, mkdir(path, 0700), 0));
	write_file("a.txt", "hello");
	write_file("d/b.txt", "deep");
	link_to("a.txt", "link");
	link_to("d", "dirlink");
	path_of(path, "pipe");
	cr_assert(eq(int, mkfifo(path, 0600), 0));
}

static void end(void)
{
	static const char *const names[] = { "a.txt", "d/b.txt", "link", "dirlink", "pipe" };
	char                     path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		path_of(path, names[i]);
		unlink(path);
	}
	path_of(path, "d");
	rmdir(path);
	rmdir(root);
}

TestSuite(files, .init = begin, .fini = end);

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

Test(files, a_file_is_found_with_its_length_and_time)
{
	static const char *const paths[] = { "/a.txt", "a.txt", "/d/b.txt" };
	int                      before = open_descriptors();

	for (size_t i = 0; i < 3; i++) {
		struct bw_file f = { .fd = -1 };

		cr_assert(eq(int, file_open(root, bw_str(paths[i]), &f), BW_OK), "%s", paths[i]);
		cr_assert(eq(u64, f.n, i < 2 ? 5 : 4));
		cr_assert(gt(i64, f.modified_ms, 1600000000000));
		file_close(&f);
		file_close(&f);
	}
	cr_assert(eq(int, open_descriptors(), before));
}

Test(files, what_is_no_regular_file_below_the_root_is_not_found)
{
	static const struct bw_str paths[] = {
		BW_STR(""),          BW_STR("/"),
		BW_STR("/zz"),       BW_STR("/d"),
		BW_STR("/d/"),       BW_STR("/a.txt/"),
		BW_STR("/a.txt/x"),  BW_STR("//a.txt"),
		BW_STR("/d//b.txt"), BW_STR("/./a.txt"),
		BW_STR("/.."),       BW_STR("/d/../a.txt"),
		BW_STR("/link"),     BW_STR("/dirlink/b.txt"),
		BW_STR("/pipe"),     BW_STR("/a.txt\0x"),
	};
	int before = open_descriptors();

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct bw_file f = { .fd = -1 };

		cr_assert(eq(int, file_open(root, paths[i], &f), BW_ENOTFOUND), "%s", paths[i].p);
		cr_assert(eq(int, f.fd, -1));
	}
	cr_assert(eq(int, open_descriptors(), before));
}

Test(files, a_segment_that_is_too_long_and_a_missing_root_are_not_found)
{
	char           path[400];
	struct bw_file f = { .fd = -1 };

	memset(path, 'x', sizeof(path));
	cr_assert(
		eq(int, file_open(root, (struct bw_str){ path, sizeof(path) }, &f), BW_ENOTFOUND));
	cr_assert(eq(int, file_open("/nowhere-at-all", BW_STR("a"), &f), BW_ENOTFOUND));
}

Test(files, a_file_is_read_in_parts_up_to_its_end)
{
	struct bw_req *req = (struct bw_req *)root; /* only told to be there */
	struct bw_file f = { .fd = -1 };
	char           buf[8];
	size_t         n = 99;

	cr_assert(eq(int, file_open(root, BW_STR("a.txt"), &f), BW_OK));
	cr_assert(eq(int, file_read(req, &f, 0, buf, 3, &n), BW_OK));
	cr_assert(eq(sz, n, 3));
	cr_assert(memcmp(buf, "hel", 3) == 0);
	cr_assert(eq(int, file_read(req, &f, 3, buf, sizeof(buf), &n), BW_OK));
	cr_assert(eq(sz, n, 2));
	cr_assert(eq(int, file_read(req, &f, 5, buf, sizeof(buf), &n), BW_OK));
	cr_assert(eq(sz, n, 0));
	cr_assert(eq(int, file_read(req, &f, UINT64_MAX, buf, sizeof(buf), &n), BW_OK));
	cr_assert(eq(sz, n, 0));
	file_close(&f);
}

Test(files, what_cannot_be_read_at_once_is_read_on_a_thread)
{
	struct bw_req *req = (struct bw_req *)root;
	struct bw_file f = { .fd = -1 };
	char           buf[8];
	size_t         n;

	cr_assert(eq(int, file_open(root, BW_STR("a.txt"), &f), BW_OK));
	close(f.fd);
	f.fd = open(root, O_RDONLY | O_DIRECTORY); /* no kind of reading is possible */
	cr_assert(eq(int, file_read(req, &f, 0, buf, sizeof(buf), &n), BW_EIO));
	cr_assert(eq(int, n_offloaded, 1));
	cr_assert(eq(int, file_read(NULL, &f, 0, buf, sizeof(buf), &n), BW_EIO));
	cr_assert(eq(int, n_offloaded, 1));
	file_close(&f);
}

static int n_released;

static void release(struct bw_file *file)
{
	n_released++;
	free(file->arg);
}

Test(files, octets_in_memory_are_read_and_given_back_once)
{
	char          *text = malloc(4);
	struct bw_file f = { .data = text, .n = 4, .fd = -1, .release = release, .arg = text };
	char           buf[4];
	size_t         n;

	memcpy(text, "abcd", 4);
	cr_assert(eq(int, file_read(NULL, &f, 1, buf, 2, &n), BW_OK));
	cr_assert(eq(sz, n, 2));
	cr_assert(memcmp(buf, "bc", 2) == 0);
	file_close(&f);
	file_close(&f);
	cr_assert(eq(int, n_released, 1));
}
