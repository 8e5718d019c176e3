/* control.c - the operator's connections: lines in, lines out, and a table of what can be asked.
 *
 *   WAITING for a line -> BUSY (its answer is being made) -> WAITING ...      any -> LEAVING -> freed
 *
 * A verb is a row of the table: either a function here, or the name of what each worker is asked (the
 * worker's own table is in obey.c).
 *
 * Owns: the listener, the connections. Runs in: the gateway's parent, which never waits for one of them.
 * Fails with: an answer that says so, or the end of that connection; both in the log.
 * Tests: tests/unit/gateway/control_test.c. */
#include "control/control.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_LINE   65536u
#define LINE_US    10000000u /* for a line to come, and for an answer to be taken */
#define FORWARD_MS 10000u

enum client_state { WAITING, BUSY, LEAVING };

struct client {
	struct control   *control;
	struct client    *next;
	enum client_state state;
	int               fd;
	struct buf        in, out;
	uint64_t          since_us; /* when it began to wait for a line, or last took octets */
	struct round      round;    /* of a verb that workers answer */
	bool              asking;   /* the round is under way */
	bool              eof;      /* it says nothing more */
};

struct control {
	struct crew    *crew;
	struct changes *changes;
	struct client  *clients;
	size_t          n_clients;
	int             listener;
	uid_t           owner;
	uint64_t        refused_us; /* when the log last told of somebody */
};

/* ---- answers --------------------------------------------------------------------------------- */

static void put_line(struct client *cl, json_t *line)
{
	char *text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL;

	json_decref(line);
	if (text == NULL)
		fatalx("out of memory");
	buf_append(&cl->out, text, strlen(text));
	buf_append(&cl->out, "\n", 1);
	free(text);
}

/* The last line of an answer: the next request may be read. */
static void end_answer(struct client *cl, json_t *line)
{
	put_line(cl, line);
	cl->state = cl->state == LEAVING ? LEAVING : WAITING;
	cl->since_us = clock_mono_us();
}

static void answer_ok(struct client *cl)
{
	end_answer(cl, json_pack("{s:b}", "ok", 1));
}

static void answer_error(struct client *cl, const char *reason)
{
	end_answer(cl, json_pack("{s:b, s:s}", "ok", 0, "error", reason));
}

/* Nobody listens any more; the struct lives until the sweep. */
static void leave(struct client *cl)
{
	cl->state = LEAVING;
	if (cl->asking)
		crew_forget(cl->control->crew, &cl->round);
	cl->asking = false;
	changes_asker_left(cl->control->changes, cl);
}

/* ---- what workers answer ------------------------------------------------------------------------ */

/* The text is the worker's, who is not trusted: it stays within its own line. */
static bool is_one_line(const struct crew_answer *a)
{
	for (size_t i = 0; i < a->n; i++)
		if ((unsigned char)a->text[i] < ' ')
			return false;
	return a->n > 0;
}

static struct client *of_round(struct round *r)
{
	return (struct client *)((char *)r - offsetof(struct client, round));
}

static void on_worker_answer(struct round *r, const struct crew_answer *a)
{
	struct client *cl = of_round(r);

	if (a->ok && is_one_line(a)) {
		buf_printf(&cl->out, "{\"worker\":%u,\"answer\":", a->worker);
		buf_append(&cl->out, a->text, a->n);
		buf_append(&cl->out, "}\n", 2);
	} else {
		json_t *reason = a->ok ? json_string("does not answer with a line")
		                       : json_stringn(a->text, a->n);

		put_line(cl, json_pack("{s:I, s:o}", "worker", (json_int_t)a->worker, "error",
		                       reason != NULL ? reason : json_string("failed")));
	}
}

static void on_workers_answered(struct round *r)
{
	struct client *cl = of_round(r);

	cl->asking = false;
	answer_ok(cl);
}

/* Also for the verbs with something of the parent's in their last line. */
static void on_workers_described(struct round *r)
{
	struct client *cl = of_round(r);

	cl->asking = false;
	end_answer(cl, json_pack("{s:b, s:o}", "ok", 1, "parent",
	                         inventory_describe(changes_inventory(cl->control->changes))));
}

static bool put_words(struct buf *words, const char *verb, const json_t *args)
{
	size_t  i;
	json_t *arg;

	buf_append(words, verb, strlen(verb) + 1);
	json_array_foreach (args, i, arg) {
		if (!json_is_string(arg))
			return false;
		buf_append(words, json_string_value(arg), json_string_length(arg) + 1);
	}
	return args == NULL || json_is_array(args);
}

enum whom { ONE, ALL };

