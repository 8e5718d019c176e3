/* lib/wire/handle.c: the layout; nothing but what a key has signed is a handle; the key file. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wire/handle.h>

static const struct handle_key keys[2] = {
	{ .id = 7, .key = "the first key, which mints now." },
	{ .id = 6, .key = "the second key, an older one..." },
};

static struct handle sample(unsigned n_principals)
{
	struct handle h = {
		.kind = HANDLE_USER,
		.key_id = 7,
		.sequence = 0x0102030405060708,
		.user_id = 4711,
		.issued_us = 1000,
		.expires_us = 1000 + HANDLE_LIFE_US,
		.n_principals = n_principals,
	};

	memcpy(h.channel, "0123456789abcdef", HANDLE_CHANNEL);
	return h;
}

static size_t put(unsigned n_principals, uint8_t out[HANDLE_MAX])
{
	uint64_t      principals[HANDLE_MAX_PRINCIPALS];
	struct handle h = sample(n_principals);

	for (unsigned i = 0; i < n_principals; i++)
		principals[i] = (uint64_t)(i + 1) << 33 | i % 2;
	return handle_put(&h, principals, &keys[0], out);
}

/* Writes a MAC that fits, so that what is refused is refused for its contents. */
static void sign(uint8_t *p, size_t n)
{
	crypto_generichash(p + n - HANDLE_MAC, HANDLE_MAC, p, n - HANDLE_MAC, keys[0].key,
	                   sizeof(keys[0].key));
}

Test(handle, layout_is_the_one_written_down)
{
	static const uint8_t expected[] = {
		1,   2,   2,    0,    7,    0,    0,   0,   '0', '1', '2',  '3', '4', '5', '6',
		'7', '8', '9',  'a',  'b',  'c',  'd', 'e', 'f', 8,   7,    6,   5,   4,   3,
		2,   1,   0x67, 0x12, 0,    0,    0,   0,   0,   0,   0xe8, 3,   0,   0,   0,
		0,   0,   0,    0xe8, 0x8a, 0x93, 3,   0,   0,   0,   0,    0,   0,   0,   0,
		2,   0,   0,    0,    1,    0,    0,   0,   4,   0,   0,    0,
	};
	uint8_t p[HANDLE_MAX];

	cr_assert_eq(put(2, p), HANDLE_FIXED + 2 * 8 + HANDLE_MAC);
	cr_assert_eq(sizeof(expected), HANDLE_FIXED + 2 * 8);
	cr_assert(memcmp(p, expected, sizeof(expected)) == 0);
	cr_assert_eq(handle_sequence(p), 0x0102030405060708);
}

Test(handle, round_trip_for_every_number_of_principals)
{
	uint8_t       p[HANDLE_MAX];
	struct handle h;
	bool          group;

	for (unsigned n = 0; n <= HANDLE_MAX_PRINCIPALS; n++) {
		cr_assert_eq(handle_get(p, put(n, p), keys, 2, &h), BW_OK);
		cr_assert(h.kind == HANDLE_USER && h.key_id == 7 && h.user_id == 4711);
		cr_assert(h.sequence == 0x0102030405060708 && h.issued_us == 1000);
		cr_assert(h.expires_us == 1000 + HANDLE_LIFE_US && h.n_principals == n);
		cr_assert(memcmp(h.channel, "0123456789abcdef", HANDLE_CHANNEL) == 0);
		for (unsigned i = 0; i < n; i++) {
			cr_assert_eq(handle_principal(&h, i, &group), (uint64_t)(i + 1) << 32);
			cr_assert(group == i % 2);
			cr_assert_eq(handle_principal(&h, i, NULL), (uint64_t)(i + 1) << 32);
		}
	}
}

Test(handle, every_flipped_bit_is_refused)
{
	uint8_t       p[HANDLE_MAX];
	size_t        n = put(3, p);
	struct handle h;

	for (size_t bit = 0; bit < 8 * n; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert(handle_get(p, n, keys, 2, &h) == BW_EPROTO, "bit %zu", bit);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_assert_eq(handle_get(p, n, keys, 2, &h), BW_OK);
}

Test(handle, every_other_size_is_refused)
{
	uint8_t       p[HANDLE_MAX + 64] = { 0 };
	size_t        whole = put(3, p);
	struct handle h;

	for (size_t n = 0; n <= sizeof(p); n++)
		if (n != whole)
			cr_assert(handle_get(p, n, keys, 2, &h) == BW_EPROTO, "size %zu", n);
}

Test(handle, signed_nonsense_is_refused)
{
	static const struct {
		const char *why;
		size_t      at;
		uint8_t     value;
	} rows[] = {
		{ "version 0", 0, 0 },
		{ "version 2", 0, 2 },
		{ "kind 0", 1, 0 },
		{ "kind 5", 1, 5 },
		{ "one principal more", 2, 4 },
		{ "one principal less", 2, 2 },
		{ "513 principals", 3, 2 },
		{ "expired before issued", 41, 0xff },
		{ "lives too long", 48, 0xe9 },
		{ "lives very long", 55, 0x7f },
	};
	uint8_t       p[HANDLE_MAX];
	struct handle h;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = put(3, p);

		p[rows[i].at] = rows[i].value;
		if (rows[i].at == 41)
			memset(p + 42, 0xff, 6);
		sign(p, n);
		cr_assert(handle_get(p, n, keys, 2, &h) == BW_EPROTO, "%s", rows[i].why);
	}
	for (unsigned kind = HANDLE_ANONYMOUS; kind <= HANDLE_ADMIN; kind++) {
		size_t n = put(3, p);

		p[1] = (uint8_t)kind;
		sign(p, n);
		cr_assert_eq(handle_get(p, n, keys, 2, &h), BW_OK);
	}
}

