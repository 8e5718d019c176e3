/* Under test: auth/mint.c. A handle says who, on which connection, which one and until when, and
 * repo's check accepts it. */
#include <criterion/criterion.h>
#include <sodium.h>
#include "auth/mint.c"

static const struct handle_key key = { 7, { 1, 2, 3 } };

static struct handle minted(struct mint_channel *c, const struct mint_identity *who,
                            uint64_t now_us, uint8_t *out)
{
	struct handle h;
	size_t        n = mint_handle(c, &key, who, now_us, out);

	cr_assert_eq(n, HANDLE_FIXED + 8u * who->n_principals + HANDLE_MAC);
	cr_assert_eq(handle_get(out, n, &key, 1, &h), BW_OK);
	return h;
}

Test(mint, fields)
{
	static const uint64_t      principals[] = { 101 << 1, 102 << 1 | 1, 3 << 1 | 1 };
	const struct mint_identity who = { HANDLE_USER, 101, 3, principals };
	const uint8_t              channel[HANDLE_CHANNEL] = "0123456789abcdef";
	struct mint_channel        c;
	uint8_t                    out[HANDLE_MAX];
	struct handle              h;
	bool                       is_group;

	cr_assert_geq(sodium_init(), 0);
	mint_channel_init(&c, channel, 5000);
	h = minted(&c, &who, 6000, out);
	cr_assert_eq(h.kind, HANDLE_USER);
	cr_assert_eq(h.key_id, 7);
	cr_assert_arr_eq(h.channel, channel, HANDLE_CHANNEL);
	cr_assert_eq(h.sequence, 5000);
	cr_assert_eq(h.user_id, 101);
	cr_assert_eq(h.issued_us, 6000);
	cr_assert_eq(h.expires_us, 6000 + 60000000);
	cr_assert_eq(h.n_principals, 3);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(handle_principal(&h, i, &is_group), principals[i] >> 1);
		cr_assert_eq(is_group, i > 0);
	}
}

Test(mint, numbers_go_upward)
{
	struct mint_channel c, successor;
	uint8_t             out[HANDLE_MAX];
	uint64_t            last = 0;

	cr_assert_geq(sodium_init(), 0);
	mint_channel_init(&c, (const uint8_t *)"0123456789abcdef", 1000000);
	for (unsigned i = 0; i < 1000; i++) {
		struct handle h = minted(&c, mint_anonymous(), 1000000, out);

		cr_assert_gt(h.sequence, last);
		last = h.sequence;
	}
	/* Another auth process, later, on the same channel: at most one handle per microsecond was
	 * minted before, so its numbers are new. */
	mint_channel_init(&successor, (const uint8_t *)"0123456789abcdef", 1002000);
	cr_assert_gt(minted(&successor, mint_anonymous(), 1002000, out).sequence, last);
}

Test(mint, several)
{
	static const struct {
		unsigned count, room_for, n; /* room_for: 1 is given in any case */
	} rows[] = { { 1, 32, 1 }, { 2, 32, 2 }, { 32, 32, 32 }, { 32, 31, 31 }, { 5, 0, 1 } };
	static uint8_t      out[32 * HANDLE_MAX];
	struct mint_channel c;
	struct handle       h;
	uint64_t            next = 9;
	size_t              size;

	cr_assert_geq(sodium_init(), 0);
	mint_channel_init(&c, (const uint8_t *)"0123456789abcdef", next);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t   each = HANDLE_FIXED + 2 * 8 + HANDLE_MAC;
		unsigned n = mint_handles(&c, &key, mint_anonymous(), 1, rows[i].count, out,
		                          (rows[i].room_for + 1) * each - 1, &size);

		cr_assert(n == rows[i].n && size == each, "row %zu", i);
		for (unsigned k = 0; k < n; k++, next++) {
			cr_assert_eq(handle_get(out + k * size, size, &key, 1, &h), BW_OK);
			cr_assert_eq(h.sequence, next);
		}
	}
}

Test(mint, anonymous)
{
	struct mint_channel c;
	uint8_t             out[HANDLE_MAX];
	struct handle       h;
	bool                is_group;

	cr_assert_geq(sodium_init(), 0);
	mint_channel_init(&c, (const uint8_t *)"0123456789abcdef", 1);
	h = minted(&c, mint_anonymous(), 1, out);
	cr_assert_eq(h.kind, HANDLE_ANONYMOUS);
	cr_assert_eq(h.user_id, 2);
	cr_assert_eq(h.n_principals, 2);
	cr_assert_eq(handle_principal(&h, 0, &is_group), 2);
	cr_assert_not(is_group);
	cr_assert_eq(handle_principal(&h, 1, &is_group), 3);
	cr_assert(is_group);
}

Test(mint, most_principals)
{
	static uint64_t      principals[HANDLE_MAX_PRINCIPALS];
	struct mint_identity who = { HANDLE_SERVICE, 500, HANDLE_MAX_PRINCIPALS, principals };
	struct mint_channel  c;
	uint8_t              out[HANDLE_MAX];

	cr_assert_geq(sodium_init(), 0);
	for (unsigned i = 0; i < HANDLE_MAX_PRINCIPALS; i++)
		principals[i] = (uint64_t)(500 + i) << 1 | (i > 0);
	mint_channel_init(&c, (const uint8_t *)"0123456789abcdef", 1);
	cr_assert_eq(minted(&c, &who, 1, out).n_principals, HANDLE_MAX_PRINCIPALS);
}
