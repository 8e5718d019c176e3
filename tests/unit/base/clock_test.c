/* lib/base/clock.h: microseconds of the right clock. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <base/clock.h>

/* Each reading lies between two of the system's own, in the same unit. */
Test(clock, reads_microseconds_of_its_clock)
{
	static const struct {
		clockid_t id;
		uint64_t (*read)(void);
	} cases[] = {
		{ CLOCK_MONOTONIC, clock_mono_us },
		{ CLOCK_BOOTTIME, clock_boot_us },
		{ CLOCK_REALTIME, clock_real_us },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct timespec before, after;
		uint64_t        us;

		clock_gettime(cases[i].id, &before);
		us = cases[i].read();
		clock_gettime(cases[i].id, &after);
		cr_assert(ge(u64, us, (uint64_t)before.tv_sec * 1000000 + before.tv_nsec / 1000));
		cr_assert(le(u64, us, (uint64_t)after.tv_sec * 1000000 + after.tv_nsec / 1000));
	}
}

Test(clock, boot_time_counts_sleep)
{
	uint64_t mono = clock_mono_us(), boot = clock_boot_us();

	cr_assert(ge(u64, boot, mono));
}
