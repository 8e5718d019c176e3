/* ask_repo.c - the questions to repo, each on behalf of a resolver.
 *
 * The first one carries the whole handle and opens it; later ones, which come only when the one
 * before has ended (a request is one fiber), carry its sequence number. A handle fetched ahead that
 * repo refuses then is replaced once.
 *
 * Owns: nothing; records are copied into the request's arena before the fiber runs on.
 * Runs in: the gateway, on a request's fiber; ask_handle_close anywhere on the loop.
 * Fails with: what repo says in FAILED, and what ask_peer fails with.
 * Tests: tests/unit/gateway/ask_test.c. */
#include "ask_impl.h"
#include "request.h"
#include "resolver.h"
#include <base/fatal.h>
#include <wire/changes.h>
#include <wire/search.h>

/* ---- the handle ---- */

/* Where a question has it: whole in the one that opens it, else only its number. */
struct handle_fields {
	protobuf_c_boolean  *has;
	ProtobufCBinaryData *handle;
	uint64_t            *sequence;
};

#define HANDLE_FIELDS(m) (&(struct handle_fields){ &(m).has_handle, &(m).handle, &(m).sequence })

static void set_handle(const struct bw_resolver *r, const struct handle_fields *fields)
{
	*fields->has = !r->opened;
	*fields->handle = ask_bytes(r->handle);
	*fields->sequence = r->sequence;
}

/* Before each question. */
static int ready(struct bw_resolver *r)
{
	int err = resolver_mint(r);

	if (err != BW_OK)
		return err;
	return r->connection == ask_connection() ? BW_OK : BW_EGONE;
}

static void opened(struct bw_resolver *r)
{
	r->opened = true;
	ask_count_handles(+1);
}

/* A handle that was fetched ahead may have become worthless meanwhile, which is not the request's
 * fault: another one, from auth itself, replaces it, and the question is asked once more. */
static int replace(struct bw_resolver *r)
{
	r->opened = false;
	ask_count_handles(-1);
	r->handle = BW_ABSENT;
	r->fresh = true;
	return ready(r);
}

static bool is_refusal(int err)
{
	return err == BW_EEXPIRED || err == BW_ECLOSED || err == BW_EFOREIGN;
}

/* Asks; on the way the handle becomes an open one if this question has carried it. */
static int ask_once(struct bw_resolver *r, enum wire_id id, const ProtobufCMessage *m,
                    ask_take_cb take, ask_refused_cb refused, void *arg)
{
	bool first = !r->opened, sent = false;
	int  err;

	if (first)
		opened(r); /* before parking: the request may be closed while it waits */
	err = ask_peer_told(WIRE_REPO, r->req, id, m, take, refused, arg, &sent);
	if (first && !sent) {
		r->opened = false;
		ask_count_handles(-1);
	}
	return err;
}

static int ask_repo_told(struct bw_resolver *r, enum wire_id id, const ProtobufCMessage *m,
                         const struct handle_fields *fields, ask_take_cb take,
                         ask_refused_cb refused, void *arg)
{
	bool ahead = r->ahead && !r->opened;
	int  err;

	set_handle(r, fields);
	r->ahead = false;
	err = ask_once(r, id, m, take, refused, arg);
	if (!ahead || !is_refusal(err))
		return err;
	err = replace(r);
	if (err != BW_OK)
		return err;
	set_handle(r, fields);
	return ask_once(r, id, m, take, refused, arg);
}

static int ask_repo(struct bw_resolver *r, enum wire_id id, const ProtobufCMessage *m,
                    const struct handle_fields *fields, ask_take_cb take, void *arg)
{
	return ask_repo_told(r, id, m, fields, take, NULL, arg);
}

void ask_handle_close(struct bw_resolver *r)
{
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;

	if (!r->opened)
		return;
	r->opened = false;
	ask_count_handles(-1);
	if (r->connection != ask_connection())
		return; /* repo has forgotten it together with the connection */
	m.sequence = r->sequence;
	ask_tell(WIRE_REPO, r->req, WIRE_HANDLE_CLOSE, &m.base);
}

/* ---- answers ---- */

struct found {
	struct bw_resolver       *r;
	struct bw_str             path;
	struct record            *record;
	size_t                   *resolved; /* NULL: all of path */
	uint64_t                 *types;    /* may be NULL */
	const struct bw_resource *known;    /* what was read there before; may be NULL */
};

/* So that reading the same thing again and again, between commits, takes no memory. */
static bool is_same(const struct bw_resource *known, const ProtobufCBinaryData *now)
{
	return known && known->record.p && known->record.size == now->len &&
	       memcmp(known->record.p, now->data, now->len) == 0;
}