static void ask_workers(struct client *cl, const char *verb, const json_t *request, enum whom whom,
                        void (*on_end)(struct round *r))
{
	struct crew *crew = cl->control->crew;
	struct buf   words;

	buf_init(&words);
	if (!put_words(&words, verb, json_object_get(request, "args"))) {
		answer_error(cl, "args is no list of strings");
		buf_done(&words);
		return;
	}
	cl->asking = true;
	cl->round = (struct round){ .on_answer = on_worker_answer, .on_end = on_end };
	crew_begin(crew, &cl->round, FORWARD_MS);
	for (uint32_t i = 0, n = 0; i < crew_size(crew) && (whom == ALL || n == 0); i++)
		if (crew_pid(crew, i) > 0) {
			crew_ask(crew, &cl->round, i, &words);
			n++;
		} else if (whom == ALL)
			put_line(cl, json_pack("{s:I, s:s}", "worker", (json_int_t)i, "error",
			                       "does not run"));
	buf_done(&words);
	crew_asked(crew, &cl->round);
}

/* ---- the verbs ---------------------------------------------------------------------------------- */

static void on_changed(void *asker, const char *reason)
{
	if (reason == NULL)
		answer_ok(asker);
	else
		answer_error(asker, reason);
}

static bool find_action(const char *name, enum bundle_action *ret)
{
	static const char *const names[] = {
		[BUNDLE_INSTALL] = "install",     [BUNDLE_UPDATE] = "update",
		[BUNDLE_START] = "start",         [BUNDLE_STOP] = "stop",
		[BUNDLE_UNINSTALL] = "uninstall",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0) {
			*ret = (enum bundle_action)i;
			return true;
		}
	return false;
}

static void prepare(struct client *cl, json_t *request)
{
	const char        *action, *name, *reason;
	json_int_t         generation;
	enum bundle_action which;

	if (json_unpack(request, "{s:s, s:s, s:I}", "action", &action, "name", &name, "generation",
	                &generation) != 0 ||
	    generation < 1 || !find_action(action, &which)) {
		answer_error(cl, "action, name and generation are asked for");
		return;
	}
	reason = changes_prepare(cl->control->changes, which, name, (uint64_t)generation,
	                         on_changed, cl);
	if (reason != NULL)
		answer_error(cl, reason);
}

static void publish(struct client *cl, json_t *request)
{
	const char *reason = changes_publish(cl->control->changes, on_changed, cl);

	(void)request;
	if (reason != NULL)
		answer_error(cl, reason);
}

static void drop(struct client *cl, json_t *request)
{
	(void)request;
	on_changed(cl, changes_drop(cl->control->changes, cl));
}

static void list(struct client *cl, json_t *request)
{
	ask_workers(cl, "bundle.list", request, ALL, on_workers_described);
}

static const struct verb {
	const char *name;
	void (*serve)(struct client *cl, json_t *request); /* NULL: workers answer by that name */
	enum whom whom;
} verbs[] = {
	{ "bundle.prepare", prepare, ALL }, { "bundle.publish", publish, ALL },
	{ "bundle.drop", drop, ALL },       { "bundle.list", list, ALL },
	{ "bundle.footprint", NULL, ONE },  { "bundle.remember", NULL, ONE },
	{ "whiteboard", NULL, ALL },        { "route", NULL, ALL },
};

static void serve(struct client *cl, json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "verb"));

	cl->state = BUSY;
	for (size_t i = 0; name != NULL && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, name) != 0)
			continue;
		if (verbs[i].serve != NULL)
			verbs[i].serve(cl, request);
		else
			ask_workers(cl, name, request, verbs[i].whom, on_workers_answered);
		return;
	}
	answer_error(cl, "there is no such verb");
}

/* ---- lines ---------------------------------------------------------------------------------------- */

/* What follows garbage could mean anything: it is not read. */
static void serve_line(struct client *cl, const char *line, size_t n)
{
	json_error_t error;
	json_t      *request = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);

	if (json_is_object(request))
		serve(cl, request);
	else {
		answer_error(cl, request == NULL ? error.text : "no object");
		cl->eof = true;
		buf_clear(&cl->in);
	}
	json_decref(request);
}

/* True: a line was served, or found to be none. */
static bool serve_line_if_any(struct client *cl)
{
	size_t      n = buf_size(&cl->in);
	const char *text = n > 0 ? (const char *)buf_data(&cl->in) : "";
	const char *end = memchr(text, '\n', n);

	if (cl->state != WAITING || buf_size(&cl->out) > 0 || (end == NULL && n <= MAX_LINE))
		return false;
	if (end == NULL) {
		answer_error(cl, "the line is too long");
		cl->eof = true;
		buf_clear(&cl->in);
		return true;
	}
	n = (size_t)(end - text);
	serve_line(cl, text, n);
	if (buf_size(&cl->in) > 0)
		buf_consume(&cl->in, n + 1);
	return true;
}

