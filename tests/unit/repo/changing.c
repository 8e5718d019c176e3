/* changing.c - see changing.h. */
#include "changing.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_VALUES 64
#define MAX_PROPS  32

/* ---- words ---- */

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : toupper((unsigned char)c) - 'A' + 10;
}

/* In place; %41 and its like become their octets. */
static struct bw_str octets_of(char *word)
{
	char *to = word;

	for (const char *p = word; *p != '\0'; p++) {
		if (p[0] == '%' && isxdigit((unsigned char)p[1]) && isxdigit((unsigned char)p[2])) {
			*to++ = (char)(hex(p[1]) << 4 | hex(p[2]));
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
	return (struct bw_str){ word, (size_t)(to - word) };
}

struct value {
	struct change_text text;
	struct bw_str      items[MAX_VALUES];
};

static enum bw_value_type type_of(char **value)
{
	static const struct {
		const char        *prefix;
		enum bw_value_type type;
	} types[] = {
		{ "l:", BW_VALUE_LONG },      { "d:", BW_VALUE_DOUBLE },
		{ "dec:", BW_VALUE_DECIMAL }, { "date:", BW_VALUE_DATE },
		{ "b:", BW_VALUE_BOOLEAN },   { "name:", BW_VALUE_NAME },
		{ "path:", BW_VALUE_PATH },   { "ref:", BW_VALUE_REFERENCE },
		{ "uri:", BW_VALUE_URI },     { "weak:", BW_VALUE_WEAKREFERENCE },
		{ "bin:", BW_VALUE_BINARY },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].prefix);

		if (strncmp(*value, types[i].prefix, n) == 0) {
			*value += n;
			return types[i].type;
		}
	}
	return BW_VALUE_STRING;
}

static void value_of(char *word, struct value *ret)
{
	char *save = NULL, *item;

	ret->text = (struct change_text){ .type = type_of(&word), .values = ret->items };
	if (word[0] != '[') {
		ret->items[0] = octets_of(word);
		ret->text.n = 1;
		return;
	}
	ret->text.multiple = true;
	word[strlen(word) - 1] = '\0';
	for (item = strtok_r(word + 1, ",", &save); item != NULL;
	     item = strtok_r(NULL, ",", &save)) {
		cr_assert(ret->text.n < MAX_VALUES);
		ret->items[ret->text.n++] = octets_of(item);
	}
}

/* ---- what was read ---- */

struct seen {
	bool          there;
	struct record record;
	struct call   call;
};

static void see(struct changing *s, struct bw_str path, bool blind, struct seen *ret)
{
	*ret = (struct seen){ 0 };
	/* What cannot be asked for was not read either. */
	if (blind || path.n == 0 || memchr(path.p, '\0', path.n) != NULL)
		return;
	ret->there = client_read(s->client, s->handle, path.p, &ret->call, &ret->record) == BW_OK;
}

static uint64_t version_of(const struct seen *seen)
{
	return seen->there ? seen->record.version : 0;
}

static void put_base(struct buf *out, const struct seen *seen, struct bw_str name)
{
	struct record_prop prop;
	struct bw_str      items[MAX_VALUES];

	if (!seen->there) {
		change_put_base(out, CHANGE_BASE_UNKNOWN, NULL);
	} else if (!record_prop(&seen->record, name, &prop)) {
		change_put_base(out, CHANGE_BASE_ABSENT, NULL);
	} else {
		cr_assert(prop.n <= MAX_VALUES);
		for (unsigned i = 0; i < prop.n; i++)
			items[i] = record_value(&seen->record, &prop, i);
		change_put_base(out, CHANGE_BASE_VALUE,
		                &(struct change_text){ prop.type, prop.multiple, prop.n, items });
	}
}

/* ---- steps ---- */

struct step {
	char *words[MAX_PROPS + 4];
	int   n;
	bool  blind;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct bw_str parent_of(struct bw_str path, char *room)
{
	const char *slash = memrchr(path.p, '/', path.n);
	size_t      n = slash == NULL || slash == path.p ? 1 : (size_t)(slash - path.p);

	memcpy(room, path.p, n);
	room[n] = '\0';
	return (struct bw_str){ room, n };
}

static size_t begin(struct changing *s, const struct step *step, enum change_kind kind,
                    struct bw_str path, struct bw_str name, struct seen *ret)
{
	char          room[4096];
	struct bw_str read = kind == CHANGE_CREATE ? parent_of(path, room) : path;

