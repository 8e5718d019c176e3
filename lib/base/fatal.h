/* fatal.h - ends the process: at start-up, out of memory, on a broken invariant, on nonsense from a
 * more trusted peer. Writes one line to the log (flushed) and exits with 1. */
#pragma once
#include <stddef.h>

/* With the text of errno. */
__attribute__((noreturn, format(printf, 1, 2))) void fatal(const char *format, ...);
/* Without. */
__attribute__((noreturn, format(printf, 1, 2))) void fatalx(const char *format, ...);

/* malloc, calloc, realloc, strdup, asprintf that do not fail: out of memory is fatal. */
__attribute__((malloc, returns_nonnull)) void *xmalloc(size_t n);
__attribute__((malloc, returns_nonnull)) void *xcalloc(size_t count, size_t size);
__attribute__((malloc, returns_nonnull)) char *xstrdup(const char *s);
__attribute__((malloc, returns_nonnull)) char *xstrndup(const char *s, size_t n);

__attribute__((returns_nonnull)) void *xrealloc(void *p, size_t n);

__attribute__((malloc, returns_nonnull, format(printf, 1, 2))) char *xasprintf(const char *format,
                                                                               ...);
