/* subscription.c - this worker's conversation with repo about events.
 *
 *    nobody listens --a listener--> SUBSCRIBE --> WATCH --EVENTS--> deliver --done--> WATCH ...
 *                                       ^            | repo is away
 *                                       `- 50 ms ----'   then SUBSCRIBE, and one RESYNC to all
 *
 * The same RESYNC comes when the worker has just started: what a listener's predecessor has made of
 * earlier events may be out of date. Nobody listens: nothing is said, nothing is asked.
 * Owns: the question, the octets of an answer until they are delivered. Runs in: the worker's
 * thread. Fails with: nothing. Tests: tests/system/events_test.c. */
#include "events_impl.h"
#include "http/loop.h"
#include "peers/ask_impl.h"
#include <base/log.h>

#define RETRY_MS 50u
#define MAX      4096u /* events in one answer */

static struct {
	struct wire_call  call; /* first: on_end gets its address */
	struct loop_timer again;
	uint32_t          connection; /* that knows what we want; 0: none does */
	bool              watching;
	bool              resync; /* to be delivered before anything else */
	bool              used;   /* somebody has listened */
	bool              ended;
	struct buf        octets; /* of an answer that is not delivered yet */
} watch;

static void go_on(void);

static bool subscribe(void)
{
	Bw__Wire__EventSubscribe m = BW__WIRE__EVENT_SUBSCRIBE__INIT;
	struct buf               patterns;
	int                      err;

	buf_init(&patterns);
	m.count = listeners_patterns(&patterns);
	m.patterns = (ProtobufCBinaryData){ buf_size(&patterns), buf_data(&patterns) };
	err = ask_send(WIRE_REPO, WIRE_EVENT_SUBSCRIBE, &m.base);
	buf_done(&patterns);
	if (err != BW_OK)
		return false;
	watch.connection = ask_connection();
	return true;
}

static bool ask(void)
{
	Bw__Wire__EventWatch m = BW__WIRE__EVENT_WATCH__INIT;

	m.max = MAX;
	watch.watching = ask_call(WIRE_REPO, &watch.call, WIRE_EVENT_WATCH, 0, &m.base) == BW_OK;
	return watch.watching;
}

static void on_delivered(void)
{
	buf_clear(&watch.octets);
	if (!watch.ended)
		go_on();
}

/* RESYNC first, on its own. */
static bool deliver_next(void)
{
	if (watch.resync) {
		struct event resync = { .kind = EVENT_RESYNC, .flags = EVENT_LAST };

		watch.resync = false;
		buf_clear(&watch.octets); /* came before it */
		event_end(&watch.octets, event_begin(&watch.octets, &resync));
	}
	if (buf_size(&watch.octets) == 0)
		return false;
	if (deliver(buf_data(&watch.octets), buf_size(&watch.octets), on_delivered))
		return true;
	buf_clear(&watch.octets);
	return false;
}

static bool anybody_listens(void)
{
	const struct change_listener *l = listeners_first();

	while (l != NULL && l->failure != NULL)
		l = l->next;
	return l != NULL;
}

/* Does whatever is next, if nothing is under way. */
static void go_on(void)
{
	if (watch.ended || watch.watching || deliver_is_under_way() || !anybody_listens())
		return;
	loop_timer_unlink(&watch.again);
	if (watch.connection == 0 || watch.connection != ask_connection()) {
		if (!ask_is_ready() || !subscribe()) {
			loop_timer_link(&watch.again, RETRY_MS);
			return;
		}
	}
	if (!deliver_next() && !ask())
		loop_timer_link(&watch.again, RETRY_MS);
}

static void on_again(struct loop_timer *t)
{
	(void)t;
	go_on();
}

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct wire_message m;

	(void)call;
	watch.watching = false;
	if (err != BW_OK) {
		watch.connection = 0;
		watch.resync = true;
		loop_timer_link(&watch.again, RETRY_MS);
		return;
	}
	ask_parse(f, &m);
	buf_append(&watch.octets, m.u->events.events.data, m.u->events.events.len);
	go_on();
}

void subscription_changed(void)
{
	if (watch.ended)
		return;
	/* A bundle that comes to a worker at work has missed nothing; one that starts with it may
	 * have. */
	if (!watch.used && ask_is_ready())
		watch.resync = false;
	watch.used = true;
	if (watch.connection != 0 && watch.connection == ask_connection() && !subscribe())
		watch.connection = 0; /* goes on when it is back */
	go_on();
}

void subscription_init(void)
{
	watch.call.on_end = on_end;
	watch.again.on_due = on_again;
	watch.resync = true;
	buf_init(&watch.octets);
}

void subscription_done(void)
{
	watch.ended = true;
	wire_cancel(&watch.call);
	loop_timer_unlink(&watch.again);
	deliver_abort();
	if (deliver_is_under_way())
		log_warning(0, "listeners of resource changes are still at work");
	buf_done(&watch.octets);
}
