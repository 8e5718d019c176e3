/* clock.h - the three clocks, in microseconds. */
#pragma once
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_us(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* For deadlines inside one process. */
static inline uint64_t clock_mono_us(void)
{
	return clock_read_us(CLOCK_MONOTONIC);
}
/* For handles: auth and repo share a kernel, and sleep counts. */
static inline uint64_t clock_boot_us(void)
{
	return clock_read_us(CLOCK_BOOTTIME);
}
/* For people. */
static inline uint64_t clock_real_us(void)
{
	return clock_read_us(CLOCK_REALTIME);
}