static int take_found(void *arg, const struct wire_frame *f)
{
	struct found                  *found = arg;
	struct wire_message            m;
	const Bw__Wire__ResourceFound *answer;
	const uint8_t                 *copy;

	ask_parse(f, &m);
	answer = &m.u->resource_found;
	copy = is_same(found->known, &answer->record)
	               ? found->known->record.p
	               : (uint8_t *)arena_dup(&found->r->req->arena, answer->record.data,
	                                      answer->record.len);
	if (answer->resolved > found->path.n ||
	    record_get(copy, answer->record.len, found->record) != BW_OK ||
	    found->record->size != answer->record.len)
		fatalx("malformed RESOURCE_FOUND");
	if (found->resolved)
		*found->resolved = answer->resolved;
	if (found->types)
		*found->types = f->types;
	return BW_OK;
}

int ask_resource_resolve(struct bw_resolver *r, struct bw_str path, size_t *ret_resolved,
                         struct record *ret, uint64_t *ret_types)
{
	Bw__Wire__ResourceResolve m = BW__WIRE__RESOURCE_RESOLVE__INIT;
	struct found              found = { r, path, ret, ret_resolved, ret_types, NULL };
	int                       err = ready(r);

	if (err != BW_OK)
		return err;
	m.path = ask_bytes(path);
	return ask_repo(r, WIRE_RESOURCE_RESOLVE, &m.base, HANDLE_FIELDS(m), take_found, &found);
}

int ask_resource_get(struct bw_resolver *r, struct bw_str path, struct record *ret)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;
	struct found          found = {
			 .r = r, .path = path, .record = ret, .known = resolver_find(r, path)
	};
	int err = ready(r);

	if (err != BW_OK)
		return err;
	m.path = ask_bytes(path);
	return ask_repo(r, WIRE_RESOURCE_GET, &m.base, HANDLE_FIELDS(m), take_found, &found);
}

struct page {
	struct bw_resolver *r;
	unsigned            max;
	struct record      *records;
	size_t              n;
	bool                more;
};

static int take_page(void *arg, const struct wire_frame *f)
{
	struct page                  *page = arg;
	struct arena                 *a = &page->r->req->arena;
	struct wire_message           m;
	const Bw__Wire__ResourcePage *answer;
	const uint8_t                *copy;
	size_t                        at = 0;

	ask_parse(f, &m);
	answer = &m.u->resource_page;
	if (answer->count > page->max)
		fatalx("malformed RESOURCE_PAGE: %u records", answer->count);
	copy = (uint8_t *)arena_dup(a, answer->records.data, answer->records.len);
	page->records = arena_alloc(a, answer->count * sizeof(*page->records));
	for (; page->n < answer->count; page->n++) {
		if (record_get(copy + at, answer->records.len - at, &page->records[page->n]) !=
		    BW_OK)
			fatalx("malformed RESOURCE_PAGE");
		at += page->records[page->n].size;
	}
	if (at != answer->records.len)
		fatalx("malformed RESOURCE_PAGE");
	page->more = answer->more;
	return BW_OK;
}

static void give_page(const struct page *page, struct record **ret, size_t *ret_n, bool *ret_more)
{
	*ret = page->records;
	*ret_n = page->n;
	*ret_more = page->more;
}

int ask_resource_children(struct bw_resolver *r, struct bw_str path, struct bw_str after,
                          unsigned max, struct record **ret, size_t *ret_n, bool *ret_more)
{
	Bw__Wire__ResourceChildren m = BW__WIRE__RESOURCE_CHILDREN__INIT;
	struct page                page = { .r = r, .max = max };
	int                        err = ready(r);

	if (err != BW_OK)
		return err;
	m.has_after = after.p != NULL;
	m.after = ask_bytes(after);
	m.max = max;
	m.path = ask_bytes(path);
	err = ask_repo(r, WIRE_RESOURCE_CHILDREN, &m.base, HANDLE_FIELDS(m), take_page, &page);
	if (err == BW_OK)
		give_page(&page, ret, ret_n, ret_more);
	return err;
}

int ask_version_list(struct bw_resolver *r, struct bw_str path, struct bw_str after, unsigned max,
                     struct record **ret, size_t *ret_n, bool *ret_more)
{
	Bw__Wire__VersionList m = BW__WIRE__VERSION_LIST__INIT;
	struct page           page = { .r = r, .max = max };
	int                   err = ready(r);

	if (err != BW_OK)
		return err;
	m.has_after = after.p != NULL;
	m.after = ask_bytes(after);
	m.max = max;
	m.path = ask_bytes(path);
	err = ask_repo(r, WIRE_VERSION_LIST, &m.base, HANDLE_FIELDS(m), take_page, &page);
	if (err == BW_OK)
		give_page(&page, ret, ret_n, ret_more);
	return err;
}

