/* ask.c - what every question needs: to find what is known, to wait for what is not, to end.
 *
 * Owns: questions that wait (resource.c ends them when it goes). Runs in: repo's loop. Fails with:
 * see resource.c. Tests: tests/unit/repo/resource_test.c. */
#include "fetch.h"
#include "encode.h"
#include <base/fatal.h>
#include <stdlib.h>
#include <utf8proc.h>
#include <wire/record.h>

#define MAX_PATH   2048u
#define MAX_LEVELS 64u
#define RETRY_S    1u

/* ---- ends ---- */

void ask_end(struct resources *r, struct ask *ask)
{
	buf_done(&ask->records);
	if (!ask->on_heap)
		return;
	if (ask->asker != NULL)
		LIST_REMOVE(ask, with_asker);
	principals_unref(ask->question.who);
	r->n_waiting--;
	free(ask);
}

enum ask_step ask_fail(struct resources *r, struct ask *ask, int err)
{
	static const char *const reasons[] = {
		[-BW_ENOTFOUND] = "not found",
		[-BW_EFORBIDDEN] = "not permitted",
		[-BW_EINVAL] = "there is no such privilege",
		[-BW_ETOOBIG] = "the list does not fit an answer",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many reads are waiting for PostgreSQL",
		[-BW_ETIME] = "PostgreSQL took too long",
		[-BW_EIO] = "PostgreSQL refused a read",
		[-BW_ECONFLICT] = "the property has another value by now",
	};
	unsigned retry = err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0;

	wire_fail(ask->asker->chan, &ask->question.q, err, retry, reasons[-err]);
	ask_end(r, ask);
	return ASK_OVER;
}

static size_t put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

/* Whose properties are looked through one by one. */
struct look {
	const struct acl_scope  *scope;
	const struct principals *who;
	struct acl_item          item;
};

static struct look look_at(const struct ask *ask, const struct acl_scope *scope,
                           const uint8_t *bytes, size_t n)
{
	struct record record;

	if (record_get(bytes, n, &record) != BW_OK)
		fatalx("a cached record is malformed");
	return (struct look){ scope,
		              ask->question.who,
		              { record.path, record.primary_type, BW_ABSENT } };
}

static bool may_read_property(void *arg, struct bw_str name)
{
	struct look *look = arg;

	look->item.property = name;
	return acl_evaluate(look->scope, look->who, &look->item) & ACL_READ_PROPERTIES;
}

uint64_t ask_allowed(struct resources *r, const struct ask *ask, const struct acl_scope *scope,
                     const uint8_t *bytes, size_t n)
{
	struct look look;

	if (!acl_is_restricted(scope, ask->question.who))
		return acl_allowed(r->acl, scope, ask->question.who);
	look = look_at(ask, scope, bytes, n);
	return acl_evaluate(scope, look.who, &look.item);
}

bool ask_may_read_property(struct resources *r, const struct ask *ask, struct cache_entry *e,
                           struct bw_str name)
{
	const struct acl_scope *scope = ask_scope_of(r, e);
	struct look             look;

	if (ask->question.who->admin)
		return true;
	if (!acl_is_restricted(scope, ask->question.who))
		return acl_allowed(r->acl, scope, ask->question.who) & ACL_READ_PROPERTIES;
	look = look_at(ask, scope, e->record, e->n_record);
	return may_read_property(&look, name);
}

enum ask_step ask_answer_found(struct resources *r, struct ask *ask, const struct cache_entry *e,
                               size_t resolved, uint64_t allowed)
{
	const uint8_t *record = e->record;
	size_t         n_record = e->n_record, n = 0;
	uint8_t        head[24];

	if (acl_is_restricted(e->scope, ask->question.who) && !ask->question.who->admin) {
		struct look look = look_at(ask, e->scope, record, n_record);

		buf_clear(&r->scratch);
		encode_filtered(&r->scratch, e->record, e->n_record, e->props_at, may_read_property,
		                &look);
		record = buf_data(&r->scratch);
		n_record = buf_size(&r->scratch);
	} else if (!(allowed & ACL_READ_PROPERTIES) && e->props_at < e->n_record) {
		buf_clear(&r->scratch);
		encode_stripped(&r->scratch, e->record, e->props_at);
		record = buf_data(&r->scratch);
		n_record = buf_size(&r->scratch);
	}
	head[n++] = 1 << 3; /* ResourceFound.resolved */
	n += put_varint(head + n, resolved);
	head[n++] = 2 << 3 | 2; /* ResourceFound.record */
	n += put_varint(head + n, n_record);
	wire_answer_raw(ask->asker->chan, &ask->question.q, r->types_counter, r->acl_counter, head,
	                n, record, n_record);
	ask_end(r, ask);
	return ASK_OVER;
}

