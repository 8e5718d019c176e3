/* ask_task.c - the questions of the benchmark: what a request of the gateway asks of repo, and what
 * comes of it.
 * Owns: the paths and the place of a task, until its end. Runs in: bench/ask. Fails with: fatalx: an
 * answer that is not the expected one makes the figures worthless. Tests: tests/bench. */
#include "ask.h"
#include <base/arena.h>
#include <base/clock.h>
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/changes.h>
#include <wire/search.h>

#define PAGE 256u

static ProtobufCBinaryData bytes(const char *text)
{
	return (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
}

bool task_read(struct task *t, char *line)
{
	static const char *const kinds[] = {
		[TASK_GET] = "get",       [TASK_PAGE] = "page",
		[TASK_WALK] = "walk",     [TASK_TREE] = "tree",
		[TASK_SEARCH] = "search", [TASK_SEARCH_ALL] = "search-all",
		[TASK_COMMIT] = "commit",
	};
	char *rest = line, *kind = strsep(&rest, "\t"), *what = strsep(&rest, "\t");

	for (unsigned i = 0; what != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i], kind) != 0)
			continue;
		*t = (struct task){ .kind = i, .what = what, .more = rest != NULL ? rest : "" };
		return true;
	}
	return false;
}

/* ---- resources ---- */

static void send_get(struct task *t)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	m.path = bytes(t->what);
	m.sequence = t->sequence;
	ask_send(t, WIRE_RESOURCE_GET, &m.base, &m.has_handle, &m.handle);
}

static void send_children(struct task *t, const char *path, const char *after)
{
	Bw__Wire__ResourceChildren m = BW__WIRE__RESOURCE_CHILDREN__INIT;

	m.path = bytes(path);
	m.has_after = after != NULL;
	m.after = bytes(after != NULL ? after : "");
	m.max = PAGE;
	m.sequence = t->sequence;
	ask_send(t, WIRE_RESOURCE_CHILDREN, &m.base, &m.has_handle, &m.handle);
}

static void add_path(struct task *t, struct bw_str path)
{
	if (t->n_paths == t->cap_paths) {
		t->cap_paths = t->cap_paths > 0 ? 2 * t->cap_paths : 64;
		t->paths = xrealloc(t->paths, t->cap_paths * sizeof(*t->paths));
	}
	t->paths[t->n_paths++] = xstrndup(path.p, path.n);
}

/* All of a page are counted; the last one's name is where the next page begins. */
static void take_children(struct task *t, const Bw__Wire__ResourcePage *page)
{
	size_t        at = 0;
	struct record r = { 0 };

	for (uint32_t i = 0; i < page->count; i++, at += r.size) {
		if (record_get(page->records.data + at, page->records.len - at, &r) != BW_OK)
			fatalx("a record cannot be read");
		if (t->kind == TASK_TREE)
			add_path(t, r.path);
	}
	t->items += page->count;
	free(t->at);
	t->at = page->more ? xstrndup(r.name.p, r.name.n) : NULL;
}

/* A subtree: the children of each node, of the ones that came first first. */
static bool go_on_in_tree(struct task *t)
{
	if (t->at == NULL && ++t->next_path == t->n_paths)
		return false;
	send_children(t, t->paths[t->next_path], t->at);
	return true;
}

static bool take_page(struct task *t, const struct wire_frame *f)
{
	struct wire_message m;

	if (wire_message_get(f, &m) != BW_OK)
		fatalx("a page cannot be read");
	take_children(t, &m.u->resource_page);
	if (t->kind == TASK_TREE)
		return !go_on_in_tree(t);
	if (t->kind == TASK_PAGE || t->at == NULL)
		return true;
	send_children(t, t->what, t->at);
	return false;
}

/* ---- searches ---- */

/* words=, type=, path=, NAME=: a property; below=: a statement with ISDESCENDANTNODE. */
static void put_term(struct buf *out, char *term)
{
	char              *value = term, *name = strsep(&value, "=");
	struct search_term t = { .kind = SEARCH_FILTER, .name = bw_str(name) };

	if (value == NULL)
		fatalx("%s: no value", name);
	if (strcmp(name, "words") == 0)
		t.kind = SEARCH_WORDS;
	else if (strcmp(name, "type") == 0)
		t.kind = SEARCH_TYPE;
	else if (strcmp(name, "path") == 0)
		t.kind = SEARCH_PATH;
	else if (strcmp(name, "sql2") == 0)
		t.kind = SEARCH_SQL2;
	if (t.kind != SEARCH_FILTER)
		t.name = BW_ABSENT;
	t.value = bw_str(value);
	search_put(out, &t);
}

