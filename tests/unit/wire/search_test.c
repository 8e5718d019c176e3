/* Under test: lib/wire/search.c. What is written is read again; a page or a list of terms that is cut, at
 * whatever place, is refused. */
#include <base/buf.h>
#include <criterion/criterion.h>
#include <wire/search.h>

Test(search, terms_round_trip)
{
	const struct search_term terms[] = {
		{ .kind = SEARCH_WORDS, .value = BW_STR("red apple") },
		{ .kind = SEARCH_FILTER,
		  .a = SEARCH_GE,
		  .b = BW_VALUE_LONG,
		  .name = BW_STR("n"),
		  .value = BW_STR("5") },
		{ .kind = SEARCH_LIMIT, .number = 70000 },
	};
	struct buf           out;
	struct search_reader in;
	struct search_term   t;

	buf_init(&out);
	for (size_t i = 0; i < 3; i++)
		search_put(&out, &terms[i]);
	in = (struct search_reader){ buf_data(&out), 0, buf_size(&out) };
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(search_next(&in, &t), 1);
		cr_assert(t.kind == terms[i].kind && t.a == terms[i].a && t.b == terms[i].b &&
		          t.number == terms[i].number);
		cr_assert(t.name.n == terms[i].name.n &&
		          memcmp(t.name.p, terms[i].name.n > 0 ? terms[i].name.p : "", t.name.n) ==
		                  0);
		cr_assert_eq(t.value.n, terms[i].value.n);
	}
	cr_assert_eq(search_next(&in, &t), 0);
	for (size_t cut = 1; cut < 18 + 9; cut++) { /* inside the first term */
		in = (struct search_reader){ buf_data(&out), 0, cut };
		cr_assert_eq(search_next(&in, &t), BW_EPROTO, "cut at %zu", cut);
	}
	buf_data(&out)[0] = SEARCH_LAST_KIND + 1;
	in = (struct search_reader){ buf_data(&out), 0, buf_size(&out) };
	cr_assert_eq(search_next(&in, &t), BW_EPROTO);
	buf_done(&out);
}

static void put_page(struct buf *out)
{
	struct search_count     values[] = { { BW_STR("red"), 3 }, { BW_STR("blue"), 1 } };
	struct search_facet     facet = { BW_STR("tag"), true, 2, values };
	struct search_highlight mark = { BW_STR("title"), BW_STR("\2x\3") };
	struct search_item      item = {
		     .score = 0.5f, .modified_ms = -7, .n_highlights = 1, .highlights = &mark
	};
	struct search_page head = { .n_items = 1,
		                    .n_facets = 1,
		                    .total = 7,
		                    .relation = SEARCH_AT_LEAST,
		                    .clamped = true,
		                    .next = BW_STR("abc"),
		                    .previous = BW_STR("de") };
	struct buf         record;
	struct bw_str      octets;
	size_t             at;

	buf_init(&record);
	at = record_begin(&record, 5, 1, BW_STR("/a"), BW_STR("nt:unstructured"), BW_ABSENT,
	                  BW_ABSENT);
	record_end(&record, at);
	octets = (struct bw_str){ (char *)buf_data(&record), buf_size(&record) };
	search_put_head(out, &head);
	search_put_item(out, &item, octets, octets);
	search_put_facet(out, &facet);
	buf_done(&record);
}

Test(search, page_round_trip)
{
	struct buf         out;
	struct arena       a;
	struct search_page page;

	buf_init(&out);
	arena_init(&a);
	put_page(&out);
	cr_assert_eq(search_page_get(buf_data(&out), buf_size(&out), &a, &page), BW_OK);
	cr_assert(page.n_items == 1 && page.n_facets == 1 && page.total == 7 && page.clamped);
	cr_assert_eq(page.relation, SEARCH_AT_LEAST);
	cr_assert_str_eq(page.next.p, "abc");
	cr_assert_str_eq(page.previous.p, "de");
	cr_assert_null(page.error.p);
	cr_assert_eq(page.items[0].score, 0.5f);
	cr_assert_eq(page.items[0].modified_ms, -7);
	cr_assert_str_eq(page.items[0].record.path.p, "/a");
	cr_assert(page.items[0].has_content);
	cr_assert_str_eq(page.items[0].content.path.p, "/a");
	cr_assert_str_eq(page.items[0].highlights[0].text.p, "\2x\3");
	cr_assert_eq(page.facets[0].values[0].count, 3);
	cr_assert_str_eq(page.facets[0].values[1].value.p, "blue");
	for (size_t cut = 0; cut < buf_size(&out); cut++)
		cr_assert_eq(search_page_get(buf_data(&out), cut, &a, &page), BW_EPROTO,
		             "cut at %zu", cut);
	buf_append(&out, "", 1);
	cr_assert_eq(search_page_get(buf_data(&out), buf_size(&out), &a, &page), BW_EPROTO);
	arena_done(&a);
	buf_done(&out);
}