static bool read_some(struct client *cl)
{
	uint8_t *room = buf_reserve(&cl->in, MAX_LINE / 4);
	ssize_t  n = recv(cl->fd, room, MAX_LINE / 4, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		cl->eof = true;
	buf_commit(&cl->in, (size_t)n);
	return true;
}

static bool write_some(struct client *cl)
{
	ssize_t n;

	if (buf_size(&cl->out) == 0)
		return true; /* workers have been asked */
	n = send(cl->fd, buf_data(&cl->out), buf_size(&cl->out), MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	buf_consume(&cl->out, (size_t)n);
	cl->since_us = clock_mono_us();
	if (buf_size(&cl->out) == 0)
		buf_done(&cl->out);
	return true;
}

static void turn_client(struct client *cl, short events)
{
	bool good = !(events & (POLLERR | POLLHUP)) || (events & POLLIN);

	if (good && (events & POLLIN) && !cl->eof)
		good = read_some(cl);
	do
		good = good && write_some(cl);
	while (good && serve_line_if_any(cl));
	if (!good || (cl->eof && cl->state == WAITING && buf_size(&cl->out) == 0))
		leave(cl);
}

/* ---- connections ---------------------------------------------------------------------------------- */

static void turn_away(struct control *c, int fd, uid_t uid, const char *reason)
{
	char     line[128];
	int      n = snprintf(line, sizeof(line), "{\"ok\":false,\"error\":\"%s\"}\n", reason);
	uint64_t now_us = clock_mono_us();

	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) < 0)
		errno = 0; /* it does not wait for the reason */
	close(fd);
	if (now_us - c->refused_us < 1000000u)
		return;
	c->refused_us = now_us;
	log_warning(0, "control socket: user %lu is turned away: %s", (unsigned long)uid, reason);
}

static void accept_all(struct control *c)
{
	for (;;) {
		uid_t uid = 0;
		int   fd = unix_accept(c->listener, &uid);

		if (fd < 0)
			return; /* the next turn looks again */
		if (uid != 0 && uid != c->owner)
			turn_away(c, fd, uid, "this user may not speak here");
		else if (c->n_clients == CONTROL_MAX_CLIENTS)
			turn_away(c, fd, uid, "too many are speaking");
		else {
			struct client *cl = xcalloc(1, sizeof(*cl));

			*cl = (struct client){ .control = c,
				               .next = c->clients,
				               .fd = fd,
				               .since_us = clock_mono_us() };
			c->clients = cl;
			c->n_clients++;
		}
	}
}

static void client_free(struct client *cl)
{
	close(cl->fd);
	buf_done(&cl->in);
	buf_done(&cl->out);
	free(cl);
}

static void sweep(struct control *c)
{
	for (struct client **p = &c->clients; *p != NULL;) {
		struct client *cl = *p;

		if (cl->state != LEAVING) {
			p = &cl->next;
			continue;
		}
		*p = cl->next;
		c->n_clients--;
		client_free(cl);
	}
}

size_t control_poll(struct control *c, struct pollfd *fds)
{
	size_t n = 0;

	fds[n++] = (struct pollfd){ .fd = c->listener, .events = POLLIN };
	for (struct client *cl = c->clients; cl != NULL; cl = cl->next) {
		bool reads = cl->state == WAITING && !cl->eof && buf_size(&cl->out) == 0;

		fds[n++] =
			(struct pollfd){ .fd = cl->fd,
			                 .events =
			                         (short)((reads ? POLLIN : 0) |
			                                 (buf_size(&cl->out) > 0 ? POLLOUT : 0)) };
	}
	return n;
}

/* Nobody is added or freed while the entries are walked: they are in the list's order. */
void control_turn(struct control *c, const struct pollfd *fds, size_t n)
{
	size_t i = 1;

	for (struct client *cl = c->clients; cl != NULL && i < n; cl = cl->next, i++)
		if (fds[i].revents != 0)
			turn_client(cl, fds[i].revents);
	sweep(c);
	if (n > 0 && fds[0].revents != 0)
		accept_all(c);
}

uint64_t control_tend(struct control *c, uint64_t now_us, uint64_t limit_us)
{
	for (struct client *cl = c->clients; cl != NULL; cl = cl->next) {
		uint64_t due_us = cl->since_us + LINE_US;

		if (cl->state == BUSY)
			continue; /* it waits for us, and what it waits for has its own limit */
		if (due_us <= now_us)
			leave(cl);
		else if (due_us - now_us < limit_us)
			limit_us = due_us - now_us;
	}
	sweep(c);
	return limit_us;
}

struct control *control_new(struct crew *crew, struct changes *changes, int listener, uid_t owner)
{
	struct control *c = xcalloc(1, sizeof(*c));

	*c = (struct control){
		.crew = crew, .changes = changes, .listener = listener, .owner = owner
	};
	return c;
}

void control_free(struct control *c)
{
	while (c->clients != NULL) {
		struct client *cl = c->clients;

		c->clients = cl->next;
		client_free(cl);
	}
	if (c->listener >= 0)
		close(c->listener);
	free(c);
}
