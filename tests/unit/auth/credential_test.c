/* Under test: auth/credential.c. A name or password is accepted or refused by what it is alone, and
 * every way of writing the same letters becomes the same octets. */
#include <criterion/criterion.h>
#include "auth/credential.c"

struct row {
	const char *in, *out; /* out NULL: refused */
};

Test(credential, name)
{
	static const struct row rows[] = {
		{ "admin", "admin" },
		{ "Admin", "Admin" }, /* case is kept */
		{ "a b@c:d", "a b@c:d" },
		{ "", NULL },
		{ "a\tb", NULL },
		{ "a\x7f", NULL },
		{ "a\xc2\x85", NULL }, /* U+0085 */
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "Zo\xc3\xab", "Zo\xc3\xab" },
		{ "Zoe\xcc\x88", "Zo\xc3\xab" }, /* e and a combining diaeresis */
		{ "\xe2\x84\xab",
		  "\xc3\x85" },   /* the Angstrom sign is a letter of its own before NFC */
		{ "\xc3", NULL }, /* cut off */
		{ "\xff\xfe", NULL },
		{ "\xc0\xaf", NULL },     /* overlong */
		{ "\xed\xa0\x80", NULL }, /* a surrogate */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char          mem[CREDENTIAL_NAME + 1];
		struct bw_str out = { "untouched", 9 };
		int           err = credential_name(bw_str(rows[i].in), mem, &out);

		cr_assert_eq(err == BW_OK, rows[i].out != NULL, "row %zu", i);
		cr_assert(bw_str_eq(out, rows[i].out ? bw_str(rows[i].out) : BW_STR("untouched")),
		          "row %zu", i);
	}
}

Test(credential, name_with_nul_is_refused)
{
	char          mem[CREDENTIAL_NAME + 1];
	struct bw_str out;

	cr_assert_eq(credential_name((struct bw_str){ "ad\0min", 6 }, mem, &out), BW_EINVAL);
}

Test(credential, ascii_is_borrowed)
{
	char          mem[CREDENTIAL_PASSWORD + 1];
	struct bw_str in = BW_STR("secret"), out;

	cr_assert_eq(credential_name(in, mem, &out), BW_OK);
	cr_assert_eq(out.p, in.p);
	cr_assert_eq(credential_password(in, mem, &out), BW_OK);
	cr_assert_eq(out.p, in.p);
}

Test(credential, limits)
{
	static char   text[CREDENTIAL_PASSWORD + 2];
	char          mem[CREDENTIAL_PASSWORD + 1];
	struct bw_str out;

	memset(text, 'x', sizeof(text));
	cr_assert_eq(credential_name((struct bw_str){ text, 255 }, mem, &out), BW_OK);
	cr_assert_eq(credential_name((struct bw_str){ text, 256 }, mem, &out), BW_EINVAL);
	cr_assert_eq(credential_password((struct bw_str){ text, 0 }, mem, &out), BW_EINVAL);
	cr_assert_eq(credential_password((struct bw_str){ text, 1 }, mem, &out), BW_OK);
	cr_assert_eq(credential_password((struct bw_str){ text, 1024 }, mem, &out), BW_OK);
	cr_assert_eq(out.n, 1024);
	cr_assert_eq(credential_password((struct bw_str){ text, 1025 }, mem, &out), BW_EINVAL);
}

/* U+0958 is excluded from composition: NFC makes 6 octets of its 3, and what fits before does not
 * fit after. */
Test(credential, growth_is_measured_after_normalisation)
{
	static char   text[3 * 200];
	char          mem[CREDENTIAL_PASSWORD + 1];
	struct bw_str out;

	for (size_t i = 0; i < sizeof(text); i += 3)
		memcpy(text + i, "\xe0\xa5\x98", 3);
	cr_assert_eq(credential_name((struct bw_str){ text, 126 }, mem, &out), BW_OK);
	cr_assert_eq(out.n, 252);
	cr_assert_eq(credential_name((struct bw_str){ text, 129 }, mem, &out), BW_EINVAL);
	cr_assert_eq(credential_password((struct bw_str){ text, 510 }, mem, &out), BW_OK);
	cr_assert_eq(out.n, 1020);
	cr_assert_eq(credential_password((struct bw_str){ text, 516 }, mem, &out), BW_EINVAL);
}

Test(credential, password_keeps_controls)
{
	char          mem[CREDENTIAL_PASSWORD + 1];
	struct bw_str out;

	cr_assert_eq(credential_password((struct bw_str){ "a\0b\n", 4 }, mem, &out), BW_OK);
	cr_assert_eq(out.n, 4);
	cr_assert_eq(credential_password((struct bw_str){ "e\xcc\x81\0b", 5 }, mem, &out), BW_OK);
	cr_assert(bw_str_eq(out, (struct bw_str){ "\xc3\xa9\0b", 4 }));
}
