/* fiber.h - stackful coroutines on boost.context's fcontext: nothing else knows it.
 *
 * A fiber runs on the worker's one thread; a switch costs about 4 ns. Stacks come from a pool: 256
 * KiB each with 64 KiB of guard below, capped (vm.max_map_count), trimmed when idle. A fiber is
 * never destroyed in the middle: it runs to its return. Under the address sanitizer each switch is
 * announced and stacks are leak roots. Nothing that calls libh2o runs on a fiber. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct fiber;

/* At most max stacks; the pool grows as needed. Fatal if switching does not work here. */
void fiber_pool_init(size_t max);
void fiber_pool_done(void);
/* Gives memory back that was not used since the last call; for a coarse timer. */
void fiber_pool_trim(void);
/* Runs fn(arg) on a new fiber at once, until it suspends or returns. ret_fiber is set before fn
 * starts, so that fn may find itself there. False: no stack to be had (answer 503). name: static. */
bool fiber_start(void (*fn)(void *arg), void *arg, const char *name, struct fiber **ret_fiber);
/* From inside: parks the current fiber; returns when it is resumed. */
void fiber_suspend(void);
/* From the loop's stack or another fiber: runs f on until it suspends or returns. */
void fiber_resume(struct fiber *f);
/* The running one; NULL on the loop's own stack. */
struct fiber *fiber_current(void);
/* For the crash and watchdog message: the name given at start, and a writable note that the
 * dispatcher sets to the servlet being served. Async-signal-safe to read. The note must live as
 * long as it is set. */
const char *fiber_name(const struct fiber *f);
void        fiber_set_note(struct fiber *f, const char *note);
const char *fiber_note(const struct fiber *f);
/* Octets of the current stack that are not in use yet; SIZE_MAX on the loop's own. */
size_t fiber_stack_left(void);
/* What the fiber was asked for, in two texts that live as long as they are set: a context's name and a
 * pattern. Whoever restarts a crashed worker is told. NULL: nothing. */
struct fiber_subject {
	const char *scope, *pattern;
};
struct fiber_subject fiber_subject(const struct fiber *f);
void                 fiber_set_subject(struct fiber *f, struct fiber_subject subject);
/* This thread runs a job of f's: its crash is that of f. NULL: it does not any more. */
void fiber_work_for(struct fiber *f);
/* Where a crash leaves "scope pattern", cut to size octets with its NUL; NULL: nowhere. */
void fiber_report_subject(char *at, size_t size);
/* SIGSEGV, SIGBUS, SIGABRT, SIGILL and SIGFPE write one line naming the fiber and its note, on a stack
 * of their own, and then end the process as they would have. */
void fiber_report_crashes(void);
