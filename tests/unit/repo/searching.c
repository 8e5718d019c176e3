/* searching.c - see searching.h. */
#include "searching.h"
#include <base/buf.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- questions ---- */

static struct bw_str unescape(const char *text, struct buf *out)
{
	const char *end;

	for (; *text != '\0'; text++) {
		if (text[0] == '{' && text[1] != '\0' && text[2] == '*' &&
		    (end = strchr(text, '}')) != NULL) {
			for (int n = atoi(text + 3); n > 0; n--)
				buf_append(out, text + 1, 1);
			text = end;
		} else if (text[0] == '\\' && text[1] == '0') {
			buf_append(out, "", 1);
			text++;
		} else {
			buf_append(out, text, 1);
		}
	}
	return (struct bw_str){ (char *)buf_data(out), buf_size(out) };
}

/* Of the last p.NAME.type. */
static uint8_t value_type;

static void put_filter(struct buf *out, char *name, struct bw_str value)
{
	static const struct {
		const char *suffix;
		uint8_t     op;
	} suffixes[] = {
		{ ".min", SEARCH_GE },    { ".max", SEARCH_LE }, { ".not", SEARCH_NONE_IS },
		{ ".like", SEARCH_LIKE }, { ".is", SEARCH_EQ },  { ".exists", SEARCH_EXISTS },
		{ ".other", SEARCH_NE },
	};
	static const char *const types[] = { "",        "STRING", "LONG",   "DOUBLE",
		                             "DECIMAL", "DATE",   "BOOLEAN" };
	struct search_term       t = { .kind = SEARCH_FILTER, .b = value_type, .value = value };
	char                    *dot = strrchr(name, '.');

	if (dot != NULL && strcmp(dot, ".type") == 0) {
		for (value_type = 1; strcmp(types[value_type], value.p) != 0; value_type++)
			cr_assert(value_type < 6, "no type: %s", value.p);
		return;
	}
	for (size_t i = 0; dot != NULL && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(dot, suffixes[i].suffix) != 0)
			continue;
		t.a = suffixes[i].op;
		*dot = '\0';
		break;
	}
	if (t.a == SEARCH_EXISTS) {
		t.a = strcmp(value.p, "true") == 0 ? SEARCH_EXISTS : SEARCH_MISSING;
		t.value = BW_ABSENT;
	}
	t.name = bw_str(strcmp(name, "modified") == 0 ? "" : name);
	search_put(out, &t);
	value_type = 0;
}

static void put_sort(struct buf *out, const char *by)
{
	struct search_term t = { .kind = SEARCH_SORT, .b = by[0] == '-' };

	by += t.b;
	if (strcmp(by, "relevance") == 0)
		t.a = SEARCH_BY_RELEVANCE;
	else if (strcmp(by, "path") == 0)
		t.a = SEARCH_BY_PATH;
	else if (strcmp(by, "title") == 0)
		t.a = SEARCH_BY_TITLE;
	else if (strcmp(by, "modified") == 0)
		t.a = SEARCH_BY_MODIFIED;
	else
		t.a = SEARCH_BY_PROPERTY;
	if (t.a == SEARCH_BY_PROPERTY)
		t.name = bw_str(by + 2); /* p.NAME */
	search_put(out, &t);
}

static uint8_t depth_of(const char *question)
{
	if (strstr(question, "depth=children") != NULL)
		return SEARCH_CHILDREN;
	return strstr(question, "depth=self") != NULL ? SEARCH_SELF : SEARCH_DESCENDANTS;
}

static void put_parameter(struct buf *out, char *name, struct bw_str value, uint8_t depth)
{
	static const struct {
		const char      *name;
		enum search_kind kind;
		char             takes; /* v: the value, n: a name, #: a number, -: nothing */
	} kinds[] = {
		{ "q", SEARCH_WORDS, 'v' },
		{ "path", SEARCH_PATH, 'v' },
		{ "type", SEARCH_TYPE, 'v' },
		{ "lang", SEARCH_LANGUAGE, 'v' },
		{ "cursor", SEARCH_CURSOR, 'v' },
		{ "limit", SEARCH_LIMIT, '#' },
		{ "offset", SEARCH_OFFSET, '#' },
		{ "total", SEARCH_TOTAL, '#' },
		{ "facet.limit", SEARCH_FACET_LIMIT, '#' },
		{ "facet", SEARCH_FACET, 'n' },
		{ "fields", SEARCH_FIELD, 'n' },
		{ "highlight", SEARCH_HIGHLIGHT, '-' },
		{ "hits", SEARCH_NO_ITEMS, '-' },
		{ "as", SEARCH_AS_PAGES, '-' },
		{ "suggest", SEARCH_SUGGEST, 'v' },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct search_term t = { .kind = kinds[i].kind, .a = depth };

		if (strcmp(kinds[i].name, name) != 0)
			continue;
		if (kinds[i].takes == 'v')
			t.value = value;
		else if (kinds[i].takes == 'n')
			t.name = strcmp(value.p, "type") == 0 ? BW_STR("") : value;
		else if (kinds[i].takes == '#')
			t.number = (uint32_t)strtoul(value.p, NULL, 10);
		search_put(out, &t);
		return;
	}
	if (strcmp(name, "sort") == 0)
		put_sort(out, value.p);
	else if (strncmp(name, "p.", 2) == 0 || strncmp(name, "modified.", 9) == 0)
		put_filter(out, name[0] == 'p' ? name + 2 : name, value);
	else
		cr_assert_str_eq(name, "depth", "no parameter: %s", name);
}

