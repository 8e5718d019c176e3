/* fiber.c - the stacks that servlets run on, and the switch between them and the loop.
 *
 *    low                                                             high
 *     |  guard, PROT_NONE  |  stack, grows down  <----------  | struct fiber |
 *        64 KiB               256 KiB
 *
 * The guard is wider than a page because a large local may step over one; our code and bundles are
 * built with -fstack-clash-protection, which probes every page. struct fiber lies on top of its own
 * stack: one page is touched for both, and an overflow runs away from it.
 *
 * Owns: the stacks (process lifetime). Runs in: the one thread of a worker.
 * Fails with: false from fiber_start when max stacks are taken or the kernel refuses a mapping.
 * Tests: tests/unit/gateway/fiber_test.c. */
#include "fiber.h"

#include <base/fatal.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef BOARDWALK_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#define STACK_SIZE (1024u * 1024u) /* instrumented frames are several times as large */
#else
#define STACK_SIZE (256u * 1024u)
#endif
#define GUARD_SIZE   (64u * 1024u)
#define MAPPING_SIZE (GUARD_SIZE + STACK_SIZE)
#define PAGE         4096u
#define KEEP_IDLE    16u /* stacks that stay mapped however idle */

/* boost.context's assembly, as its C++ headers declare it; the symbols have C linkage. */
typedef void *fcontext_t;
struct transfer {
	fcontext_t from; /* the context that was left by this jump: a new one each time */
	void      *data;
};
extern struct transfer jump_fcontext(fcontext_t to, void *data);
extern fcontext_t      make_fcontext(void *top, size_t size, void (*fn)(struct transfer));

struct fiber {
	fcontext_t    self;    /* where it goes on, while suspended */
	fcontext_t    caller;  /* where fiber_suspend returns to, while running */
	struct fiber *resumer; /* who runs it; NULL: the loop */
	void (*fn)(void *arg);
	void       *arg;
	const char *name;
	const char *volatile note;
	volatile struct fiber_subject subject;
	uint8_t                      *mapping;
	bool                          dirty; /* used since it was trimmed */
	bool                          ended;
#ifdef BOARDWALK_SANITIZED
	void       *fake, *caller_fake; /* of the sanitizer, kept over a switch */
	const void *caller_bottom;
	size_t      caller_size;
#endif
};

static struct {
	struct fiber **idle;        /* last in, first out: the low end is the idlest */
	size_t         n_idle, low; /* low: the least n_idle since the last trim */
	size_t         n_all, max;
} pool;
static struct fiber *volatile running;
static __thread struct fiber *works_for; /* of a thread that is not the worker's own */

#ifdef BOARDWALK_SANITIZED
static void leave(void **save, const void *bottom, size_t size)
{
	__sanitizer_start_switch_fiber(save, bottom, size);
}

static void arrive(void *saved, const void **ret_bottom, size_t *ret_size)
{
	__sanitizer_finish_switch_fiber(saved, ret_bottom, ret_size);
}
#define LEAVE_TO_FIBER(f)  leave(&(f)->caller_fake, (f)->mapping + GUARD_SIZE, STACK_SIZE)
#define BACK_FROM_FIBER(f) arrive((f)->caller_fake, NULL, NULL)
#define LEAVE_TO_CALLER(f) \
	leave((f)->ended ? NULL : &(f)->fake, (f)->caller_bottom, (f)->caller_size)
#define BACK_ON_FIBER(f) arrive((f)->fake, &(f)->caller_bottom, &(f)->caller_size)
#else
#define LEAVE_TO_FIBER(f)  ((void)(f))
#define BACK_FROM_FIBER(f) ((void)(f))
#define LEAVE_TO_CALLER(f) ((void)(f))
#define BACK_ON_FIBER(f)   ((void)(f))
#endif

static struct fiber *stack_map(void)
{
	uint8_t      *p;
	struct fiber *f;

	p = mmap(NULL, MAPPING_SIZE, PROT_NONE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (mprotect(p + GUARD_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE) != 0) {
		munmap(p, MAPPING_SIZE);
		return NULL;
	}
	f = (struct fiber *)(p + MAPPING_SIZE - ((sizeof(struct fiber) + 63) & ~(size_t)63));
	f->mapping = p;
	return f;
}

static void stack_unmap(struct fiber *f)
{
#ifdef BOARDWALK_SANITIZED
	__asan_unpoison_memory_region(f->mapping + GUARD_SIZE, STACK_SIZE);
#endif
	munmap(f->mapping, MAPPING_SIZE);
}

/* A live fiber's stack is a root for the leak checker; an idle one is not, or the pointers left on it
 * would hide leaks. */
static void stack_in_use(struct fiber *f, bool yes)
{
#ifdef BOARDWALK_SANITIZED
	if (yes) {
		__asan_unpoison_memory_region(f->mapping + GUARD_SIZE,
		                              (size_t)((uint8_t *)f - f->mapping) - GUARD_SIZE);
		__lsan_register_root_region(f->mapping + GUARD_SIZE, STACK_SIZE);
	} else {
		__lsan_unregister_root_region(f->mapping + GUARD_SIZE, STACK_SIZE);
	}
#else
	(void)f;
	(void)yes;
#endif
}

static struct fiber *take(void)
{
	struct fiber *f;

