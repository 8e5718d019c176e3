/* session_watch.c - this worker's share of the sessions that end while no client asks for them.
 *
 * One question to repo is always open, unless repo is away; its answer brings sessions that are
 * deleted already and of which nobody else is told. Their listeners run on a fiber of their own and
 * may not wait, as there is no request.
 *
 *   ask --(a second, a day)--> answer --> fiber: tell --> ask again
 *     ^                          |
 *     `------- 500 ms -----------' repo is away
 *
 * Owns: the question, the octets of an answer until they are told. Runs in: the gateway's loop.
 * Fails with: nothing. Tests: tests/system/session_test.c. */
#include "peers/ask_impl.h"
#include "ask_session.h"
#include "fiber.h"
#include "http/loop.h"
#include "session.h"
#include <base/log.h>

#define RETRY_MS 500u

static struct {
	struct wire_call  call; /* first: on_end gets its address */
	struct loop_timer again;
	struct fiber     *fiber;
	struct buf        octets; /* of an answer that is not told yet */
	unsigned          count;
} watch;

static void ask(void)
{
	Bw__Wire__SessionWatch m = BW__WIRE__SESSION_WATCH__INIT;

	m.max = SESSION_BATCH;
	if (ask_call(WIRE_REPO, &watch.call, WIRE_SESSION_WATCH, 0, &m.base) != BW_OK)
		loop_timer_link(&watch.again, RETRY_MS);
}

static void tell(struct arena *a, const struct session_record *r)
{
	struct bw_session s = { .arena = a, .context = r->context, .state = SESSION_ENDING };

	session_fill(&s, r);
	session_tell_end(&s);
}

static void tell_all(void *arg)
{
	struct session_record *records;
	struct arena           a;

	(void)arg;
	arena_init(&a);
	records = ask_session_records(&a, buf_data(&watch.octets), buf_size(&watch.octets),
	                              watch.count);
	for (unsigned i = 0; i < watch.count; i++)
		tell(&a, &records[i]);
	arena_done(&a);
	buf_clear(&watch.octets);
	watch.count = 0;
	loop_timer_link(&watch.again, 0);
}

static void on_again(struct loop_timer *t)
{
	if (watch.count == 0)
		ask();
	else if (!fiber_start(tell_all, NULL, "sessions", &watch.fiber))
		loop_timer_link(t, RETRY_MS); /* there is no stack now */
}

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct wire_message m;

	(void)call;
	if (err != BW_OK) {
		loop_timer_link(&watch.again, RETRY_MS);
		return;
	}
	ask_parse(f, &m);
	watch.count = m.u->session_data.count;
	buf_append(&watch.octets, m.u->session_data.sessions.data, m.u->session_data.sessions.len);
	loop_timer_link(&watch.again, 0);
}

void session_watch_init(void)
{
	watch.call.on_end = on_end;
	watch.again.on_due = on_again;
	buf_init(&watch.octets);
	loop_timer_link(&watch.again, RETRY_MS);
}

void session_watch_done(void)
{
	if (watch.count > 0)
		log_warning(0, "%u sessions have ended, and their listeners are not told",
		            watch.count);
	wire_cancel(&watch.call);
	loop_timer_unlink(&watch.again);
	buf_done(&watch.octets);
}
