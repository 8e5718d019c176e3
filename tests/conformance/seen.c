/* What the last servlet of a request saw: its path values, who is there, which kind of dispatch, the
 * attributes of errors and dispatches. The runner asks for it by the request's id, which every answer carries.
 * Tests: every row file. */
#include "things.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEN_MAX 64 /* requests; a row has at most 32 */

static struct seen {
	char          id[17];
	struct value *values; /* the newest first; heap */
} seen[SEEN_MAX];
static size_t at; /* the next one to be used */

struct value {
	struct value *next;
	char         *key, *text; /* text: NULL is absent */
};

static const struct {
	const char       *key;
	enum bw_req_field field;
} fields[] = {
	{ "cp", BW_REQ_CONTEXT_PATH },   { "sp", BW_REQ_SERVLET_PATH },
	{ "pi", BW_REQ_PATH_INFO },      { "uri", BW_REQ_URI },
	{ "query", BW_REQ_QUERY },       { "match", BW_REQ_MATCH_VALUE },
	{ "name", BW_REQ_SERVLET_NAME }, { "user", BW_REQ_REMOTE_USER },
	{ "auth", BW_REQ_AUTH_TYPE },
};

static const char *const error_attributes[] = { "status_code",  "message",       "request_uri",
	                                        "query_string", "method",        "servlet_name",
	                                        "exception",    "exception_type" };

/* Of a forward, an include, an asynchronous dispatch. */
static const char *const families[] = { "forward", "include", "async" };
static const char *const dispatch_attributes[] = { "request_uri", "context_path", "servlet_path",
	                                           "path_info",   "query_string", "mapping" };

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static struct seen *find_seen(const char *id)
{
	for (size_t i = 0; i < SEEN_MAX; i++)
		if (strcmp(seen[i].id, id) == 0)
			return &seen[i];
	return NULL;
}

static void forget(struct seen *s)
{
	while (s->values) {
		struct value *v = s->values;

		s->values = v->next;
		free(v->key);
		free(v->text);
		free(v);
	}
	s->id[0] = '\0';
}

static struct seen *make_seen(const char *id)
{
	struct seen *s = &seen[at];

	at = (at + 1) % SEEN_MAX;
	forget(s);
	snprintf(s->id, sizeof(s->id), "%s", id);
	return s;
}

void see_value(struct bw_req *req, const char *key, const char *text)
{
	const char   *id = bw_req_get(req, BW_REQ_ID).p;
	struct seen  *s = find_seen(id);
	struct value *v = calloc(1, sizeof(*v));

	if (!v)
		abort();
	v->key = strdup(key);
	v->text = text ? strdup(text) : NULL;
	if (!s)
		s = make_seen(id);
	v->next = s->values;
	s->values = v;
}

bool seen_value(const char *id, const char *key, const char **ret)
{
	const struct seen *s = find_seen(id);

	*ret = NULL;
	for (const struct value *v = s && *id ? s->values : NULL; v; v = v->next)
		if (strcmp(v->key, key) == 0) {
			*ret = v->text;
			return true;
		}
	return false;
}

void seen_forget(void)
{
	for (size_t i = 0; i < SEEN_MAX; i++)
		forget(&seen[i]);
}

static const char *kind_of(const struct bw_req *req)
{
	static const char *const names[] = {
		[BW_MATCH_CONTEXT_ROOT] = "CONTEXT_ROOT",
		[BW_MATCH_EXACT] = "EXACT",
		[BW_MATCH_PATH] = "PATH",
		[BW_MATCH_EXTENSION] = "EXTENSION",
		[BW_MATCH_DEFAULT] = "DEFAULT",
	};

	return names[bw_req_match(req)];
}

/* "error.method" for the attribute jakarta.servlet.error.method. */
static void see_attribute(struct bw_req *req, const char *family, const char *attribute)
{
	char name[64];

	snprintf(name, sizeof(name), "jakarta.servlet.%s.%s", family, attribute);
	see_value(req, name + strlen("jakarta.servlet."), bw_req_attr(req, name).p);
}

void see(struct bw_req *req)
{
	static const char *const types[] = { "REQUEST", "FORWARD", "INCLUDE", "ASYNC", "ERROR" };

	for (size_t i = 0; i < LENGTH(fields); i++)
		see_value(req, fields[i].key, bw_req_get(req, fields[i].field).p);
	see_value(req, "kind", kind_of(req));
	see_value(req, "type", types[bw_req_dispatcher(req)]);
	for (size_t i = 0; i < LENGTH(error_attributes); i++)
		see_attribute(req, "error", error_attributes[i]);
	for (size_t i = 0; i < LENGTH(families); i++)
		for (size_t k = 0; k < LENGTH(dispatch_attributes); k++)
			see_attribute(req, families[i], dispatch_attributes[k]);
}
