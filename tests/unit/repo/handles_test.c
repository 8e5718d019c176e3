/* Under test: repo/handles.c and principals.c. A number opens once; what is open can be used until
 * it is closed or expires; nothing else can. */
#include <criterion/criterion.h>
#include <repo/handles.h>
#include <sodium.h>
#include <stdlib.h>

static const uint8_t here[16] = { 1 }, there[16] = { 2 };

static struct principals_table *table;
static struct handles           h;

static int open_as(uint64_t sequence, const uint8_t *channel, uint64_t expires, uint64_t user)
{
	static struct principals *who;
	uint64_t                  ids[2] = { user << 1, 3 << 1 | 1 };
	struct handle             handle = {
			    .kind = HANDLE_USER,
			    .sequence = sequence,
			    .expires_us = expires,
			    .n_principals = 2,
			    .principals = (const uint8_t *)ids,
	};

	memcpy(handle.channel, channel, sizeof(handle.channel));
	return handles_open(&h, &handle, here, 1000, &who);
}

static int open_one(uint64_t sequence)
{
	return open_as(sequence, here, 2000, 5);
}

static int use(uint64_t sequence, uint64_t now)
{
	struct principals *who = NULL;
	int                err = handles_use(&h, sequence, now, &who);

	cr_assert((who != NULL) == (err == BW_OK));
	return err;
}

static void begin(void)
{
	cr_assert(sodium_init() >= 0);
	table = principals_table_new();
	handles_init(&h, table);
}

static void end(void)
{
	handles_done(&h);
	principals_table_free(table); /* fatal if a reference is left */
}

TestSuite(handles, .init = begin, .fini = end);

Test(handles, life_of_one)
{
	cr_assert_eq(use(100, 1000), BW_ECLOSED, "never opened");
	handles_close(&h, 100); /* nothing */
	cr_assert_eq(open_one(100), BW_OK);
	cr_assert_eq(use(100, 1000), BW_OK);
	cr_assert_eq(use(100, 1999), BW_OK);
	cr_assert_eq(use(100, 2000), BW_EEXPIRED, "the expiry is looked at with each use");
	cr_assert_eq(use(101, 1000), BW_ECLOSED);
	cr_assert_eq(open_one(100), BW_ECLOSED, "a second opening");
	cr_assert_eq(use(100, 1000), BW_OK, "does not end the first");
	handles_close(&h, 100);
	cr_assert_eq(use(100, 1000), BW_ECLOSED);
	handles_close(&h, 100);
	cr_assert_eq(open_one(100), BW_ECLOSED, "a replay after the close");
	cr_assert_eq(h.n_open, 0);
}

Test(handles, refusals_leave_no_trace)
{
	cr_assert_eq(open_as(7, there, 2000, 5), BW_EFOREIGN);
	cr_assert_eq(open_as(7, here, 1000, 5), BW_EEXPIRED);
	cr_assert_eq(open_as(7, here, 999, 5), BW_EEXPIRED);
	cr_assert_eq(h.n_open, 0);
	cr_assert_eq(open_as(7, here, 1001, 5), BW_OK, "a refused number was not used up");
}

Test(handles, window)
{
	uint64_t top = (uint64_t)1 << 40;

	cr_assert_eq(open_one(top), BW_OK);
	cr_assert_eq(open_one(top - 5), BW_OK, "an honest one that comes late");
	cr_assert_eq(open_one(top - 5), BW_ECLOSED);
	cr_assert_eq(open_one(top - HANDLES_WINDOW + 1), BW_OK, "the window's left end");
	cr_assert_eq(open_one(top - HANDLES_WINDOW), BW_ECLOSED, "left of it");
	cr_assert_eq(open_one(top - HANDLES_WINDOW - 7), BW_ECLOSED, "whose bit is clear");
	cr_assert_eq(open_one(top - 3ull * HANDLES_WINDOW - 9), BW_ECLOSED);
	cr_assert_eq(open_one(0), BW_ECLOSED);
	/* It moves: what was the left end is outside, the bits of the numbers that enter are
	 * clear. */
	cr_assert_eq(open_one(top + 1), BW_OK);
	cr_assert_eq(open_one(top - HANDLES_WINDOW + 1), BW_ECLOSED);
	cr_assert_eq(open_one(top + 1 + HANDLES_WINDOW / 2), BW_OK);
	for (uint64_t i = 2; i < 300; i++)
		cr_assert_eq(open_one(top + i), BW_OK, "%llu has a stale bit",
		             (unsigned long long)i);
	cr_assert_eq(open_one(top + 1), BW_ECLOSED);
	cr_assert_eq(open_one(top), BW_ECLOSED);
	/* Once around the ring: the same bits, other numbers. */
	cr_assert_eq(open_one(top + HANDLES_WINDOW - 1), BW_OK);
	cr_assert_eq(open_one(top + HANDLES_WINDOW + 300), BW_OK);
	for (uint64_t i = 2; i < 300; i++)
		cr_assert_eq(open_one(top + HANDLES_WINDOW + i), BW_OK, "the bit of %llu is stale",
		             (unsigned long long)i);
	cr_assert_eq(open_one(top + HANDLES_WINDOW + 2), BW_ECLOSED);
	/* A leap over the whole window clears it all. */
	cr_assert_eq(open_one(top + 10ull * HANDLES_WINDOW), BW_OK);
	cr_assert_eq(open_one(top + 9ull * HANDLES_WINDOW), BW_ECLOSED);
	for (uint64_t i = 1; i < 300; i++)
		cr_assert_eq(open_one(top + 9ull * HANDLES_WINDOW + i), BW_OK);
	cr_assert_eq(use(top, 1000), BW_OK, "an open one does not fall out of the window");
	cr_assert_eq(open_one(UINT64_MAX), BW_ECLOSED, "after which all would be new again");
	cr_assert_eq(open_one(UINT64_MAX - 1), BW_OK);
	cr_assert_eq(open_one(UINT64_MAX - 1), BW_ECLOSED);
}

