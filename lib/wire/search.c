/* search.c - writes and reads terms and pages of searches (layout in search.h).
 *
 * Owns: nothing. Runs in: gateway (writes terms, reads pages), repo (the other way round).
 * Fails with: BW_EPROTO. Tests: tests/unit/wire/search_test.c, fuzz/search_terms. */
#include <wire/search.h>
#include <wire/octets.h>

#define TERM_FIXED 8u
#define HEAD_FIXED 16u
#define ITEM_FIXED 15u

static void put_str(struct buf *out, struct bw_str s)
{
	uint8_t *p = buf_reserve(out, s.n + 5);

	put_u32(p, (uint32_t)s.n);
	if (s.n > 0)
		memcpy(p + 4, s.p, s.n);
	p[4 + s.n] = 0;
	buf_commit(out, s.n + 5);
}

static bool take(struct search_reader *in, size_t n, const uint8_t **ret)
{
	if (in->end - in->at < n)
		return false;
	*ret = in->p + in->at;
	in->at += n;
	return true;
}

static bool take_str(struct search_reader *in, struct bw_str *ret)
{
	const uint8_t *p;
	uint32_t       n;

	if (!take(in, 4, &p))
		return false;
	n = get_u32(p);
	if (!take(in, (size_t)n + 1, &p) || p[n] != '\0')
		return false;
	*ret = (struct bw_str){ (const char *)p, n };
	return true;
}

/* ---- terms ---- */

void search_put(struct buf *out, const struct search_term *t)
{
	uint8_t *p = buf_reserve(out, TERM_FIXED);

	p[0] = (uint8_t)t->kind;
	p[1] = t->a;
	p[2] = t->b;
	p[3] = 0;
	put_u32(p + 4, t->number);
	buf_commit(out, TERM_FIXED);
	put_str(out, t->name);
	put_str(out, t->value);
}

int search_next(struct search_reader *in, struct search_term *ret)
{
	const uint8_t *p;

	if (in->at == in->end)
		return 0;
	if (!take(in, TERM_FIXED, &p) || p[0] < SEARCH_SQL2 || p[0] > SEARCH_LAST_KIND || p[3] != 0)
		return BW_EPROTO;
	*ret = (struct search_term){ .kind = p[0], .a = p[1], .b = p[2], .number = get_u32(p + 4) };
	return take_str(in, &ret->name) && take_str(in, &ret->value) ? 1 : BW_EPROTO;
}

/* ---- pages ---- */

void search_put_head(struct buf *out, const struct search_page *head)
{
	uint8_t *p = buf_reserve(out, HEAD_FIXED);

	put_u32(p, head->n_items);
	put_u32(p + 4, head->total);
	p[8] = (uint8_t)head->relation;
	p[9] = (uint8_t)(head->clamped | head->whole << 1);
	put_u16(p + 10, (uint16_t)head->n_facets);
	put_u32(p + 12, head->error_position);
	buf_commit(out, HEAD_FIXED);
	put_str(out, head->next);
	put_str(out, head->previous);
	put_str(out, head->error);
}

void search_put_item(struct buf *out, const struct search_item *item, struct bw_str record,
                     struct bw_str content)
{
	uint8_t *p = buf_reserve(out, ITEM_FIXED);
	uint32_t bits;

	memcpy(&bits, &item->score, sizeof(bits));
	put_u32(p, bits);
	put_u16(p + 4, (uint16_t)item->n_highlights);
	p[6] = content.p != NULL;
	put_u64(p + 7, (uint64_t)item->modified_ms);
	buf_commit(out, ITEM_FIXED);
	buf_append(out, record.p, record.n);
	buf_append(out, content.p, content.n);
	for (unsigned i = 0; i < item->n_highlights; i++) {
		put_str(out, item->highlights[i].property);
		put_str(out, item->highlights[i].text);
	}
}