static void put_parameters(struct buf *out, const char *question)
{
	char *text = strdup(question), *rest, *one;

	value_type = 0;
	for (one = strtok_r(text, "&", &rest); one != NULL; one = strtok_r(NULL, "&", &rest)) {
		char      *equals = strchr(one, '=');
		struct buf value;

		buf_init(&value);
		cr_assert_not_null(equals, "%s: no value", one);
		*equals = '\0';
		unescape(equals + 1, &value);
		buf_append(&value, "", 1);
		put_parameter(out, one,
		              (struct bw_str){ (char *)buf_data(&value), buf_size(&value) - 1 },
		              depth_of(question));
		buf_done(&value);
	}
	free(text);
}

void search_ask(struct client *c, uint64_t sequence, const char *question, struct bw_str cursor,
                unsigned limit, struct answer *ret)
{
	Bw__Wire__Search    m = BW__WIRE__SEARCH__INIT;
	struct wire_message answer;
	struct buf          terms, text;

	*ret = (struct answer){ 0 };
	arena_init(&ret->arena);
	buf_init(&terms);
	buf_init(&text);
	if (strncasecmp(question, "select", 6) == 0)
		search_put(&terms, &(struct search_term){ .kind = SEARCH_SQL2,
		                                          .value = unescape(question, &text) });
	else
		put_parameters(&terms, question);
	if (cursor.p != NULL)
		search_put(&terms, &(struct search_term){ .kind = SEARCH_CURSOR, .value = cursor });
	if (limit > 0)
		search_put(&terms, &(struct search_term){ .kind = SEARCH_LIMIT, .number = limit });
	m.sequence = sequence;
	m.terms = (ProtobufCBinaryData){ buf_size(&terms), buf_data(&terms) };
	client_ask(c, &ret->call, WIRE_SEARCH, &m.base);
	call_wait(c->world, &ret->call);
	buf_done(&terms);
	buf_done(&text);
	ret->err = ret->call.err;
	if (ret->err != BW_OK)
		return;
	cr_assert_eq(wire_message_get(&(struct wire_frame){ .id = WIRE_SEARCH_PAGE,
	                                                    .length = (uint32_t)ret->call.n,
	                                                    .payload = ret->call.answer },
	                              &answer),
	             BW_OK);
	cr_assert_eq(search_page_get(answer.u->search_page.page.data,
	                             answer.u->search_page.page.len, &ret->arena, &ret->page),
	             BW_OK);
}

void answer_done(struct answer *a)
{
	call_done(&a->call);
	arena_done(&a->arena);
}

/* ---- answers ---- */

static void put_paths(struct buf *out, const struct answer *a)
{
	for (unsigned i = 0; i < a->page.n_items; i++)
		buf_printf(out, "%s%s", buf_size(out) > 0 ? " " : "",
		           a->page.items[i].record.path.p);
}

static char *take_text(struct buf *out)
{
	char *text;

	buf_append(out, buf_size(out) > 0 ? "" : "-", buf_size(out) > 0 ? 1 : 2);
	text = strdup((char *)buf_data(out));
	buf_done(out);
	return text;
}

char *answer_paths(const struct answer *a)
{
	struct buf out;

	buf_init(&out);
	put_paths(&out, a);
	return take_text(&out);
}

char *search_all(struct client *c, uint64_t sequence, const char *question, unsigned limit)
{
	struct buf    out;
	struct bw_str cursor = BW_ABSENT;
	char         *kept = NULL;

	buf_init(&out);
	for (unsigned pages = 0; pages == 0 || kept != NULL; pages++) {
		struct answer a;

		cr_assert(pages < 10000, "%s: never ends", question);
		search_ask(c, sequence, question, cursor, limit, &a);
		cr_assert_eq(a.err, BW_OK, "%s: %d", question, a.err);
		cr_assert_null(a.page.error.p, "%s: %s", question, a.page.error.p);
		put_paths(&out, &a);
		free(kept);
		kept = a.page.next.p != NULL ? strdup(a.page.next.p) : NULL;
		cursor = bw_str(kept);
		answer_done(&a);
	}
	return take_text(&out);
}

void search_page_at(struct client *c, uint64_t sequence, const char *question, unsigned limit,
                    unsigned n, struct answer *ret)
{
	struct answer last;

	search_ask(c, sequence, question, BW_ABSENT, limit, ret);
	for (unsigned i = 1; i < n; i++) {
		last = *ret;
		cr_assert(last.err == BW_OK && last.page.next.p != NULL, "%s: page %u", question,
		          i + 1);
		search_ask(c, sequence, question, last.page.next, limit, ret);
		answer_done(&last);
	}
}

char *search_back(struct client *c, uint64_t sequence, const char *question, unsigned limit)
{
	struct buf    out;
	struct answer a, last;
	unsigned      n = 1;

	buf_init(&out);
	search_ask(c, sequence, question, BW_ABSENT, limit, &a);
	for (; a.page.next.p != NULL; n++) {
		last = a;
		search_ask(c, sequence, question, last.page.next, limit, &a);
		answer_done(&last);
	}
	for (;;) {
		cr_assert(a.err == BW_OK && a.page.error.p == NULL, "%s", question);
		put_paths(&out, &a);
		if (a.page.previous.p == NULL)
			break;
		cr_assert(--n > 0, "%s: no beginning", question);
		buf_printf(&out, " |");
		last = a;
		search_ask(c, sequence, question, last.page.previous, limit, &a);
		answer_done(&last);
	}
	answer_done(&a);
	return take_text(&out);
}