int ask_version_get(struct bw_resolver *r, const struct frozen *part, struct record *ret)
{
	Bw__Wire__VersionGet m = BW__WIRE__VERSION_GET__INIT;
	struct found         found = { .r = r, .path = part->path, .record = ret };
	int                  err = ready(r);

	if (err != BW_OK)
		return err;
	m.version = ask_bytes(part->version);
	m.has_below = part->below.p != NULL;
	m.below = ask_bytes(part->below);
	m.path = ask_bytes(part->path);
	return ask_repo(r, WIRE_VERSION_GET, &m.base, HANDLE_FIELDS(m), take_found, &found);
}

struct prefix {
	struct bw_resolver *r;
	struct bw_str      *prefix;
};

static int take_prefix(void *arg, const struct wire_frame *f)
{
	struct prefix             *found = arg;
	struct wire_message        m;
	const ProtobufCBinaryData *p;

	ask_parse(f, &m);
	p = &m.u->namespace.prefix;
	*found->prefix = request_dup(found->r->req, (struct bw_str){ (char *)p->data, p->len });
	return BW_OK;
}

int ask_namespace(struct bw_resolver *r, struct bw_str uri, struct bw_str *ret_prefix)
{
	Bw__Wire__NamespaceFind m = BW__WIRE__NAMESPACE_FIND__INIT;
	struct prefix           found = { r, ret_prefix };
	int                     err = ready(r);

	if (err != BW_OK)
		return err;
	m.uri = ask_bytes(uri);
	return ask_repo(r, WIRE_NAMESPACE_FIND, &m.base, HANDLE_FIELDS(m), take_prefix, &found);
}

struct search {
	struct bw_resolver *r;
	struct search_page *page;
};

static int take_search(void *arg, const struct wire_frame *f)
{
	struct search             *search = arg;
	struct arena              *a = &search->r->req->arena;
	struct wire_message        m;
	const ProtobufCBinaryData *page;
	const uint8_t             *copy;

	ask_parse(f, &m);
	page = &m.u->search_page.page;
	copy = (uint8_t *)arena_dup(a, page->data, page->len);
	if (search_page_get(copy, page->len, a, search->page) != BW_OK)
		fatalx("malformed SEARCH_PAGE");
	return BW_OK;
}

int ask_search(struct bw_resolver *r, struct bw_str terms, struct search_page *ret)
{
	Bw__Wire__Search m = BW__WIRE__SEARCH__INIT;
	struct search    search = { r, ret };
	int              err = ready(r);

	if (err != BW_OK)
		return err;
	m.terms = ask_bytes(terms);
	return ask_repo(r, WIRE_SEARCH, &m.base, HANDLE_FIELDS(m), take_search, &search);
}

struct commit {
	struct bw_resolver *r;
	struct bw_str      *reason;
};

static int take_committed(void *arg, const struct wire_frame *f)
{
	struct wire_message m;

	(void)arg;
	ask_parse(f, &m);
	return BW_OK;
}

/* The text of these, and of no others, is made for a client. */
static bool is_for_client(int err)
{
	return err == BW_ECONFLICT || err == BW_EFORBIDDEN || err == BW_ECONTENT ||
	       err == BW_ECONTENTSIZE;
}

static void take_reason(void *arg, const struct wire_frame *f)
{
	struct commit             *commit = arg;
	struct wire_message        m;
	const ProtobufCBinaryData *text;

	ask_parse(f, &m);
	text = &m.u->failed.text;
	if (is_for_client(m.u->failed.code) && text->len > 0)
		*commit->reason = request_dup(commit->r->req,
		                              (struct bw_str){ (char *)text->data, text->len });
}

int ask_resource_commit(struct bw_resolver *r, struct bw_str changes, struct bw_str *ret_reason)
{
	Bw__Wire__ResourceCommit m = BW__WIRE__RESOURCE_COMMIT__INIT;
	struct commit            commit = { r, ret_reason };
	int                      err = ready(r);

	*ret_reason = BW_ABSENT;
	if (err != BW_OK)
		return err;
	m.changes = ask_bytes(changes);
	return ask_repo_told(r, WIRE_RESOURCE_COMMIT, &m.base, HANDLE_FIELDS(m), take_committed,
	                     take_reason, &commit);
}

/* ---- binary values ---- */

struct written {
	struct bw_resolver *r;
	struct bw_str      *upload;
	uint64_t            length;
};

static int take_written(void *arg, const struct wire_frame *f)
{
	struct written              *w = arg;
	struct wire_message          m;
	const Bw__Wire__BlobWritten *answer;

	ask_parse(f, &m);
	answer = &m.u->blob_written;
	if (answer->length != w->length || answer->upload.len == 0)
		fatalx("malformed BLOB_WRITTEN");
	if (!w->upload->p)
		*w->upload = (struct bw_str){
			arena_dup(&w->r->req->arena, answer->upload.data, answer->upload.len),
			answer->upload.len,
		};
	return BW_OK;
}

