/* speak.c - lines of JSON to the gateway and back.
 *
 * What workers say is parsed as what it is, words of a process that faces the network: a line that is no
 * JSON is that worker's failure, not ours.
 *
 * Owns: the connection. Runs in: the operator's commands, which wait. Fails with: a line on stderr.
 * Tests: tests/system/bundle_test.c. */
#include "speak.h"

#include <base/fatal.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_S 45          /* two rounds of the parent's, and a decision between them */
#define MAX_LINE (17u << 20) /* a worker's answer has at most 16 MiB */

bool speak_open(struct speaker *s, const struct instance *instance)
{
	const struct timeval limit = { .tv_sec = ANSWER_S };
	struct sockaddr_un   to = { .sun_family = AF_UNIX };
	char                *path = xasprintf("%s/gateway/control.sock", instance->run);
	bool                 done = false;

	*s = (struct speaker){ .fd = -1 };
	if (strlen(path) >= sizeof(to.sun_path))
		complain("%s: too long for a socket", path);
	else {
		strcpy(to.sun_path, path);
		s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		done = s->fd >= 0 &&
		       setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
		       setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
		       connect(s->fd, (struct sockaddr *)&to, sizeof(to)) == 0;
		if (!done)
			complain_errno("the gateway's %s", path);
	}
	free(path);
	return done;
}

void speak_close(struct speaker *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	buf_done(&s->in);
}

static bool say(struct speaker *s, json_t *request)
{
	char  *text = json_dumps(request, JSON_COMPACT);
	size_t n = text != NULL ? strlen(text) : 0, sent = 0;

	json_decref(request);
	if (text == NULL)
		return complain("what is asked is not UTF-8");
	text[n] = '\n'; /* instead of the NUL */
	while (sent <= n) {
		ssize_t k = send(s->fd, text + sent, n + 1 - sent, MSG_NOSIGNAL);

		if (k < 0 && errno == EPIPE)
			sent = n + 1; /* it hung up on us, but may have said why */
		else if (k < 0 && errno != EINTR)
			break;
		sent += k > 0 ? (size_t)k : 0;
	}
	free(text);
	return sent > n || complain_errno("the gateway does not listen");
}

/* The next line, without its end; borrowed until it is consumed with one octet more. */
static bool hear(struct speaker *s, size_t *ret_n)
{
	size_t looked = 0;

	for (;;) {
		const char *text = (const char *)buf_data(&s->in);
		size_t      have = buf_size(&s->in);
		const char *end = have > looked ? memchr(text + looked, '\n', have - looked) : NULL;
		ssize_t     n;

		if (end != NULL) {
			*ret_n = (size_t)(end - text);
			return true;
		}
		looked = have;
		if (have > MAX_LINE)
			return complain("the gateway's answer has no end");
		n = recv(s->fd, buf_reserve(&s->in, 65536), 65536, 0);
		if (n == 0)
			return complain("the gateway hung up");
		if (n < 0 && errno == EAGAIN)
			return complain("the gateway did not answer within %d s", ANSWER_S);
		if (n < 0 && errno != EINTR)
			return complain_errno("the gateway's answer");
		buf_commit(&s->in, n > 0 ? (size_t)n : 0);
	}
}

static json_int_t worker_of(const json_t *line)
{
	return json_integer_value(json_object_get(line, "worker"));
}

/* Workers answer when they can; they are listed by number. Takes the reference. */
static void add_line(json_t *lines, json_t *line)
{
	size_t at = json_array_size(lines);

	if (!json_is_integer(json_object_get(line, "worker"))) {
		json_decref(line);
		line = json_pack("{s:i, s:s}", "worker", -1, "error", "is no JSON");
	}
	while (at > 0 && worker_of(json_array_get(lines, at - 1)) > worker_of(line))
		at--;
	json_array_insert_new(lines, at, line);
}

json_t *speak_ask(struct speaker *s, json_t *request, json_t **ret_lines)
{
	json_t *lines = json_array();
	size_t  n = 0;

	if (!say(s, request)) {
		json_decref(lines);
		return NULL;
	}
	while (hear(s, &n)) {
		json_error_t error;
		json_t *line = json_loadb((const char *)buf_data(&s->in), n, JSON_REJECT_DUPLICATES,
		                          &error);

		buf_consume(&s->in, n + 1);
		if (json_object_get(line, "ok") != NULL &&
		    json_object_get(line, "worker") == NULL) {
			if (ret_lines != NULL)
				*ret_lines = lines;
			else
				json_decref(lines);
			return line;
		}
		add_line(lines, line);
	}
	json_decref(lines);
	return NULL;
}

char *speak_do(struct speaker *s, json_t *request)
{
	json_t     *answer = speak_ask(s, request, NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	char       *reason = NULL;

	if (answer == NULL)
		reason = xstrdup("the gateway did not say what came of it");
	else if (!json_is_true(json_object_get(answer, "ok")))
		reason = xstrdup(error != NULL ? error : "the gateway refuses it");
	json_decref(answer);
	return reason;
}
