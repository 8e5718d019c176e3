/* Under test: lib/base/key_file.c. Lines are read as they were written; what others can get at, or is
 * no file of keys, is refused. (Modes and most malformed lines: tests/unit/wire/handle_test.c.) */
#include <base/key_file.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char            file[] = "/tmp/key-file-test.XXXXXX";
static struct key_line lines[KEY_LINES], made[KEY_LINES];
static char            err[200];

static void write_text(const char *text, size_t n)
{
	int fd = open(file, O_WRONLY | O_TRUNC);

	cr_assert(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

static void set_up(void)
{
	int fd = mkstemp(file);

	cr_assert(fd >= 0 && fchmod(fd, 0600) == 0);
	close(fd);
	for (unsigned i = 0; i < KEY_LINES; i++) {
		made[i].id = UINT32_MAX - i;
		made[i].until = i % 2 == 0 ? 0 : 1000000000 + (int64_t)i;
		memset(made[i].key, (int)(0x90 + i), sizeof(made[i].key));
	}
}

static void tear_down(void)
{
	unlink(file);
}

TestSuite(key_file, .init = set_up, .fini = tear_down);

Test(key_file, what_is_written_is_read)
{
	char   text[KEY_FILE_BYTES];
	size_t n;

	for (unsigned count = 1; count <= KEY_LINES; count++) {
		n = key_file_text(made, count, text);
		cr_assert_eq(n, strlen(text));
		write_text(text, n);
		cr_assert_eq(key_file_load(file, KEY_LINES, lines, NULL, err, sizeof(err)),
		             (int)count, "%s", err);
		for (unsigned i = 0; i < count; i++) {
			cr_assert_eq(lines[i].id, made[i].id);
			cr_assert_eq(lines[i].until, made[i].until);
			cr_assert_arr_eq(lines[i].key, made[i].key, sizeof(made[i].key));
		}
	}
	cr_assert_eq(key_file_load(file, KEY_LINES - 1, lines, NULL, err, sizeof(err)), -1);
	cr_assert(strstr(err, "too many lines") != NULL && strstr(err, file) != NULL);
	for (unsigned i = 0; i < KEY_LINES; i++)
		cr_assert(lines[i].id == 0 && lines[i].key[0] == 0, "nothing is left of it");
}

Test(key_file, too_long)
{
	static char text[KEY_FILE_BYTES + 10];

	memset(text, '1', sizeof(text));
	write_text(text, sizeof(text));
	cr_assert_eq(key_file_load(file, KEY_LINES, lines, NULL, err, sizeof(err)), -1);
	cr_assert(strstr(err, "too long") != NULL);
	write_text("1 0011\0", 7);
	cr_assert_eq(key_file_load(file, KEY_LINES, lines, NULL, err, sizeof(err)), -1);
}

Test(key_file, a_new_file_is_noticed_once)
{
	struct key_stamp stamp = { 0 };
	char             text[KEY_FILE_BYTES], fresh[64];

	write_text(text, key_file_text(made, 1, text));
	cr_assert_eq(key_file_load(file, KEY_LINES, lines, &stamp, err, sizeof(err)), 1);
	cr_assert_not(key_file_is_new(file, &stamp));
	snprintf(fresh, sizeof(fresh), "%s.new", file);
	cr_assert_eq(rename(file, fresh), 0);
	cr_assert_not(key_file_is_new(file, &stamp), "there is none");
	cr_assert_geq(open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600), 0);
	cr_assert(key_file_is_new(file, &stamp));
	cr_assert_not(key_file_is_new(file, &stamp));
	unlink(fresh);
}