Test(handle, key_is_chosen_by_id)
{
	uint8_t           p[HANDLE_MAX];
	struct handle     h = sample(0);
	struct handle_key other = keys[1];
	size_t            n = handle_put(&h, NULL, &keys[1], p);

	cr_assert_eq(handle_get(p, n, keys, 2, &h), BW_OK);
	cr_assert_eq(h.key_id, 6);
	cr_assert_eq(handle_get(p, n, keys, 1, &h), BW_EPROTO);
	cr_assert_eq(handle_get(p, n, keys, 0, &h), BW_EPROTO);
	other.id = 7; /* the right key under the wrong number */
	cr_assert_eq(handle_get(p, n, &other, 1, &h), BW_EPROTO);
}

/* ---- the key file ---- */

#define HEX_A "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HEX_B "ffeeddccbbaa99887766554433221100FFEEDDCCBBAA99887766554433221100"

static char file[64];

static void write_file(const char *text, size_t n, mode_t mode)
{
	int fd;

	snprintf(file, sizeof(file), "/tmp/wire-handle-test.%d", (int)getpid());
	unlink(file);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	cr_assert(fd >= 0 && write(fd, text, n) == (ssize_t)n && fchmod(fd, mode) == 0);
	close(fd);
}

Test(handle, key_file_is_read)
{
	struct handle_keys  k;
	char                err[200];
	static const mode_t modes[] = { 0600, 0640, 0440, 0400 };

	for (size_t i = 0; i < 4; i++) {
		write_file("7 " HEX_A "\n6 " HEX_B "\n", 134, modes[i]);
		cr_assert(handle_keys_load(file, &k, err, sizeof(err)) == 0 && k.n == 2, "%s", err);
		cr_assert(k.keys[0].id == 7 && k.keys[0].key[1] == 0x11 && k.keys[1].id == 6 &&
		          k.keys[1].key[0] == 0xff);
	}
	write_file("4294967295 " HEX_A, 75, 0600); /* without its newline */
	cr_assert(handle_keys_load(file, &k, err, sizeof(err)) == 0 && k.n == 1, "%s", err);
	cr_assert_eq(k.keys[0].id, UINT32_MAX);
	unlink(file);
}

Test(handle, key_file_is_refused)
{
	static const struct {
		const char *text;
		mode_t      mode;
		const char *reason; /* is part of the message */
	} rows[] = {
		{ "1 " HEX_A "\n", 0604, "mode 0604" },
		{ "1 " HEX_A "\n", 0660, "mode 0660" },
		{ "1 " HEX_A "\n", 0700, "mode 0700" },
		{ "", 0600, "empty" },
		{ "\n", 0600, "a line is not" },
		{ "1 " HEX_A "\n\n", 0600, "a line is not" },
		{ "x " HEX_A "\n", 0600, "a line is not" },
		{ " 1 " HEX_A "\n", 0600, "a line is not" },
		{ "1  " HEX_A "\n", 0600, "a line is not" },
		{ "1 " HEX_A " \n", 0600, "a line is not" },
		{ "1 " HEX_A "0\n", 0600, "a line is not" },
		{ "1 " HEX_A " 0\n", 0600, "a line is not" },
		{ "1 " HEX_A " 1x\n", 0600, "a line is not" },
		{ "1 " HEX_A " 100000000000\n", 0600, "a line is not" },
		{ "1 0011\n", 0600, "a line is not" },
		{ "1\n", 0600, "a line is not" },
		{ "4294967296 " HEX_A "\n", 0600, "a line is not" },
		{ "1 " HEX_A "\n1 " HEX_B "\n", 0600, "same id" },
		{ "1 " HEX_A "\n2 " HEX_B "\n3 " HEX_B "\n", 0600, "too many lines" },
		{ "1 " HEX_A " 1000000000\n", 0600, "the time of all its keys is over" },
	};
	struct handle_keys k;
	char               err[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file(rows[i].text, strlen(rows[i].text), rows[i].mode);
		cr_assert(handle_keys_load(file, &k, err, sizeof(err)) == -1, "row %zu", i);
		cr_assert(strstr(err, rows[i].reason) && strstr(err, file), "row %zu: %s", i, err);
	}
	unlink(file);
	cr_assert_eq(handle_keys_load(file, &k, err, sizeof(err)), -1);
	cr_assert(strstr(err, "No such file") != NULL);
	cr_assert_eq(handle_keys_load("/tmp", &k, err, sizeof(err)), -1);
	cr_assert(strstr(err, "not a regular file") != NULL);
}
