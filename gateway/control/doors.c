/* doors.c - the worker's half of porter.c.
 *
 * Owns: which sockets are accepted from. Runs in: the worker, on the loop's own stack. Fails with: false
 * for what is no list. Tests: tests/system/crash_test.c, tests/system/alone_test.c. */
#include "control/doors.h"

#include "bundle/bundles.h"
#include "control/obey.h"
#include "http/http.h"
#include "http/loop.h"
#include "peers/ask.h"
#include "shared.h"

#include <base/buf.h>
#include <base/fatal.h>
#include <stdlib.h>

#define GREETING_MS 1000u /* for auth and repo, once connected */

static struct {
	const int            *fds;
	uint32_t              n, own;
	struct shared_worker *me;
	bool                 *open; /* one per socket */
	bool                  told;
	struct loop_timer     limit;
} doors;

static void tell_memory(void)
{
	static const char word[] = "runs";
	struct buf        words;

	buf_init(&words);
	buf_append(&words, word, sizeof(word));
	bundles_remember(&words);
	buf_append(&words, "", 1);
	obey_tell((const char *)buf_data(&words), buf_size(&words));
	buf_done(&words);
}

static void tell(void)
{
	static const char word[] = "up";
	struct buf        words;

	tell_memory();
	doors.told = true;
	loop_timer_unlink(&doors.limit);
	ask_on_news(NULL);
	buf_init(&words);
	buf_append(&words, word, sizeof(word));
	bundles_put_refused(&words);
	obey_tell((const char *)buf_data(&words), buf_size(&words));
	buf_done(&words);
}

static void on_limit(struct loop_timer *t)
{
	(void)t;
	tell();
}

static void on_news(void)
{
	if (!doors.told && (ask_is_ready() || ask_is_away()))
		tell();
}

static void set_door(uint32_t i, bool open)
{
	if (doors.open[i] == open)
		return;
	doors.open[i] = open;
	if (open)
		http_listen(doors.fds[i]);
	else
		http_unlisten(doors.fds[i]);
}

bool doors_set(const char *list)
{
	bool *wanted = xcalloc(doors.n, sizeof(*wanted)), good = true;
	char *end;

	for (const char *at = list; good; at = end + 1) {
		unsigned long i = strtoul(at, &end, 10);

		good = end > at && i < doors.n && (*end == ',' || *end == '\0');
		if (good)
			wanted[i] = true;
		if (*end == '\0')
			break;
	}
	for (uint32_t i = 0; good && i < doors.n; i++)
		set_door(i, wanted[i]);
	if (good && wanted[doors.own])
		atomic_store(&doors.me->accepting, 1);
	free(wanted);
	return good;
}

void doors_init(const int *fds, uint32_t n, uint32_t own, struct shared_worker *me)
{
	doors.fds = fds;
	doors.n = n;
	doors.own = own;
	doors.me = me;
	doors.open = xcalloc(n, sizeof(*doors.open));
	doors.told = false;
	doors.limit = (struct loop_timer){ .on_due = on_limit };
	loop_timer_link(&doors.limit, GREETING_MS);
	ask_on_news(on_news);
	on_news();
}

void doors_done(void)
{
	ask_on_news(NULL);
	loop_timer_unlink(&doors.limit);
	free(doors.open);
	doors.open = NULL;
}