enum ask_step ask_answer_page(struct resources *r, struct ask *ask, unsigned count, bool more,
                              const uint8_t *records, size_t n_records)
{
	uint8_t head[24];
	size_t  n = 0;

	head[n++] = 1 << 3; /* ResourcePage.more */
	head[n++] = more;
	head[n++] = 2 << 3; /* ResourcePage.count */
	n += put_varint(head + n, count);
	head[n++] = 3 << 3 | 2; /* ResourcePage.records */
	n += put_varint(head + n, n_records);
	wire_answer_raw(ask->asker->chan, &ask->question.q, r->types_counter, r->acl_counter, head,
	                n, records, n_records);
	ask_end(r, ask);
	return ASK_OVER;
}

/* ---- waiting ---- */

/* Moves a string of a question to where there is room for it, which is returned less it. */
static char *keep(char *room, struct bw_str *s)
{
	if (s->p == NULL)
		return room;
	memcpy(room, s->p, s->n);
	s->p = room;
	return room + s->n;
}

static struct ask *to_heap(struct resources *r, struct ask *ask)
{
	const struct ask_question *q = &ask->question;
	size_t                     n = q->path.n + q->after.n + q->property.n + q->value.n;
	struct ask                *copy = xmalloc(sizeof(*copy) + n + 1);
	char                      *room = copy->text;

	*copy = *ask;
	copy->on_heap = true;
	room = keep(room, &copy->question.path);
	room = keep(room, &copy->question.after);
	room = keep(room, &copy->question.property);
	keep(room, &copy->question.value);
	principals_ref(q->who);
	LIST_INSERT_HEAD(&ask->asker->waiting, copy, with_asker);
	r->n_waiting++;
	return copy;
}

enum ask_step ask_wait(struct resources *r, struct ask *ask, struct fetch *f)
{
	r->missed += !ask->on_heap; /* once a question */
	fetch_join(f, ask->on_heap ? ask : to_heap(r, ask));
	return ASK_OVER;
}

/* ---- what is known ---- */

bool ask_is_known(const struct resources *r, const struct cache_entry *e)
{
	return e != NULL && (e->state == CACHE_MISSING ||
	                     (e->state == CACHE_RESOURCE && e->types == type_loads(r->types)));
}

const struct acl_scope *ask_scope_of(struct resources *r, struct cache_entry *e)
{
	if (e->acl != acl_loads(r->acl)) {
		e->scope = acl_scope_of(r->acl, (struct bw_str){ e->path, e->path_n });
		e->acl = acl_loads(r->acl);
	}
	return e->scope;
}

uint64_t ask_look(struct resources *r, struct ask *ask, struct cache_entry *e)
{
	uint64_t allowed;

	if (!e->used)
		e->used = true;
	if (e->state != CACHE_RESOURCE)
		return 0;
	allowed = ask_allowed(r, ask, ask_scope_of(r, e), e->record, e->n_record);
	return allowed & ACL_READ_NODES ? allowed : 0;
}

static bool is_utf8(struct bw_str s)
{
	utf8proc_int32_t c;

	for (size_t i = 0; i < s.n;) {
		utf8proc_ssize_t n =
			utf8proc_iterate((const uint8_t *)s.p + i, (utf8proc_ssize_t)(s.n - i), &c);

		if (n <= 0)
			return false;
		i += (size_t)n;
	}
	return true;
}

bool ask_is_path(struct bw_str path)
{
	unsigned levels = 0;
	size_t   n = 0;

	if (path.n == 0 || path.n > MAX_PATH || path.p[0] != '/')
		return false;
	for (size_t i = 1; i < path.n; i++) {
		if (path.p[i] == '\0')
			return false;
		if (path.p[i] != '/') {
			n++;
			continue;
		}
		if (n == 0 || n > ASK_MAX_NAME || ++levels > MAX_LEVELS)
			return false;
		n = 0;
	}
	return (n > 0 || path.n == 1) && n <= ASK_MAX_NAME && levels < MAX_LEVELS && is_utf8(path);
}

enum ask_step ask_need(struct resources *r, struct ask *ask, struct bw_str path,
                       struct cache_entry **ret)
{
	struct cache_entry *e = cache_find(r->cache, path);
	struct fetch       *f;
	int                 err;

	*ret = e;
	if (ask_is_known(r, e))
		return ASK_GO_ON;
	*ret = NULL;
	if (!ask_is_path(path))
		return ASK_GO_ON;
	f = e != NULL ? fetch_of(e, false, 0, 0) : NULL;
	if (f == NULL && (err = fetch_resources(r, &path, 1, &f)) != BW_OK)
		return ask_fail(r, ask, err);
	return ask_wait(r, ask, f);
}