	if (pool.n_idle > 0) {
		f = pool.idle[--pool.n_idle];
		if (pool.n_idle < pool.low)
			pool.low = pool.n_idle;
		return f;
	}
	pool.low = 0;
	if (pool.n_all == pool.max || (f = stack_map()) == NULL)
		return NULL;
	pool.n_all++;
	return f;
}

static void put(struct fiber *f)
{
	pool.idle[pool.n_idle++] = f;
}

/* The first frame of every fiber. It must not return: the assembly would end the process. */
static void entry(struct transfer t)
{
	struct fiber *f = t.data;

#ifdef BOARDWALK_SANITIZED
	arrive(NULL, &f->caller_bottom, &f->caller_size);
#endif
	f->caller = t.from;
	f->fn(f->arg);
	f->ended = true;
	LEAVE_TO_CALLER(f);
	jump_fcontext(f->caller, NULL);
	abort();
}

static void run(struct fiber *f)
{
	struct transfer t;

	f->resumer = running;
	running = f;
	LEAVE_TO_FIBER(f);
	t = jump_fcontext(f->self, f);
	BACK_FROM_FIBER(f);
	running = f->resumer;
	f->self = t.from;
	if (f->ended) {
		stack_in_use(f, false);
		put(f);
	}
}

bool fiber_start(void (*fn)(void *arg), void *arg, const char *name, struct fiber **ret_fiber)
{
	struct fiber *f = take();

	if (f == NULL)
		return false;
	stack_in_use(f, true);
	f->fn = fn;
	f->arg = arg;
	f->name = name;
	f->note = NULL;
	f->subject.scope = NULL;
	f->dirty = true;
	f->ended = false;
	f->self = make_fcontext(f, (size_t)((uint8_t *)f - f->mapping) - GUARD_SIZE, entry);
	*ret_fiber = f;
	run(f);
	return true;
}

void fiber_suspend(void)
{
	struct fiber   *f = running;
	struct transfer t;

	if (f == NULL)
		fatalx("fiber: suspend outside of a fiber");
	LEAVE_TO_CALLER(f);
	t = jump_fcontext(f->caller, NULL);
	BACK_ON_FIBER(f);
	f->caller = t.from;
}

void fiber_resume(struct fiber *f)
{
	if (f->ended || f == running)
		fatalx("fiber: resume of a fiber that is not suspended");
	run(f);
}

struct fiber *fiber_current(void)
{
	return running;
}

const char *fiber_name(const struct fiber *f)
{
	return f->name;
}

const char *fiber_note(const struct fiber *f)
{
	return f->note;
}

size_t fiber_stack_left(void)
{
	const uint8_t *here = __builtin_frame_address(0);

	return running ? (size_t)(here - (running->mapping + GUARD_SIZE)) : SIZE_MAX;
}

void fiber_set_note(struct fiber *f, const char *note)
{
	f->note = note;
}

struct fiber_subject fiber_subject(const struct fiber *f)
{
	return (struct fiber_subject){ f->subject.scope, f->subject.pattern };
}

void fiber_set_subject(struct fiber *f, struct fiber_subject subject)
{
	f->subject.pattern = subject.pattern;
	f->subject.scope = subject.scope;
}

void fiber_work_for(struct fiber *f)
{
	works_for = f;
}

static void self_test_fn(void *arg)
{
	int *steps = arg;

	(*steps)++;
	fiber_suspend();
	(*steps)++;
}

/* The switch is assembly that we only link to: one round trip shows that it is the one we mean. */
static void self_test(void)
{
	struct fiber *f = NULL;
	int           steps = 0;

	if (!fiber_start(self_test_fn, &steps, "self-test", &f))
		fatal("fiber: no stack");
	if (steps != 1 || fiber_current() != NULL || f->ended)
		fatalx("fiber: the context switch does not work");
	fiber_resume(f);
	if (steps != 2 || !f->ended)
		fatalx("fiber: the context switch does not return");
}

void fiber_pool_init(size_t max)
{
	pool.max = max;
	pool.idle = xcalloc(max, sizeof(struct fiber *));
	self_test();
}

void fiber_pool_trim(void)
{
	size_t surplus = pool.low > KEEP_IDLE ? pool.low - KEEP_IDLE : 0, i;

	for (i = 0; i < surplus; i++)
		stack_unmap(pool.idle[i]);
	memmove(pool.idle, pool.idle + surplus, (pool.n_idle - surplus) * sizeof(struct fiber *));
	pool.n_idle -= surplus;
	pool.n_all -= surplus;
	for (i = 0; i < pool.low - surplus; i++) {
		struct fiber *f = pool.idle[i];
		uint8_t      *bottom = f->mapping + GUARD_SIZE;
		uint8_t      *top = (uint8_t *)((uintptr_t)f & ~(uintptr_t)(PAGE - 1));

		if (f->dirty)
			madvise(bottom, (size_t)(top - bottom), MADV_DONTNEED);
		f->dirty = false;
	}
	pool.low = pool.n_idle;
}

void fiber_pool_done(void)
{
	if (pool.n_idle != pool.n_all)
		fatalx("fiber: %zu still running", pool.n_all - pool.n_idle);
	for (size_t i = 0; i < pool.n_idle; i++)
		stack_unmap(pool.idle[i]);
	free(pool.idle);
	memset(&pool, 0, sizeof(pool));
}

/* ---- crashes ------------------------------------------------------------------------------- */

static const struct {
	int         number;
	const char *name;
} crash_signals[] = {
	{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" }, { SIGABRT, "SIGABRT" },
	{ SIGILL, "SIGILL" },   { SIGFPE, "SIGFPE" },
};
#define N_CRASH_SIGNALS (sizeof(crash_signals) / sizeof(crash_signals[0]))
static struct sigaction crash_previous[N_CRASH_SIGNALS];
static char            *subject_at; /* NULL: nobody wants to know */
static size_t           subject_size;

struct line {
	char   text[512];
	size_t n;
};

/* Only what may stand in a quoted value of a log line. */
static void line_add(struct line *l, const char *s)
{
	for (; *s && l->n < sizeof(l->text) - 2; s++)
		l->text[l->n++] = *s >= ' ' && *s < 127 && *s != '"' && *s != '\\' ? *s : '?';
}

static void line_add_number(struct line *l, unsigned long n)
{
	char digits[24], *p = digits + sizeof(digits) - 1;

	*p = 0;
	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	line_add(l, p);
}

/* The first crash counts: while it is reported others may follow. */
static void report_subject(const struct fiber *f)
{
	const char *parts[] = { f->subject.scope, " ", f->subject.pattern };
	size_t      n = 0;

	if (subject_at == NULL || subject_at[0] != 0 || parts[0] == NULL)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *p = parts[i]; *p && n < subject_size - 1; p++)
			subject_at[n++] = *p;
	subject_at[n] = 0;
}

/* Whose code crashed: the loop's fiber, or the one that a thread of offload works for. */
static struct fiber *fiber_at_fault(void)
{
	if (works_for != NULL)
		return works_for;
	return gettid() == getpid() ? running : NULL;
}

static void on_crash(int number, siginfo_t *info, void *ucontext)
{
	struct line   l = { .n = 0 };
	struct fiber *f = fiber_at_fault();
	size_t        i = 0;

	(void)ucontext;
	while (i < N_CRASH_SIGNALS - 1 && crash_signals[i].number != number)
		i++;
	line_add(&l, "level=error process=gateway pid=");
	line_add_number(&l, (unsigned long)getpid());
	line_add(&l, " msg=");
	l.text[l.n++] = '"';
	line_add(&l, crash_signals[i].name);
	if (f == NULL) {
		line_add(&l, " on the loop's stack");
	} else {
		uint8_t *at = info->si_addr;

		report_subject(f);
		line_add(&l, " in fiber ");
		line_add(&l, f->name);
		line_add(&l, " serving ");
		line_add(&l, f->note ? f->note : "nothing yet");
		if (number == SIGSEGV && at >= f->mapping && at < f->mapping + GUARD_SIZE)
			line_add(&l, ": stack overflow");
	}
	l.text[l.n++] = '"';
	l.text[l.n++] = '\n';
	/* If nobody can be told, the process still has to end. */
	(void)!write(STDERR_FILENO, l.text, l.n);
	sigaction(number, &crash_previous[i], NULL);
	raise(number); /* blocked until this handler returns */
}

void fiber_report_subject(char *at, size_t size)
{
	subject_at = at;
	subject_size = size;
}

void fiber_report_crashes(void)
{
	static uint8_t   stack[16384]; /* SIGSTKSZ is no constant any more */
	stack_t          alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (sigaltstack(&alternate, NULL) != 0)
		fatal("sigaltstack");
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
		if (sigaction(crash_signals[i].number, &action, &crash_previous[i]) != 0)
			fatal("sigaction");
}
