/* lib/base/buf.c: what goes in at the end comes out at the start, unchanged, however it grows. */
#include <base/buf.c>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "child.h"

static void check_sane(const struct buf *b)
{
	cr_assert(le(sz, b->start, b->end));
	cr_assert(le(sz, b->end, b->cap));
	cr_assert(eq(int, b->mem == NULL, b->cap == 0));
}

Test(buf, is_empty_at_first_and_after_done)
{
	struct buf b;

	buf_init(&b);
	check_sane(&b);
	cr_assert(eq(sz, buf_size(&b), 0));
	buf_append(&b, NULL, 0);
	cr_assert(b.mem == NULL, "nothing needs no memory");
	buf_append(&b, "x", 1);
	buf_done(&b);
	check_sane(&b);
	cr_assert(eq(sz, buf_size(&b), 0));
	buf_append(&b, "abc", 3);
	cr_assert(memcmp(buf_data(&b), "abc", 3) == 0, "used again");
	buf_done(&b);
	buf_done(&b);
}

/* A queue of numbered octets of every relation of in to out; the content is compared throughout. */
Test(buf, keeps_octets_in_order_while_it_grows_and_moves)
{
	static const struct {
		size_t in, out;
	} cases[] = { { 1, 1 }, { 7, 3 }, { 100, 99 }, { 513, 512 }, { 4096, 1 }, { 1000, 1000 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b;
		uint8_t    put = 0, got = 0;
		size_t     held = 0;

		buf_init(&b);
		for (int round = 0; round < 300; round++) {
			uint8_t *p = buf_reserve(&b, cases[i].in);

			for (size_t k = 0; k < cases[i].in; k++)
				p[k] = put++;
			buf_commit(&b, cases[i].in);
			held += cases[i].in;
			cr_assert(eq(sz, buf_size(&b), held));
			for (size_t k = 0; k < cases[i].out; k++)
				cr_assert(buf_data(&b)[k] == got++, "case %zu round %d", i, round);
			buf_consume(&b, cases[i].out);
			held -= cases[i].out;
			check_sane(&b);
		}
		buf_done(&b);
	}
}

Test(buf, does_not_grow_while_it_is_emptied_in_turn)
{
	struct buf b;

	buf_init(&b);
	for (int i = 0; i < 10000; i++) {
		buf_append(&b, "0123456789abcdef", 16);
		buf_append(&b, "0123456789abcdef", 16);
		buf_consume(&b, 16);
		if (i >= 8)
			buf_consume(&b, 16);
	}
	cr_assert(eq(sz, buf_size(&b), 8 * 16));
	cr_assert(le(sz, b.cap, 1024));
	buf_done(&b);
}

Test(buf, clear_keeps_the_memory)
{
	struct buf b;
	uint8_t   *mem;

	buf_init(&b);
	buf_append(&b, "abc", 3);
	mem = b.mem;
	buf_clear(&b);
	cr_assert(eq(sz, buf_size(&b), 0));
	buf_append(&b, "d", 1);
	cr_assert(eq(ptr, b.mem, mem));
	cr_assert(eq(sz, buf_size(&b), 1));
	buf_done(&b);
}

Test(buf, printf_appends_texts_of_any_length)
{
	struct buf b;
	char       big[3000];

	memset(big, 'y', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	buf_init(&b);
	buf_printf(&b, "%d", 42); /* with no memory yet */
	for (int i = 0; i < 600; i++)
		buf_printf(&b, "%c", 'a' + i % 26);
	buf_printf(&b, "%s", big);
	buf_printf(&b, "%s", "");
	cr_assert(eq(sz, buf_size(&b), 2 + 600 + sizeof(big) - 1));
	cr_assert(memcmp(buf_data(&b), "42abc", 5) == 0);
	cr_assert(memcmp(buf_data(&b) + 602, big, sizeof(big) - 1) == 0);
	check_sane(&b);
	buf_done(&b);
}

static void commit_beyond(void *arg)
{
	struct buf b;

	(void)arg;
	buf_init(&b);
	buf_reserve(&b, 10);
	buf_commit(&b, b.cap + 1);
}

static void consume_beyond(void *arg)
{
	struct buf b;

	(void)arg;
	buf_init(&b);
	buf_append(&b, "abc", 3);
	buf_consume(&b, 4);
}

static void reserve_beyond(void *arg)
{
	struct buf b;

	(void)arg;
	buf_init(&b);
	buf_append(&b, "abc", 3);
	buf_reserve(&b, SIZE_MAX - 1);
}

Test(buf, broken_use_is_fatal)
{
	static const struct {
		void (*run)(void *arg);
		const char *text;
	} cases[] = {
		{ commit_beyond, "513 octets committed where 512 were free" },
		{ consume_beyond, "4 octets consumed where 3 were there" },
		{ reserve_beyond, "out of memory" },
	};
	char text[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert(eq(int, run_child(cases[i].run, NULL, text, sizeof(text)), 1), "case %zu",
		          i);
		cr_assert(strstr(text, cases[i].text) != NULL, "case %zu: %s", i, text);
	}
}
