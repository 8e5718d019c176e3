/* The worker's side of what crashes.c keeps.
 *
 * Owns: nothing; limits are in shared memory and do not change while a worker lives. Runs in: the
 * worker's thread. Fails with: nothing. Tests: tests/unit/gateway/crashes_test.c. */
#include "crash_limits.h"

#include "request.h"
#include "shared.h"

#include <base/clock.h>

static const struct shared_limit *limits; /* SHARED_LIMITS of them; NULL: none is set */

void limits_init(const struct shared_worker *me)
{
	limits = NULL;
	for (size_t i = 0; me && i < SHARED_LIMITS; i++)
		if (me->limits[i].subject[0] != 0)
			limits = me->limits;
}

/* As the crash handler wrote it, which may have cut it. */
static bool is_subject(const char *subject, const char *scope, const char *pattern)
{
	size_t n = strlen(subject), n_scope = strlen(scope);

	if (n <= n_scope || memcmp(subject, scope, n_scope) != 0 || subject[n_scope] != ' ')
		return false;
	subject += n_scope + 1;
	if (n == SHARED_SUBJECT_MAX - 1)
		return strncmp(subject, pattern, strlen(subject)) == 0;
	return strcmp(subject, pattern) == 0;
}

const struct shared_limit *limits_find(const char *scope, const char *pattern)
{
	if (!limits)
		return NULL;
	for (size_t i = 0; i < SHARED_LIMITS; i++)
		if (limits[i].subject[0] != 0 && is_subject(limits[i].subject, scope, pattern))
			return &limits[i];
	return NULL;
}

bool limits_hold(const struct shared_limit *l)
{
	return clock_mono_us() < l->until_us;
}

bool limits_answer(const struct shared_limit *l, struct bw_req *req)
{
	uint64_t now_us = clock_mono_us();
	unsigned seconds;

	if (now_us >= l->until_us)
		return false;
	seconds = (unsigned)((l->until_us - now_us) / 1000000) + 1;
	response_header(req, "retry-after", bw_str(arena_printf(&req->arena, "%u", seconds)), true);
	response_builtin_page(req, 503);
	return true;
}
