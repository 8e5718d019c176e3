/* obey.c - orders of the parent, served from the loop between two requests.
 *
 * To add one: a row here, and one in control.c with the same name.
 *
 * Owns: the worker's end of the channel. Runs in: the worker, on the loop's own stack. Fails with: an
 * answer that says why; without a parent the worker ends anyway. Tests: tests/system/bundle_test.c. */
#include "control/obey.h"

#include "bundle/bundles.h"
#include "control/channel.h"
#include "control/doors.h"
#include "http/loop.h"
#include "whiteboard/inspect.h"

#include <base/fatal.h>
#include <base/log.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 16u

static struct channel  channel;
static struct loop_fd *watch;

/* ---- bundles ----------------------------------------------------------------------------------- */

static const struct {
	const char        *name;
	enum bundle_action action;
} actions[] = {
	{ "install", BUNDLE_INSTALL }, { "update", BUNDLE_UPDATE },       { "start", BUNDLE_START },
	{ "stop", BUNDLE_STOP },       { "uninstall", BUNDLE_UNINSTALL },
};

static uint64_t number(const char *word)
{
	return strtoull(word, NULL, 10);
}

/* bundle.prepare ACTION NAME GENERATION [FILE] */
static bool prepare(const char *const *words, size_t n, struct buf *out)
{
	char                reason[256] = "was not prepared";
	struct bundle_order o = { .name = words[2],
		                  .generation = number(words[3]),
		                  .file = n > 4 ? words[4] : NULL };
	size_t              i = 0, known = sizeof(actions) / sizeof(*actions);

	while (i < known && strcmp(actions[i].name, words[1]) != 0)
		i++;
	if (i < known) {
		o.action = actions[i].action;
		if (bundles_prepare(&o, reason, sizeof(reason)) == BW_OK) {
			buf_append(out, "null", 4);
			return true;
		}
	}
	buf_append(out, reason, strlen(reason));
	return false;
}

static bool publish(const char *const *words, size_t n, struct buf *out)
{
	(void)n;
	bundles_publish(number(words[1]));
	buf_append(out, "null", 4);
	return true;
}

static bool drop(const char *const *words, size_t n, struct buf *out)
{
	(void)n;
	bundles_drop(number(words[1]));
	buf_append(out, "null", 4);
	return true;
}

static bool refuse(const char *const *words, size_t n, struct buf *out)
{
	char reason[256];

	(void)n;
	if (bundles_refuse(words[1], words[2], reason, sizeof(reason)) == BW_OK) {
		buf_append(out, "null", 4);
		return true;
	}
	buf_append(out, reason, strlen(reason));
	return false;
}

static bool list(const char *const *words, size_t n, struct buf *out)
{
	(void)words;
	(void)n;
	bundles_describe(out);
	return true;
}

static bool footprint(const char *const *words, size_t n, struct buf *out)
{
	(void)n;
	if (bundles_footprint(words[1], out))
		return true;
	buf_printf(out, "has no such bundle");
	return false;
}

static bool remember(const char *const *words, size_t n, struct buf *out)
{
	(void)words;
	(void)n;
	bundles_remember(out);
	return true;
}

/* ---- the public sockets ------------------------------------------------------------------------- */

static bool accept_from(const char *const *words, size_t n, struct buf *out)
{
	(void)n;
	if (doors_set(words[1])) {
		buf_append(out, "null", 4);
		return true;
	}
	buf_printf(out, "knows no such sockets");
	return false;
}

/* ---- looking inside ----------------------------------------------------------------------------- */

static bool whiteboard(const char *const *words, size_t n, struct buf *out)
{
	(void)words;
	(void)n;
	inspect_whiteboard(out);
	return true;
}

/* A target that is none has its answer, too. */
static bool route(const char *const *words, size_t n, struct buf *out)
{
	(void)n;
	inspect_route(words[1], words[2], out);
	return true;
}

/* ---- the table ---------------------------------------------------------------------------------- */

/* An order's words, words[0] being the verb. Appends the answer, as one line, to out and returns true; or
 * appends a reason, the end of "it ...", and returns false. */
static const struct row {
	const char *name;
	size_t      min_words, max_words; /* without the verb */
	bool (*serve)(const char *const *words, size_t n, struct buf *out);
} rows[] = {
	{ "bundle.prepare", 3, 4, prepare },   { "bundle.publish", 1, 1, publish },
	{ "bundle.drop", 1, 1, drop },         { "bundle.refuse", 2, 2, refuse },
	{ "bundle.list", 0, 0, list },         { "bundle.footprint", 1, 1, footprint },
	{ "bundle.remember", 0, 0, remember }, { "accept", 1, 1, accept_from },
	{ "whiteboard", 0, 0, whiteboard },    { "route", 2, 2, route },
};

static bool serve(const char *const *words, size_t n, struct buf *out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];

		if (strcmp(row->name, words[0]) != 0)
			continue;
		if (n - 1 >= row->min_words && n - 1 <= row->max_words)
			return row->serve(words, n, out);
		buf_printf(out, "takes %zu to %zu words for %s", row->min_words, row->max_words,
		           row->name);
		return false;
	}
	buf_printf(out, "does not know this order");
	return false;
}

/* ---- the channel -------------------------------------------------------------------------------- */

/* The parent is trusted: what is no order means that a program is wrong. */
static size_t split(const struct channel_frame *frame, const char *words[MAX_WORDS])
{
	const char *at = frame->text, *end = frame->text + frame->n;
	size_t      n = 0;

	if (frame->n == 0 || end[-1] != '\0')
		fatalx("the parent sent an order without an end");
	for (; at < end && n < MAX_WORDS; at += strlen(at) + 1)
		words[n++] = at;
	return n;
}

static void flush(void *arg);

static void send_what_fits(void)
{
	if (!channel_flush(&channel))
		loop_fd_pause_read(watch, true); /* the parent's end ends us as well */
	else if (channel_wants_write(&channel))
		loop_fd_notify_write(watch, flush);
}

static void flush(void *arg)
{
	(void)arg;
	send_what_fits();
}

static void on_readable(void *arg)
{
	struct channel_frame frame;
	bool                 good = channel_read(&channel);

	(void)arg;
	while (channel_next(&channel, &frame)) {
		const char *words[MAX_WORDS];
		size_t      n = split(&frame, words);
		struct buf  out;
		bool        ok;

		buf_init(&out);
		ok = serve(words, n, &out);
		channel_put(&channel, frame.call, ok ? CHANNEL_OK : CHANNEL_FAILED, buf_data(&out),
		            buf_size(&out));
		buf_done(&out);
	}
	if (!good)
		loop_fd_pause_read(watch, true);
	else
		send_what_fits();
}

void obey_init(int fd)
{
	channel_open(&channel, fd);
	watch = loop_fd_watch(fd, on_readable, NULL);
}

void obey_tell(const char *words, size_t n)
{
	channel_put(&channel, CHANNEL_NEWS, CHANNEL_OK, words, n);
	send_what_fits();
}

void obey_done(void)
{
	loop_fd_close(watch);
	channel_close(&channel);
}
