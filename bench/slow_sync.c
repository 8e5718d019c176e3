/* slow_sync.c - a disk that takes its time: loaded into PostgreSQL (LD_PRELOAD), each fdatasync and fsync
 * lasts SLOW_SYNC_US microseconds more. Whether commits overlap shows only where a flush costs something;
 * on the virtual disk of a build machine it does not.
 *
 * Owns: nothing. Runs in: PostgreSQL, started by bench/commits. Fails with: what the real call fails with.
 * Tests: bench/commits --sync-us. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int (*sync_call)(int fd);

static void wait_some(void)
{
	const char     *text = getenv("SLOW_SYNC_US");
	long            us = text != NULL ? atol(text) : 0;
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };

	if (us > 0)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	sync_call real = (sync_call)dlsym(RTLD_NEXT, "fdatasync");

	wait_some();
	return real(fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	sync_call real = (sync_call)dlsym(RTLD_NEXT, "fsync");

	wait_some();
	return real(fd);
}
