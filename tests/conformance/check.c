/* Expectations.
 *
 *   200 A sp=/a pi=-       an answer: status, whole body, what the last servlet saw; hdr(X-A)=1,
 *                          error.message=boom, truncated; - is absent, "" empty
 *   fail(A)=3[/a, /b]      a failure record of A with that code (and those items); nofail, nofail(A)
 *   ctxid(A)=0             the context id of A's failure record
 *   bound(A)=2             active bindings of A; made(A)=1, released(A)=1 of a factory
 *   log: init A, ...       init and destroy calls of this row; calls: handle, A, finish
 *   param(A,k)=v           an init parameter, as given to init or of a context; count same, count rises
 */
#include "check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool check_is_answer(const char *item)
{
	return isdigit((unsigned char)item[0]) && isdigit((unsigned char)item[1]) &&
	       isdigit((unsigned char)item[2]);
}

static const char *show(const char *value)
{
	return !value ? "-" : *value ? value : "\"\"";
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* NULL, or the difference in words. */
static char *compare(const char *what, const char *want, const char *got)
{
	return same(want, got) ? NULL : text_printf("%s %s", what, show(got));
}

/* ---- answers ---- */

static const char *header(const struct answer *a, const char *name)
{
	for (size_t i = 0; i < a->n_headers; i++)
		if (strcasecmp(a->headers[i].name.p, name) == 0)
			return a->headers[i].value.p;
	return NULL;
}

static char *check_value(const struct answer *a, const char *key, const char *want)
{
	const struct seen *s = &a->seen;
	const struct {
		const char *key, *value;
	} values[] = {
		{ "cp", s->cp },     { "sp", s->sp },       { "pi", s->pi },
		{ "uri", s->uri },   { "query", s->query }, { "match", s->match },
		{ "kind", s->kind }, { "name", s->name },   { "user", s->user },
		{ "auth", s->auth }, { "type", s->type },
	};
	char *name, *argument;

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (strcmp(values[i].key, key) == 0)
			return compare(key, want, values[i].value);
	for (size_t i = 0; i < 8; i++)
		if (text_begins(key, "error.") && strcmp(key + 6, error_attributes[i]) == 0)
			return compare(key, want, s->errors[i]);
	if (text_call(key, &name, &argument) && strcmp(name, "hdr") == 0)
		return compare(key, want, header(a, argument));
	return text_printf("no such key: %s", key);
}

static char *check_answer(const char *item, const struct answer *a)
{
	struct words w = text_split(item, " ");

	if (a->req)
		return text_printf("blocked");
	if (atoi(w.items[0]) != a->status)
		return text_printf("status %d, body %s", a->status, a->body);
	for (size_t i = 1; i < w.n; i++) {
		char *equals = w.items[i][0] == '"' ? NULL : strchr(w.items[i], '=');
		char *got;

		if (strcmp(w.items[i], "truncated") == 0)
			got = a->truncated ? NULL : text_printf("not truncated");
		else if (equals)
			got = check_value(a, text_dup(w.items[i], (size_t)(equals - w.items[i])),
			                  text_value(equals + 1));
		else
			got = compare("body", text_value(w.items[i]), a->body);
		if (got)
			return got;
	}
	return NULL;
}

/* ---- records ---- */

static int64_t id_of(const char *label)
{
	return strcmp(label, "builtin") == 0 ? -1 : world_thing(label)->id;
}

static char *items_of(const struct failure *f)
{
	char *text = text_printf("%s", "");

	for (size_t i = 0; i < f->n_items; i++)
		text = text_printf("%s%s%s", text, i ? ", " : "", show(f->items[i].p));
	return text_printf("[%s]", text);
}

/* want: "3" or "3[/a, /b]" */
static char *check_fail(const char *label, const char *want)
{
	const struct snapshot *s = snapshot_current();
	char                  *got = text_printf("%s", "");

	for (size_t i = 0; i < s->n_failures; i++) {
		const struct failure *f = &s->failures[i];
		char                 *code = text_printf("%d", f->code);

		if (f->service_id != id_of(label))
			continue;
		if (strcmp(want, code) == 0 ||
		    strcmp(want, text_printf("%s%s", code, items_of(f))) == 0)
			return NULL;
		got = text_printf("%s %s%s", got, code, items_of(f));
	}
	return text_printf("failure records:%s", *got ? got : " none");
}

static char *check_nofail(const char *label)
{
	const struct snapshot *s = snapshot_current();

	for (size_t i = 0; i < s->n_failures; i++)
		if (!label || s->failures[i].service_id == id_of(label))
			return text_printf("failure %d of service %d", s->failures[i].code,
			                   (int)s->failures[i].service_id);
	return NULL;
}

static char *check_ctxid(const char *label, const char *want)
{
	const struct snapshot *s = snapshot_current();

	for (size_t i = 0; i < s->n_failures; i++)
		if (s->failures[i].service_id == id_of(label))
			return compare("ctxid", want,
			               text_printf("%d", (int)s->failures[i].context_id));
	return text_printf("no record");
}

static char *check_bound(const char *label, const char *want)
{
	const struct snapshot *s = snapshot_current();
	int                    n = 0;

	for (size_t i = 0; i < s->n_bindings; i++)
		n += s->bindings[i]->reading->id == id_of(label) &&
		     s->bindings[i]->failure == FAILURE_NONE;
	for (size_t i = 0; i < s->n_contexts; i++)
		n += s->contexts[i]->context->reading->id == id_of(label);
	return compare("bound", want, text_printf("%d", n));
}

/* argument: "A,name" */
static char *check_param(const char *argument, const char *want)
{
	struct words           w = text_split(argument, ",");
	const struct snapshot *s = snapshot_current();
	const struct thing    *t = world_thing(w.items[0]);
	const char            *name = text_value(w.items[1]), *got = NULL;

	for (size_t i = 0; i + 1 < t->params.n; i += 2)
		if (strcmp(t->params.items[i], name) == 0)
			got = t->params.items[i + 1];
	for (size_t i = 0; i < s->n_contexts; i++) {
		const struct reading *r = s->contexts[i]->context->reading;

		for (size_t k = 0; r->id == t->id && k < r->n_params; k++)
			if (strcmp(r->params[k].name.p, name) == 0)
				got = r->params[k].value.p;
	}
	return compare("param", want, got);
}

/* ---- items ---- */

static char *check_call(const char *name, const char *argument, const char *want)
{
	if (strcmp(name, "fail") == 0)
		return check_fail(argument, want);
	if (strcmp(name, "ctxid") == 0)
		return check_ctxid(argument, want);
	if (strcmp(name, "bound") == 0)
		return check_bound(argument, want);
	if (strcmp(name, "param") == 0)
		return check_param(argument, text_value(want));
	if (strcmp(name, "made") == 0)
		return compare("made", want, text_printf("%u", world_thing(argument)->made));
	if (strcmp(name, "released") == 0)
		return compare("released", want,
		               text_printf("%u", world_thing(argument)->released));
	return text_printf("no such item: %s", name);
}

static char *check_count(const char *want)
{
	bool rises = snapshot_current()->number > world.count;

	return compare("count", want, rises ? "rises" : "same");
}

static const char *after(const char *item, const char *prefix)
{
	item += strlen(prefix);
	return *item == ' ' ? item + 1 : item;
}

char *check_item(const char *item, const struct answer *answer)
{
	const char *equals = strchr(item, '=');
	char       *name, *argument;

	if (check_is_answer(item))
		return answer ? check_answer(item, answer) : text_printf("no request");
	if (text_begins(item, "log:"))
		return compare("log", after(item, "log:"), world.life);
	if (text_begins(item, "calls:"))
		return compare("calls", after(item, "calls:"), world.calls);
	if (text_begins(item, "count "))
		return check_count(item + strlen("count "));
	if (strcmp(item, "nofail") == 0)
		return check_nofail(NULL);
	if (text_call(item, &name, &argument) && strcmp(name, "nofail") == 0)
		return check_nofail(argument);
	if (equals && text_call(text_dup(item, (size_t)(equals - item)), &name, &argument))
		return check_call(name, argument, equals + 1);
	return text_printf("no such item: %s", item);
}
