/* arena.h - memory with one lifetime: allocated piece by piece, freed at once, with disposers for
 * what is more than memory. Not thread-safe. Chunks are kept in a per-thread stock, so that the
 * arena of a typical request costs no malloc. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;
struct arena_disposer;

struct arena {
	struct arena_chunk    *chunk; /* the one being filled */
	uint8_t               *next, *end;
	struct arena_disposer *disposers;
	size_t                 used; /* octets handed out since init */
};

void arena_init(struct arena *a);
/* Runs the disposers, the last registered first, and frees everything. May be called twice. */
void arena_done(struct arena *a);
/* Aligned to 16, not cleared, never NULL. */
__attribute__((returns_nonnull)) void *arena_alloc(struct arena *a, size_t n);
__attribute__((returns_nonnull)) void *arena_zalloc(struct arena *a, size_t n);
/* A copy of n octets with a NUL behind them. */
__attribute__((returns_nonnull)) char *arena_dup(struct arena *a, const void *p, size_t n);
__attribute__((returns_nonnull, format(printf, 2, 3))) char *arena_printf(struct arena *a,
                                                                          const char *format, ...);
/* dispose(arg) runs once, in arena_done. */
void arena_on_done(struct arena *a, void (*dispose)(void *arg), void *arg);