int ask_blob_write(struct bw_resolver *r, struct bw_str *upload, uint64_t offset,
                   struct bw_str data)
{
	Bw__Wire__BlobWrite m = BW__WIRE__BLOB_WRITE__INIT;
	struct written      written = { r, upload, offset + data.n };
	int                 err = ready(r);

	if (err != BW_OK)
		return err;
	m.has_upload = upload->p != NULL;
	m.upload = ask_bytes(*upload);
	m.offset = offset;
	m.data = ask_bytes(data);
	return ask_repo(r, WIRE_BLOB_WRITE, &m.base, HANDLE_FIELDS(m), take_written, &written);
}

struct octets {
	const struct ask_blob_range *range;
	size_t                      *n;
};

static int take_octets(void *arg, const struct wire_frame *f)
{
	struct octets      *octets = arg;
	struct wire_message m;

	ask_parse(f, &m);
	*octets->n = m.u->blob_data.data.len;
	if (*octets->n > octets->range->n)
		fatalx("malformed BLOB_DATA");
	if (*octets->n > 0)
		memcpy(octets->range->p, m.u->blob_data.data.data, *octets->n);
	return BW_OK;
}

int ask_blob_read(struct bw_resolver *r, const struct ask_blob_range *range, size_t *ret_n)
{
	Bw__Wire__BlobRead m = BW__WIRE__BLOB_READ__INIT;
	struct octets      octets = { range, ret_n };
	int                err = ready(r);

	if (err != BW_OK)
		return err;
	m.value = ask_bytes(range->value);
	m.property = ask_bytes(range->property);
	m.offset = range->offset;
	m.max = (uint32_t)range->n;
	m.path = ask_bytes(range->part ? range->part->path : range->path);
	m.has_version = range->part != NULL;
	if (range->part) {
		m.version = ask_bytes(range->part->version);
		m.has_below = range->part->below.p != NULL;
		m.below = ask_bytes(range->part->below);
	}
	return ask_repo(r, WIRE_BLOB_READ, &m.base, HANDLE_FIELDS(m), take_octets, &octets);
}

/* ---- access control ---- */

struct access {
	struct arena   *arena;
	struct changes *list;
	bool           *all;
	struct bw_str  *names;
};

static int take_entries(void *arg, const struct wire_frame *f)
{
	struct access             *access = arg;
	struct wire_message        m;
	const ProtobufCBinaryData *list;
	const uint8_t             *copy;

	ask_parse(f, &m);
	list = &m.u->access_entries.entries;
	*access->list = (struct changes){ NULL, 0, 0 };
	if (m.u->access_entries.count == 0)
		return BW_OK;
	copy = (uint8_t *)arena_dup(access->arena, list->data, list->len);
	if (changes_get(copy, list->len, access->list) != BW_OK)
		fatalx("malformed ACCESS_ENTRIES");
	return BW_OK;
}

int ask_access_list(struct bw_resolver *r, struct bw_str path, struct changes *ret)
{
	Bw__Wire__AccessList m = BW__WIRE__ACCESS_LIST__INIT;
	struct access        access = { .arena = &r->req->arena, .list = ret };
	int                  err = ready(r);

	if (err != BW_OK)
		return err;
	m.path = ask_bytes(path);
	return ask_repo(r, WIRE_ACCESS_LIST, &m.base, HANDLE_FIELDS(m), take_entries, &access);
}

static int take_granted(void *arg, const struct wire_frame *f)
{
	struct access                 *access = arg;
	struct wire_message            m;
	const Bw__Wire__AccessGranted *answer;

	ask_parse(f, &m);
	answer = &m.u->access_granted;
	*access->all = answer->all;
	*access->names = (struct bw_str){ arena_dup(access->arena, answer->privileges.data,
		                                    answer->privileges.len),
		                          answer->privileges.len };
	return BW_OK;
}

int ask_access_granted(struct bw_resolver *r, struct bw_str path, struct bw_str names,
                       bool *ret_all, struct bw_str *ret_names)
{
	Bw__Wire__AccessAsk m = BW__WIRE__ACCESS_ASK__INIT;
	struct access access = { .arena = &r->req->arena, .all = ret_all, .names = ret_names };
	int           err = ready(r);

	if (err != BW_OK)
		return err;
	m.path = ask_bytes(path);
	m.privileges = ask_bytes(names);
	return ask_repo(r, WIRE_ACCESS_ASK, &m.base, HANDLE_FIELDS(m), take_granted, &access);
}
