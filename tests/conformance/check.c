/* Expectations; those about what the whiteboard shows of itself are in inspected.c.
 *
 *   200 A sp=/a pi=-       an answer: status, whole body, what the last servlet saw (seen.c has the keys);
 *                          hdr(X-A)=1 (* is any value), error.message=boom, truncated; - is absent, "" empty;
 *                          has(x), hasnot(x): of the body
 *   fail(A)=3[/a, /b]      a failure record of A with that code (and those items); nofail, nofail(A)
 *   ctxid(A)=0             the context id of A's failure record
 *   bound(A)=2             active bindings of A
 *   count same, count rises; state same: the records show what they showed before the row's steps
 *   log: init A, ...       init and destroy calls of this row; calls: handle, A, finish
 *   mapped(c)=no           whether the file of bundle c is mapped; logged(text)=yes: both of a gateway
 *   param(A,k)=v           an init parameter, as given to init or of a context
 *   made(A)=1              any other question that things_answer (things.c) knows: released(A), alive
 *
 * Tests: every row file. */
#include "check.h"

#include "inspected.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static char *compare_asked(const char *what, const char *want, const char *question)
{
	const char *got;

	if (!world_ask(question, &got))
		return text_printf("no such key: %s", question);
	return compare(what, want, got);
}

/* ---- answers ---- */

static const char *header(const struct answer *a, const char *name)
{
	for (size_t i = 0; i < a->n_headers; i++)
		if (strcasecmp(a->headers[i].name, name) == 0)
			return a->headers[i].value;
	return NULL;
}

static char *check_value(const struct answer *a, const char *key, const char *want)
{
	char *name, *argument;

	if (text_call(key, &name, &argument) && strcmp(name, "hdr") == 0) {
		const char *got = header(a, argument);

		return got && want && strcmp(want, "*") == 0 ? NULL : compare(key, want, got);
	}
	return compare_asked(key, want, text_printf("seen(%s,%s)", a->id, key));
}

static char *compare_part(const char *part, const char *body, bool want)
{
	if ((strstr(body, part) != NULL) == want)
		return NULL;
	return text_printf("body %s", show(body));
}

static char *check_answer(const char *item, const struct answer *a)
{
	struct words w = text_split(item, " ");

	if (!a->complete)
		return text_printf("blocked");
	if (atoi(w.items[0]) != a->status)
		return text_printf("status %d, body %s", a->status, a->body);
	for (size_t i = 1; i < w.n; i++) {
		char *equals = w.items[i][0] == '"' ? NULL : strchr(w.items[i], '=');
		char *got, *name, *argument;

		if (strcmp(w.items[i], "truncated") == 0)
			got = a->truncated ? NULL : text_printf("not truncated");
		else if (text_call(w.items[i], &name, &argument) && strcmp(name, "has") == 0)
			got = compare_part(text_value(argument), a->body, true);
		else if (text_call(w.items[i], &name, &argument) && strcmp(name, "hasnot") == 0)
			got = compare_part(text_value(argument), a->body, false);
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

static char *items_of(const struct record *r)
{
	char *text = text_printf("%s", "");

	for (size_t i = 0; i < r->items.n; i++)
		text = text_printf("%s%s%s", text, i ? ", " : "", show(r->items.items[i]));
	return text_printf("[%s]", text);
}

/* want: "3" or "3[/a, /b]" */
static char *check_fail(const char *label, const char *want)
{
	struct record *records;
	size_t         n = world_failures(label, &records);
	char          *got = text_printf("%s", "");

	for (size_t i = 0; i < n; i++) {
		char *code = text_printf("%d", records[i].code);
		char *all = text_printf("%s%s", code, items_of(&records[i]));

		if (strcmp(want, code) == 0 || strcmp(want, all) == 0)
			return NULL;
		got = text_printf("%s %s", got, all);
	}
	return text_printf("failure records:%s", *got ? got : " none");
}

static char *check_nofail(const char *label)
{
	struct record *records;

	if (world_failures(label, &records) == 0)
		return NULL;
	return text_printf("failure %d%s", records[0].code, items_of(&records[0]));
}

static char *check_ctxid(const char *label, const char *want)
{
	struct record *records;

	if (world_failures(label, &records) == 0)
		return text_printf("no record");
	return compare("ctxid", want, text_printf("%lld", records[0].context_id));
}

/* argument: "A,name". Given to init; else one of a context. */
static char *check_param(const char *argument, const char *want)
{
	struct words w = text_split(argument, ",");
	const char  *got;

	if (w.n != 2 || !world_ask(text_printf("param(%s)", argument), &got))
		return text_printf("no such parameter: %s", argument);
	if (!got)
		got = world_context_param(w.items[0], text_value(w.items[1]));
	return compare("param", want, got);
}

static char *check_count(const char *want)
{
	return compare("count", want, world_count() > world_count_before() ? "rises" : "same");
}

/* ---- items ---- */

static char *check_call(const char *name, const char *argument, const char *want)
{
	if (strcmp(name, "fail") == 0)
		return check_fail(argument, want);
	if (strcmp(name, "ctxid") == 0)
		return check_ctxid(argument, want);
	if (strcmp(name, "bound") == 0)
		return compare("bound", want, text_printf("%u", world_bindings(argument)));
	if (strcmp(name, "mapped") == 0 || strcmp(name, "logged") == 0)
		return world_process(text_printf("%s(%s)", name, argument), want);
	if (strcmp(name, "param") == 0)
		return check_param(argument, text_value(want));
	return compare_asked(name, text_value(want), text_printf("%s(%s)", name, argument));
}

static const char *after(const char *item, const char *prefix)
{
	item += strlen(prefix);
	return *item == ' ' ? item + 1 : item;
}

bool check_is_beyond(const char *item)
{
	return (text_begins(item, "count ") || text_begins(item, "state ")) && !world_has_mark();
}

char *check_item(const char *item, const struct answer *answer)
{
	const char *equals = strchr(item, '=');
	char       *name, *argument;

	if (check_is_answer(item))
		return answer ? check_answer(item, answer) : text_printf("no request");
	if (inspected_is(item))
		return inspected_check(item);
	if (text_begins(item, "log:"))
		return compare_asked("log", after(item, "log:"), "life");
	if (text_begins(item, "calls:"))
		return compare_asked("calls", after(item, "calls:"), "calls");
	if (text_begins(item, "count "))
		return check_count(item + strlen("count "));
	if (strcmp(item, "state same") == 0)
		return world_is_as_before() ? NULL : text_printf("another state");
	if (strcmp(item, "nofail") == 0)
		return check_nofail(NULL);
	if (text_call(item, &name, &argument) && strcmp(name, "nofail") == 0)
		return check_nofail(argument);
	if (equals && text_call(text_dup(item, (size_t)(equals - item)), &name, &argument))
		return check_call(name, argument, equals + 1);
	if (equals) /* "alive=0" */
		return compare_asked(item, text_value(equals + 1),
		                     text_dup(item, (size_t)(equals - item)));
	return text_printf("no such item: %s", item);
}
