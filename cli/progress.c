/* progress.c - a bar on standard error.
 *
 * Owns: nothing. Runs in: a command. Fails with: nothing. Tests: tests/system/port_test.c, which looks
 * at it through a pseudo-terminal. */
#include "progress.h"

#include <base/clock.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH       30u
#define INTERVAL_US 100000u

void progress_begin(struct progress *p, uint64_t total, const char *unit)
{
	*p = (struct progress){ .unit = unit, .total = total, .begun_us = clock_mono_us() };
	p->visible = isatty(STDERR_FILENO) == 1;
}

void progress_show(struct progress *p)
{
	uint64_t now;
	double   seconds, part;
	char     bar[WIDTH + 1];

	if (!p->visible)
		return;
	now = clock_mono_us();
	if (p->shown_us != 0 && now - p->shown_us < INTERVAL_US)
		return;
	p->shown_us = now;
	seconds = (double)(now - p->begun_us) / 1e6;
	part = p->total > 0 ? (double)p->at / (double)p->total : 0;
	if (part > 1)
		part = 1;
	memset(bar, ' ', WIDTH);
	memset(bar, '=', (size_t)(part * WIDTH));
	bar[WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3.0f %%  %llu %s, %.0f/s \x1b[K", bar, part * 100,
	        (unsigned long long)p->done, p->unit, seconds > 0 ? (double)p->done / seconds : 0.);
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->visible && p->shown_us != 0)
		fputs("\r\x1b[K", stderr);
}