static void send_search(struct task *t)
{
	Bw__Wire__Search m = BW__WIRE__SEARCH__INIT;
	char            *what = xstrndup(t->what, strlen(t->what)), *rest = what, *term;
	struct buf       terms;

	buf_init(&terms);
	while ((term = strsep(&rest, "&")) != NULL)
		put_term(&terms, term);
	search_put(&terms, &(struct search_term){ .kind = SEARCH_LIMIT,
	                                          .number = t->kind == TASK_SEARCH ? 20 : PAGE });
	if (t->at != NULL)
		search_put(&terms,
		           &(struct search_term){ .kind = SEARCH_CURSOR, .value = bw_str(t->at) });
	m.terms = (ProtobufCBinaryData){ buf_size(&terms), buf_data(&terms) };
	m.sequence = t->sequence;
	ask_send(t, WIRE_SEARCH, &m.base, &m.has_handle, &m.handle);
	buf_done(&terms);
	free(what);
}

static bool take_found(struct task *t, const struct wire_frame *f)
{
	struct wire_message m;
	struct search_page  page;
	struct arena        arena;

	arena_init(&arena);
	if (wire_message_get(f, &m) != BW_OK ||
	    search_page_get(m.u->search_page.page.data, m.u->search_page.page.len, &arena, &page) !=
	            BW_OK)
		fatalx("a page of a search cannot be read");
	if (page.error.p != NULL)
		fatalx("%s: %s", t->what, page.error.p);
	t->items += page.n_items;
	free(t->at);
	t->at = page.next.p != NULL ? xstrndup(page.next.p, page.next.n) : NULL;
	arena_done(&arena);
	if (t->kind == TASK_SEARCH || t->at == NULL)
		return true;
	send_search(t);
	return false;
}

/* ---- commits ---- */

static void put_node(struct buf *list, const char *folder, uint64_t number, unsigned i)
{
	static const struct bw_str title = { "A node of the benchmark", 23 },
				   forty_two = { "42", 2 };
	static const struct change_text texts[] = { { BW_VALUE_LONG, false, 1, &forty_two },
		                                    { BW_VALUE_STRING, false, 1, &title } };
	size_t                          change;
	char                            path[256];

	snprintf(path, sizeof(path), "%s/%llx-%u", folder, (unsigned long long)number, i);
	change = change_begin(list, CHANGE_CREATE, 0, bw_str(path), BW_STR("nt:unstructured"));
	change_put_prop(list, change, BW_STR("number"), &texts[0]);
	change_put_prop(list, change, BW_STR("title"), &texts[1]);
	change_end(list, 0, change);
}

static void send_commit(struct task *t)
{
	Bw__Wire__ResourceCommit m = BW__WIRE__RESOURCE_COMMIT__INIT;
	unsigned                 n = (unsigned)strtoul(t->more, NULL, 10);
	struct buf               list;

	if (n < 1 || n > CHANGES_MAX)
		fatalx("a commit of %u changes", n);
	buf_init(&list);
	(void)changes_begin(&list);
	for (unsigned i = 0; i < n; i++)
		put_node(&list, t->what, t->sequence, i);
	m.changes = (ProtobufCBinaryData){ changes_end(&list, 0), buf_data(&list) };
	m.sequence = t->sequence;
	t->items = n;
	ask_send(t, WIRE_RESOURCE_COMMIT, &m.base, &m.has_handle, &m.handle);
	buf_done(&list);
}

/* ---- all ---- */

void task_begin(struct task *t)
{
	t->began_us = clock_mono_us();
	switch (t->kind) {
	case TASK_GET:
		send_get(t);
		break;
	case TASK_TREE:
		add_path(t, bw_str(t->what));
		t->items = 1;
		send_children(t, t->what, NULL);
		break;
	case TASK_PAGE:
	case TASK_WALK:
		send_children(t, t->what, t->more[0] != '\0' ? t->more : NULL);
		break;
	case TASK_SEARCH:
	case TASK_SEARCH_ALL:
		send_search(t);
		break;
	case TASK_COMMIT:
		send_commit(t);
	}
}

static bool take(struct task *t, const struct wire_frame *f)
{
	switch (t->kind) {
	case TASK_PAGE:
	case TASK_WALK:
	case TASK_TREE:
		return take_page(t, f);
	case TASK_SEARCH:
	case TASK_SEARCH_ALL:
		return take_found(t, f);
	case TASK_GET:
		t->items++;
		break;
	case TASK_COMMIT:
		break;
	}
	return true;
}

bool task_go_on(struct task *t, const struct wire_frame *f)
{
	if (!take(t, f))
		return false;
	while (t->n_paths > 0)
		free(t->paths[--t->n_paths]);
	free(t->paths);
	free(t->at);
	t->paths = NULL;
	t->at = NULL;
	return true;
}
