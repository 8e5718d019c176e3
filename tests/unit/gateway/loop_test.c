/* gateway/http/loop.c: timers in order and on time, from and to everywhere; descriptors; hooks. */
#include "gateway/http/loop.c"

#include <criterion/criterion.h>
#include <unistd.h>

static struct shared_worker shared_worker;
static int                  fired[64], n_fired;

struct timer {
	struct loop_timer t;
	int               name;
	struct timer     *unlinks, *links; /* when it fires */
};

static void on_due(struct loop_timer *t)
{
	struct timer *timer = (struct timer *)t;

	fired[n_fired++] = timer->name;
	if (timer->unlinks != NULL)
		loop_timer_unlink(&timer->unlinks->t);
	if (timer->links != NULL)
		loop_timer_link(&timer->links->t, 0);
}

static void init(void)
{
	loop_init(0, &shared_worker);
}

static void run_ms(unsigned ms)
{
	uint64_t end = clock_mono_us() + ms * 1000;

	while (clock_mono_us() < end)
		loop_turn();
}

Test(loop, timers_fire_in_order_and_not_early, .init = init)
{
	struct timer t[5] = {
		{ .name = 0 }, { .name = 1 }, { .name = 2 }, { .name = 3 }, { .name = 4 }
	};
	unsigned ms[] = { 60, 20, 100, 0, 2700 }; /* the last: more than a round of the wheel */
	uint64_t start = clock_mono_us();

	for (int i = 0; i < 5; i++) {
		t[i].t.on_due = on_due;
		loop_timer_link(&t[i].t, ms[i]);
	}
	while (n_fired < 4)
		loop_turn();
	cr_expect(clock_mono_us() - start >= 100000 && clock_mono_us() - start < 2000000, "%llu",
	          (unsigned long long)(clock_mono_us() - start));
	cr_expect(fired[0] == 3 && fired[1] == 1 && fired[2] == 0 && fired[3] == 2);
	while (n_fired < 5)
		loop_turn();
	cr_expect(clock_mono_us() - start >= 2700000 && clock_mono_us() - start < 6000000, "%llu",
	          (unsigned long long)(clock_mono_us() - start));
	cr_expect(atomic_load(&shared_worker.turn_us) >= start);
	loop_done();
}

Test(loop, callbacks_may_link_and_unlink, .init = init)
{
	struct timer a = { .name = 1 }, b = { .name = 2 }, c = { .name = 3 };

	a.t.on_due = b.t.on_due = c.t.on_due = on_due;
	a.unlinks = &b; /* due in the same slot */
	a.links = &c;
	loop_timer_link(&a.t, 10);
	loop_timer_link(&b.t, 10);
	loop_timer_link(&a.t, 30); /* again: moved */
	loop_timer_link(&b.t, 31);
	while (n_fired < 2)
		loop_turn();
	run_ms(50); /* for what should not fire */
	cr_expect(n_fired == 2 && fired[0] == 1 && fired[1] == 3, "%d", n_fired);
	loop_timer_unlink(&a.t); /* not linked: nothing */
	loop_done();
}

static struct loop_fd *watched;
static int             pipe_fds[2], readable, writable, turns;

static void on_readable(void *arg)
{
	char c;

	cr_assert(arg == &readable);
	readable++;
	if (read(pipe_fds[0], &c, 1) == 1 && c == 'x')
		loop_fd_close(watched);
}

static void on_writable(void *arg)
{
	(void)arg;
	writable++;
}

static void hook(void *arg)
{
	cr_assert(arg == &turns);
	turns++;
}

Test(loop, descriptors_and_hooks, .init = init)
{
	struct loop_fd *w;

	cr_assert(pipe2(pipe_fds, O_NONBLOCK) == 0);
	loop_on_turn(hook, &turns);
	watched = loop_fd_watch(pipe_fds[0], on_readable, &readable);
	w = loop_fd_watch(pipe_fds[1], on_readable, &readable);
	loop_fd_pause_read(w, true);
	loop_fd_notify_write(w, on_writable);
	loop_poke();
	loop_turn();
	loop_poke();
	loop_turn();
	cr_expect(writable == 1 && readable == 0 && turns == 2);
	cr_assert(write(pipe_fds[1], "ab", 2) == 2);
	loop_turn();
	loop_turn(); /* level-triggered */
	cr_expect(readable == 2);
	loop_fd_pause_read(watched, true);
	cr_assert(write(pipe_fds[1], "cx", 2) == 2);
	loop_poke();
	loop_turn();
	cr_expect(readable == 2);
	loop_fd_pause_read(watched, false);
	loop_turn();
	loop_turn(); /* closes itself */
	loop_poke();
	loop_turn();
	cr_expect(readable == 4 && fcntl(pipe_fds[0], F_GETFD) >= 0, "the caller's own stays open");
	loop_fd_close(w);
	loop_poke();
	loop_turn();
	loop_done();
}

/* Waiting takes no processor time, spinning is over when it should be. */
Test(loop, sleeps_until_the_next_timer)
{
	struct timer    t = { .name = 1 };
	struct timespec cpu;

	loop_init(1000, &shared_worker);
	t.t.on_due = on_due;
	loop_timer_link(&t.t, 400);
	loop_active();
	while (n_fired == 0)
		loop_turn();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	cr_expect(cpu.tv_sec == 0 && cpu.tv_nsec < 150000000, "%ld ns", cpu.tv_nsec);
	loop_done();
}