	see(s, read, step->blind, ret);
	return change_begin(&s->list, kind, version_of(ret), path, name);
}

static void end(struct changing *s, size_t at, struct seen *seen)
{
	change_end(&s->list, 0, at);
	call_done(&seen->call);
	s->n++;
}

static void create(struct changing *s, const struct step *step)
{
	struct bw_str type = BW_ABSENT;
	struct seen   seen;
	struct value  value;
	char         *props[MAX_PROPS];
	int           n = 0;
	size_t        at;

	for (int i = 2; i < step->n; i++) {
		if (strncmp(step->words[i], "type=", 5) == 0)
			type = octets_of(step->words[i] + 5);
		else if (strncmp(step->words[i], "mixin=", 6) != 0)
			props[n++] = step->words[i];
	}
	at = begin(s, step, CHANGE_CREATE, octets_of(step->words[1]), type, &seen);
	for (int i = 2; i < step->n; i++)
		if (strncmp(step->words[i], "mixin=", 6) == 0)
			change_put_mixin(&s->list, at, octets_of(step->words[i] + 6));
	for (int i = 0; i < n; i++)
		*strchr(props[i], '=') = '\0';
	qsort(props, (size_t)n, sizeof(*props), by_name);
	for (int i = 0; i < n; i++) {
		value_of(props[i] + strlen(props[i]) + 1, &value);
		change_put_prop(&s->list, at, octets_of(props[i]), &value.text);
	}
	end(s, at, &seen);
}

static void set(struct changing *s, const struct step *step)
{
	char         *equals = strchr(step->words[2], '=');
	struct bw_str name;
	struct value  value;
	struct seen   seen;
	size_t        at;

	cr_assert_not_null(equals, "set %s %s", step->words[1], step->words[2]);
	*equals = '\0';
	name = octets_of(step->words[2]);
	value_of(equals + 1, &value);
	at = begin(s, step, CHANGE_SET, octets_of(step->words[1]), name, &seen);
	put_base(&s->list, &seen, name);
	change_put_value(&s->list, &value.text);
	end(s, at, &seen);
}

static void other(struct changing *s, const struct step *step, enum change_kind kind)
{
	struct bw_str name = step->n > 2 ? octets_of(step->words[2]) : BW_ABSENT;
	struct seen   seen;
	size_t        at = begin(s, step, kind, octets_of(step->words[1]), name, &seen);

	if (kind == CHANGE_UNSET)
		put_base(&s->list, &seen, name);
	if (kind == CHANGE_SET_TYPE)
		change_put_type(&s->list, seen.there ? seen.record.primary_type : BW_ABSENT);
	if (kind == CHANGE_RESTORE)
		change_put_removing(&s->list, step->n > 3);
	if (kind == CHANGE_LABEL_ADD) {
		cr_assert(step->n > 3);
		change_put_removing(&s->list, step->n > 4);
		change_put_type(&s->list, octets_of(step->words[3]));
	}
	end(s, at, &seen);
}

/* A list of texts, whatever the brackets. */
static void put_limit(struct changing *s, size_t at, char *word)
{
	char        *equals = strchr(word, '=');
	struct value value;

	cr_assert_not_null(equals, "%s", word);
	*equals = '\0';
	value_of(equals + 1, &value);
	value.text.multiple = true;
	change_put_prop(&s->list, at, octets_of(word), &value.text);
}

static void entry(struct changing *s, struct step *step, enum change_kind kind)
{
	char       **words = step->words;
	struct value privileges;
	struct seen  seen;
	char         list[512];
	size_t       at;

	cr_assert(step->n > 3 && (words[2][0] == '+' || words[2][0] == '-'));
	snprintf(list, sizeof(list), "[%s]", words[3]);
	value_of(list, &privileges);
	qsort(words + 4, (size_t)step->n - 4, sizeof(*words), by_name);
	at = begin(s, step, kind, octets_of(words[1]), octets_of(words[2] + 1), &seen);
	change_put_entry(&s->list, words[2][0] == '+', &privileges.text);
	for (int i = 4; i < step->n; i++)
		put_limit(s, at, words[i]);
	end(s, at, &seen);
}

static void add(struct changing *s, struct step *step)
{
	static const struct {
		const char      *word;
		enum change_kind kind;
	} kinds[] = {
		{ "remove", CHANGE_REMOVE },
		{ "move", CHANGE_MOVE },
		{ "copy", CHANGE_COPY },
		{ "order", CHANGE_ORDER },
		{ "unset", CHANGE_UNSET },
		{ "type", CHANGE_SET_TYPE },
		{ "mixin+", CHANGE_MIXIN_ADD },
		{ "mixin-", CHANGE_MIXIN_REMOVE },
		{ "acl-", CHANGE_ACL_CLEAR },
		{ "checkin", CHANGE_CHECKIN },
		{ "checkout", CHANGE_CHECKOUT },
		{ "restore", CHANGE_RESTORE },
		{ "label+", CHANGE_LABEL_ADD },
		{ "label-", CHANGE_LABEL_REMOVE },
		{ "version-", CHANGE_VERSION_REMOVE },
	};

	step->blind = strcmp(step->words[0], "blind") == 0;
	if (step->blind)
		memmove(step->words, step->words + 1, (size_t)--step->n * sizeof(char *));
	cr_assert(step->n > 1, "%s: of what?", step->words[0]);
	if (strcmp(step->words[0], "create") == 0) {
		create(s, step);
		return;
	}
	if (strcmp(step->words[0], "set") == 0) {
		set(s, step);
		return;
	}
	if (strcmp(step->words[0], "ace+") == 0 || strcmp(step->words[0], "ace-") == 0) {
		entry(s, step, step->words[0][3] == '+' ? CHANGE_ACE_ADD : CHANGE_ACE_REMOVE);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(step->words[0], kinds[i].word) == 0) {
			other(s, step, kinds[i].kind);
			return;
		}
	cr_assert_fail("unknown step: %s", step->words[0]);
}

void changing_init(struct changing *s, struct client *c, uint64_t handle, const char *steps)
{
	char *text = strdup(steps), *rest = text, *one, *word, *save;

	*s = (struct changing){ .client = c, .handle = handle };
	buf_init(&s->list);
	cr_assert_eq(changes_begin(&s->list), 0);
	while ((one = strsep(&rest, ";")) != NULL) {
		struct step step = { .n = 0 };

		for (word = strtok_r(one, " ", &save); word != NULL;
		     word = strtok_r(NULL, " ", &save)) {
			cr_assert(step.n < MAX_PROPS);
			step.words[step.n++] = word;
		}
		if (step.n > 0)
			add(s, &step);
	}
	changes_end(&s->list, 0);
	free(text);
}

void changing_done(struct changing *s)
{
	buf_done(&s->list);
}

void changing_send(struct changing *s, struct call *call)
{
	Bw__Wire__ResourceCommit m = BW__WIRE__RESOURCE_COMMIT__INIT;

	m.sequence = s->handle;
	m.changes = (ProtobufCBinaryData){ buf_size(&s->list), buf_data(&s->list) };
	client_ask(s->client, call, WIRE_RESOURCE_COMMIT, &m.base);
}

void call_text(const struct call *call, char text[256])
{
	struct wire_frame   f = { .id = WIRE_FAILED,
		                  .length = (uint32_t)call->n,
		                  .payload = call->answer };
	struct wire_message m;

	text[0] = '\0';
	if (call->err != BW_OK && call->n > 0 && wire_message_get(&f, &m) == BW_OK)
		snprintf(text, 256, "%.*s", (int)m.u->failed.text.len, m.u->failed.text.data);
}

int changing_commit(struct changing *s, unsigned *ret_changed, char *text)
{
	struct wire_message m;
	struct wire_frame   f;
	struct call         call;
	int                 err;

	changing_send(s, &call);
	call_wait(s->client->world, &call);
	err = call.err;
	f = (struct wire_frame){ .id = WIRE_COMMITTED,
		                 .length = (uint32_t)call.n,
		                 .payload = call.answer };
	if (err == BW_OK) {
		cr_assert_eq(wire_message_get(&f, &m), BW_OK);
		if (ret_changed != NULL)
			*ret_changed = m.u->committed.changed;
	}
	if (text != NULL)
		call_text(&call, text);
	call_done(&call);
	return err;
}

int change(struct client *c, uint64_t handle, const char *steps)
{
	struct changing s;
	int             err;

	changing_init(&s, c, handle, steps);
	err = changing_commit(&s, NULL, NULL);
	changing_done(&s);
	return err;
}