/* The bitmap against a plain list of what was seen, with leaps of every size. */
Test(handles, window_equals_the_reference)
{
	enum { SPAN = 1 << 12 };
	static uint64_t seen[200000];
	size_t          n_seen = 0;
	uint64_t        top = 1ull << 50;

	srandom(7);
	for (int i = 0; i < 20000; i++) {
		uint64_t sequence = top - (uint64_t)(random() % SPAN);
		bool     known = false;

		if (random() % 3 == 0) {
			top += (uint64_t)(random() % (random() % 50 == 0 ? SPAN : 70));
			sequence = top;
		}
		for (size_t k = n_seen; k-- > 0 && n_seen - k < 3 * SPAN && !known;)
			known = seen[k] == sequence;
		cr_assert_eq(open_one(sequence), known ? BW_ECLOSED : BW_OK, "step %d", i);
		if (!known) {
			seen[n_seen++] = sequence;
			if (random() % 4 != 0)
				handles_close(&h, sequence);
		}
	}
}

Test(handles, many_open_ones)
{
	uint64_t first = 1u << 20;

	for (uint64_t i = 0; i < HANDLES_MAX_OPEN; i++)
		cr_assert_eq(open_as(first + 3 * i, here, 2000, i % 100), BW_OK);
	cr_assert_eq(open_one(first + 3 * HANDLES_MAX_OPEN), BW_EBUSY);
	handles_close(&h, first + 3 * 77);
	cr_assert_eq(open_one(first + 3 * HANDLES_MAX_OPEN), BW_OK);
	for (uint64_t i = 0; i < HANDLES_MAX_OPEN; i++) {
		cr_assert_eq(use(first + 3 * i, 1000), i == 77 ? BW_ECLOSED : BW_OK);
		if (i % 2 == 0)
			handles_close(&h, first + 3 * i);
	}
	for (uint64_t i = 0; i < HANDLES_MAX_OPEN; i++)
		cr_assert_eq(use(first + 3 * i, 1000), i == 77 || i % 2 == 0 ? BW_ECLOSED : BW_OK);
	cr_assert_eq(principals_table_count(table), 101 - 1, "a set is kept once");
}

Test(handles, principal_sets)
{
	uint64_t a[3] = { 9 << 1 | 1, 5 << 1, 3 << 1 | 1 },
		 b[3] = { 3 << 1 | 1, 9 << 1 | 1, 5 << 1 };
	uint64_t           other[3] = { 3 << 1 | 1, 9 << 1, 5 << 1 };
	struct handle      handle = { .kind = HANDLE_USER, .n_principals = 3 };
	struct principals *one, *two, *three;
	bool               group;

	handle.principals = (const uint8_t *)a;
	one = principals_ref_of(table, &handle);
	handle.principals = (const uint8_t *)b;
	two = principals_ref_of(table, &handle);
	handle.principals = (const uint8_t *)other;
	three = principals_ref_of(table, &handle);
	cr_assert(one == two && one != three && one->number != three->number);
	cr_assert(principals_has(one, 9, &group) && group);
	cr_assert(principals_has(three, 9, &group) && !group);
	cr_assert(!principals_has(one, 4, &group) && !principals_has(one, 10, &group));
	principals_unref(one);
	principals_unref(two);
	principals_unref(three);
}

/* Sets that nobody uses do not pile up. */
Test(handles, idle_sets_are_swept)
{
	for (uint64_t i = 0; i < 50000; i++) {
		cr_assert_eq(open_as(1 + i, here, 2000, 10 + i), BW_OK);
		handles_close(&h, 1 + i);
	}
	cr_assert(principals_table_count(table) <= 8192);
}
