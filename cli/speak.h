/* speak.h - a conversation with the running gateway, over its control socket (gateway/control). */
#pragma once
#include "instance.h"

#include <base/buf.h>
#include <jansson.h>

struct speaker {
	int        fd; /* -1: closed */
	struct buf in;
};

/* False after a line on stderr; speak_close in any case. */
bool speak_open(struct speaker *s, const struct instance *instance);
void speak_close(struct speaker *s);
/* Sends a request, whose reference it takes. *ret_lines: what workers say, an array of {"worker": N,
 * "answer": ... or "error": "..."} in their order, NULL: not wanted. Returns the last line, with "ok";
 * NULL after a line on stderr, when the gateway did not answer. New references. */
json_t *speak_ask(struct speaker *s, json_t *request, json_t **ret_lines);
/* The same for a request whose answer is yes or no. NULL: yes. Otherwise the reason, owned. */
char *speak_do(struct speaker *s, json_t *request);
