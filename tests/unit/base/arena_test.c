/* lib/base/arena.c: pieces do not overlap and are aligned; the end frees everything once; a request
 * of usual size calls neither malloc nor free; under AddressSanitizer what is over is poisoned. */
#include <base/fatal.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

static unsigned mallocs, frees;

static void *counted_malloc(size_t n)
{
	__atomic_add_fetch(&mallocs, 1, __ATOMIC_RELAXED);
	return xmalloc(n);
}

static void counted_free(void *p)
{
	__atomic_add_fetch(&frees, 1, __ATOMIC_RELAXED);
	free(p);
}

#define xmalloc counted_malloc
#define free    counted_free
#include <base/arena.c>
#undef free
#undef xmalloc

static uintptr_t place(const void *p)
{
	return (uintptr_t)p;
}

/* Each piece is filled with its own octet; all are looked at when the last is there. */
Test(arena, pieces_of_all_sizes_are_aligned_and_apart)
{
	static const size_t sizes[] = { 0,    1,    15,   16,   17,   100,   2000,
		                        2048, 2049, 5000, 8176, 8192, 100000 };
	enum { N = 600, KINDS = sizeof(sizes) / sizeof(*sizes) };
	static uint8_t *pieces[N];
	struct arena    a;
	size_t          sum = 0;

	arena_init(&a);
	for (size_t i = 0; i < N; i++) {
		size_t n = sizes[(i * 7) % KINDS];

		pieces[i] = arena_alloc(&a, n);
		cr_assert(eq(u64, place(pieces[i]) % 16, 0));
		memset(pieces[i], (int)i, n);
		sum += n;
	}
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < sizes[(i * 7) % KINDS]; k++)
			cr_assert(pieces[i][k] == (uint8_t)i, "piece %zu octet %zu", i, k);
	}
	cr_assert(eq(sz, a.used, sum));
	arena_done(&a);
	cr_assert(eq(sz, a.used, 0));
	arena_done(&a);
}

Test(arena, a_request_calls_neither_malloc_nor_free)
{
	unsigned mallocs_before, frees_before;

	for (int round = 0; round < 1000; round++) {
		struct arena a, b; /* two requests at once */

		arena_init(&a);
		arena_init(&b);
		for (int i = 0; i < 16; i++) {
			arena_alloc(&a, 128);
			arena_printf(&b, "/content/%d", i);
		}
		arena_done(&a);
		arena_done(&b);
		if (round == 0) {
			mallocs_before = mallocs;
			frees_before = frees;
		}
	}
	cr_assert(eq(uint, mallocs_before, 2));
	cr_assert(eq(uint, mallocs, mallocs_before));
	cr_assert(eq(uint, frees, frees_before));
	cr_assert(eq(uint, stock.n, 2));
}

Test(arena, the_stock_is_bounded_and_large_blocks_stay_out_of_it)
{
	struct arena a;

	arena_init(&a);
	for (int i = 0; i < 400; i++)
		arena_alloc(&a, 2000);
	arena_done(&a);
	cr_assert(eq(uint, stock.n, ARENA_STOCK_MAX));
	cr_assert(eq(uint, mallocs - frees, ARENA_STOCK_MAX));
	arena_init(&a);
	arena_alloc(&a, 100000); /* as the first piece */
	arena_alloc(&a, 1);
	arena_alloc(&a, 100000); /* behind a chunk, which is filled on */
	cr_assert(lt(u64, place(arena_alloc(&a, 1)) - place(a.chunk), ARENA_CHUNK));
	arena_done(&a);
	cr_assert(eq(uint, stock.n, ARENA_STOCK_MAX));
	cr_assert(eq(uint, mallocs - frees, ARENA_STOCK_MAX));
}

static void *use_an_arena(void *arg)
{
	struct arena a;

	(void)arg;
	arena_init(&a);
	for (int i = 0; i < 20; i++)
		arena_alloc(&a, 1500);
	arena_done(&a);
	return NULL;
}

Test(arena, a_thread_that_ends_frees_its_stock)
{
	pthread_t thread;

	cr_assert(eq(int, pthread_create(&thread, NULL, use_an_arena, NULL), 0));
	cr_assert(eq(int, pthread_join(thread, NULL), 0));
	cr_assert(gt(uint, mallocs, 1));
	cr_assert(eq(uint, mallocs, frees));
}

/* ---- disposers ---- */

static char         order[16];
static struct arena disposing;

static char letters[][2] = { "a", "b", "c" };

static void note(void *arg)
{
	strcat(order, arg);
}

static void note_and_register(void *arg)
{
	note(arg);
	arena_on_done(&disposing, note, arena_dup(&disposing, "z", 1));
}

Test(arena, disposers_run_once_last_first_and_may_use_the_arena)
{
	arena_init(&disposing);
	arena_on_done(&disposing, note, letters[0]);
	arena_on_done(&disposing, note_and_register, letters[1]);
	arena_on_done(&disposing, note, letters[2]);
	arena_done(&disposing);
	cr_assert(eq(str, order, "cbza"));
	arena_done(&disposing);
	cr_assert(eq(str, order, "cbza"), "twice");
}

Test(arena, copies_and_texts)
{
	struct arena a;
	char         big[1000];
	uint8_t     *zeros;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	use_an_arena(NULL); /* the memory has been used before */
	arena_init(&a);
	zeros = arena_zalloc(&a, 500);
	for (int i = 0; i < 500; i++)
		cr_assert(eq(u8, zeros[i], 0));
	cr_assert(eq(str, arena_dup(&a, "abcdef", 3), "abc"));
	cr_assert(eq(str, arena_dup(&a, NULL, 0), ""));
	cr_assert(eq(str, arena_printf(&a, "%d/%s", 5, "x"), "5/x"));
	cr_assert(eq(str, arena_printf(&a, "%s", big), big));
	cr_assert(eq(str, arena_printf(&a, "%.255s", big), big + sizeof(big) - 256));
	cr_assert(eq(str, arena_printf(&a, "%.256s", big), big + sizeof(big) - 257));
	arena_done(&a);
}

#ifdef ARENA_POISONS
Test(arena, what_is_over_is_poisoned)
{
	struct arena a;
	char        *first, *second, *large;

	arena_init(&a);
	first = arena_alloc(&a, 20);
	second = arena_alloc(&a, 20);
	large = arena_alloc(&a, 9000);
	cr_assert(__asan_address_is_poisoned(first + 19) == 0);
	cr_assert(__asan_address_is_poisoned(first + 20) != 0, "over the end of a piece");
	cr_assert(__asan_address_is_poisoned(second - 1) != 0);
	cr_assert(__asan_address_is_poisoned(large + 9000) != 0);
	arena_done(&a);
	cr_assert(__asan_address_is_poisoned(first) != 0, "after the request");
	cr_assert(__asan_address_is_poisoned(large) != 0);
	arena_init(&a);
	cr_assert(eq(ptr, arena_alloc(&a, 8), first));
	cr_assert(__asan_address_is_poisoned(first) == 0, "handed out again");
	cr_assert(__asan_address_is_poisoned(first + 8) != 0);
	arena_done(&a);
}
#endif
