/* arena.c - memory with one lifetime.
 *
 *   arena.chunk -> [ next size | 16 .. used .. | .. free .. ] -> [ large ] -> [ full ] -> NULL
 *                                              ^ arena.next   ^ arena.end
 *
 * A chunk has 4 KiB, which is enough for most requests and what each waiting one holds, and comes
 * from the thread's stock; what does not fit well into one gets a block of its own, linked behind the
 * chunk being filled, so that filling goes on there. Under AddressSanitizer everything not handed out
 * is poisoned, with a gap behind each piece: use after arena_done and running over the end of a piece
 * are both reported at the access.
 *
 * Owns: the chunks; the stock of each thread, freed when the thread ends. Runs in: any thread, one
 * at a time per arena; an arena may end on another thread than it began on.
 * Fails with: nothing; out of memory is fatal. Tests: tests/unit/base/arena_test.c. */
#include "arena.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"

#ifdef __has_feature /* clang's way to say it */
#if __has_feature(address_sanitizer)
#define ARENA_POISONS
#endif
#endif
#ifdef __SANITIZE_ADDRESS__ /* gcc's */
#define ARENA_POISONS
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#define poison(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define unpoison(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
enum { ARENA_GAP = 16 };
#else
#define poison(p, n)   ((void)(p), (void)(n))
#define unpoison(p, n) ((void)(p), (void)(n))
enum { ARENA_GAP = 0 };
#endif

enum {
	ARENA_ALIGN = 16,
	ARENA_CHUNK = 4096,    /* with its head */
	ARENA_LARGE = 2048,    /* beyond: a block of its own, if the chunk has no room left */
	ARENA_STOCK_MAX = 128, /* chunks kept per thread: 512 KiB */
};

struct arena_chunk {
	struct arena_chunk *next;
	size_t              size; /* with this head; ARENA_CHUNK, or more for a large one */
	_Alignas(ARENA_ALIGN) uint8_t bytes[];
};

struct arena_disposer {
	struct arena_disposer *next;
	void (*dispose)(void *arg);
	void *arg;
};

struct stock {
	struct arena_chunk *chunks;
	unsigned            n;
	bool                is_registered; /* free_stock will run when this thread ends */
};

static __thread struct stock stock;
static pthread_key_t         stock_key;
static pthread_once_t        stock_once = PTHREAD_ONCE_INIT;

static void free_chunk(struct arena_chunk *c)
{
	unpoison(c->bytes, c->size - sizeof(*c));
	free(c);
}

static void free_stock(void *arg)
{
	struct stock *s = arg;

	while (s->chunks != NULL) {
		struct arena_chunk *c = s->chunks;

		s->chunks = c->next;
		free_chunk(c);
	}
	*s = (struct stock){ 0 };
}

static void make_stock_key(void)
{
	int error = pthread_key_create(&stock_key, free_stock);

	if (error != 0)
		fatalx("pthread_key_create: %s", strerror(error));
}

static void register_stock(void)
{
	pthread_once(&stock_once, make_stock_key);
	pthread_setspecific(stock_key, &stock);
	stock.is_registered = true;
}

static struct arena_chunk *take_chunk(void)
{
	struct arena_chunk *c = stock.chunks;

	if (c != NULL) {
		stock.chunks = c->next;
		stock.n--;
		return c;
	}
	c = xmalloc(ARENA_CHUNK);
	c->size = ARENA_CHUNK;
	poison(c->bytes, ARENA_CHUNK - sizeof(*c));
	return c;
}

static void give_chunk(struct arena_chunk *c)
{
	if (c->size != ARENA_CHUNK || stock.n >= ARENA_STOCK_MAX) {
		free_chunk(c);
		return;
	}
	if (!stock.is_registered)
		register_stock();
	poison(c->bytes, ARENA_CHUNK - sizeof(*c));
	c->next = stock.chunks;
	stock.chunks = c;
	stock.n++;
}

void arena_init(struct arena *a)
{
	*a = (struct arena){ 0 };
}

/* A disposer may still allocate, and register another disposer; both are seen to here. */
void arena_done(struct arena *a)
{
	while (a->disposers != NULL) {
		struct arena_disposer *d = a->disposers;

		a->disposers = d->next;
		d->dispose(d->arg);
	}
	while (a->chunk != NULL) {
		struct arena_chunk *c = a->chunk;

		a->chunk = c->next;
		give_chunk(c);
	}
	arena_init(a);
}

static void *alloc_large(struct arena *a, size_t n)
{
	struct arena_chunk *c = xmalloc(sizeof(*c) + n);

	c->size = sizeof(*c) + n;
	if (a->chunk == NULL) {
		c->next = NULL;
		a->chunk = c;
	} else {
		c->next = a->chunk->next;
		a->chunk->next = c;
	}
	return c->bytes;
}

/* step: n with alignment and gap. */
static void *alloc_slow(struct arena *a, size_t n, size_t step)
{
	struct arena_chunk *c;

	if (step > ARENA_LARGE)
		return alloc_large(a, n);
	c = take_chunk();
	c->next = a->chunk;
	a->chunk = c;
	a->next = c->bytes + step;
	a->end = (uint8_t *)c + ARENA_CHUNK;
	unpoison(c->bytes, n);
	return c->bytes;
}

void *arena_alloc(struct arena *a, size_t n)
{
	size_t   step = ((n + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1)) + ARENA_GAP;
	uint8_t *p = a->next;

	if (n > SIZE_MAX / 2)
		fatalx("out of memory: %zu octets", n);
	a->used += n;
	if (step > (size_t)(a->end - p))
		return alloc_slow(a, n, step);
	a->next = p + step;
	unpoison(p, n);
	return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
	return memset(arena_alloc(a, n), 0, n);
}

char *arena_dup(struct arena *a, const void *p, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	if (n > 0)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

/* Short texts, the usual case, are formatted once. */
char *arena_printf(struct arena *a, const char *format, ...)
{
	char    shorter[256], *text;
	va_list ap;
	int     n;

	va_start(ap, format);
	n = vsnprintf(shorter, sizeof(shorter), format, ap);
	va_end(ap);
	if (n < 0)
		fatal("formatting \"%s\"", format);
	if ((size_t)n < sizeof(shorter))
		return arena_dup(a, shorter, (size_t)n);
	text = arena_alloc(a, (size_t)n + 1);
	va_start(ap, format);
	vsnprintf(text, (size_t)n + 1, format, ap);
	va_end(ap);
	return text;
}

void arena_on_done(struct arena *a, void (*dispose)(void *arg), void *arg)
{
	struct arena_disposer *d = arena_alloc(a, sizeof(*d));

	*d = (struct arena_disposer){ .next = a->disposers, .dispose = dispose, .arg = arg };
	a->disposers = d;
}