void search_put_facet(struct buf *out, const struct search_facet *facet)
{
	uint8_t *p;

	put_str(out, facet->name);
	p = buf_reserve(out, 3);
	put_u16(p, (uint16_t)facet->n);
	p[2] = facet->more;
	buf_commit(out, 3);
	for (unsigned i = 0; i < facet->n; i++) {
		put_u32(buf_reserve(out, 4), facet->values[i].count);
		buf_commit(out, 4);
		put_str(out, facet->values[i].value);
	}
}

static bool take_record(struct search_reader *in, struct record *ret)
{
	if (record_get(in->p + in->at, in->end - in->at, ret) != BW_OK)
		return false;
	in->at += ret->size;
	return true;
}

static bool take_item(struct search_reader *in, struct arena *a, struct search_item *ret)
{
	const uint8_t *p;
	uint32_t       bits;

	if (!take(in, ITEM_FIXED, &p) || p[6] > 1)
		return false;
	bits = get_u32(p);
	memcpy(&ret->score, &bits, sizeof(ret->score));
	ret->n_highlights = get_u16(p + 4);
	ret->has_content = p[6];
	ret->modified_ms = (int64_t)get_u64(p + 7);
	if (!take_record(in, &ret->record) ||
	    (ret->has_content && !take_record(in, &ret->content)) ||
	    ret->n_highlights > (in->end - in->at) / 10)
		return false;
	ret->highlights = arena_alloc(a, ret->n_highlights * sizeof(*ret->highlights));
	for (unsigned i = 0; i < ret->n_highlights; i++)
		if (!take_str(in, &ret->highlights[i].property) ||
		    !take_str(in, &ret->highlights[i].text))
			return false;
	return true;
}

static bool take_facet(struct search_reader *in, struct arena *a, struct search_facet *ret)
{
	const uint8_t *p;

	if (!take_str(in, &ret->name) || !take(in, 3, &p) || p[2] > 1)
		return false;
	ret->n = get_u16(p);
	ret->more = p[2];
	if (ret->n > (in->end - in->at) / 9)
		return false;
	ret->values = arena_alloc(a, ret->n * sizeof(*ret->values));
	for (unsigned i = 0; i < ret->n; i++) {
		if (!take(in, 4, &p) || !take_str(in, &ret->values[i].value))
			return false;
		ret->values[i].count = get_u32(p);
	}
	return true;
}

static struct bw_str absent_if_empty(struct bw_str s)
{
	return s.n > 0 ? s : BW_ABSENT;
}

static bool take_head(struct search_reader *in, struct search_page *ret)
{
	const uint8_t *p;

	if (!take(in, HEAD_FIXED, &p) || p[8] > SEARCH_AT_LEAST || p[9] > 3)
		return false;
	*ret = (struct search_page){
		.n_items = get_u32(p),
		.total = get_u32(p + 4),
		.relation = p[8],
		.clamped = p[9] & 1,
		.whole = p[9] >> 1,
		.n_facets = get_u16(p + 10),
		.error_position = get_u32(p + 12),
	};
	if (!take_str(in, &ret->next) || !take_str(in, &ret->previous) ||
	    !take_str(in, &ret->error))
		return false;
	ret->next = absent_if_empty(ret->next);
	ret->previous = absent_if_empty(ret->previous);
	ret->error = absent_if_empty(ret->error);
	return ret->n_items <= SEARCH_MAX_PAGE && ret->n_facets <= SEARCH_MAX_FACETS;
}

int search_page_get(const uint8_t *p, size_t n, struct arena *a, struct search_page *ret)
{
	struct search_reader in = { p, 0, n };
	struct search_page   page;

	if (!take_head(&in, &page))
		return BW_EPROTO;
	page.items = arena_alloc(a, page.n_items * sizeof(*page.items));
	page.facets = arena_alloc(a, page.n_facets * sizeof(*page.facets));
	for (unsigned i = 0; i < page.n_items; i++)
		if (!take_item(&in, a, &page.items[i]))
			return BW_EPROTO;
	for (unsigned i = 0; i < page.n_facets; i++)
		if (!take_facet(&in, a, &page.facets[i]))
			return BW_EPROTO;
	if (in.at != in.end)
		return BW_EPROTO;
	*ret = page;
	return BW_OK;
}
