/* lib/store: what is written is read, what is not ours is refused, and a state is replaced whole. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <unistd.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char folder[64], err[512];

static void make_folder(void)
{
	strcpy(folder, "/tmp/boardwalk-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(store, .init = make_folder, .fini = remove_folder);

static void write_text(const char *name, const char *text)
{
	char  path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "we");
	cr_assert(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void add(struct store *s, const char *name, uint64_t generation, bool stopped)
{
	struct store_bundle *b = store_add(s, name);

	b->generation = generation;
	b->stopped = stopped;
	strcpy(b->sha256, SHA);
	if (s->next <= generation)
		s->next = generation + 1;
}

Test(store, a_folder_without_a_state_holds_nothing)
{
	struct store s;

	cr_assert(store_read(folder, &s, err, sizeof(err)));
	cr_expect(s.n_bundles == 0 && s.n_seeds == 0 && s.next == 1);
	store_done(&s);
}

Test(store, reads_what_it_has_written)
{
	struct store s = { .next = 1 }, t;

	add(&s, "acme.b", 3, false);
	add(&s, "acme.a", 7, true);
	store_set_seed(&s, "acme.b", SHA);
	cr_assert(store_write(folder, &s, true, err, sizeof(err)), "%s", err);
	cr_assert(store_read(folder, &t, err, sizeof(err)), "%s", err);
	cr_assert_eq(t.n_bundles, 2);
	cr_expect_str_eq(t.bundles[0].name, "acme.b", "the order is kept");
	cr_expect(t.bundles[0].generation == 3 && !t.bundles[0].stopped);
	cr_expect(t.bundles[1].generation == 7 && t.bundles[1].stopped && t.next == 8);
	cr_expect_str_eq(store_seed(&t, "acme.b"), SHA);
	cr_expect(store_seed(&t, "acme.a") == NULL && store_find(&t, "acme") == NULL);
	store_remove(&t, store_find(&t, "acme.b"));
	cr_expect(t.n_bundles == 1 && store_find(&t, "acme.a") == &t.bundles[0]);
	store_done(&s);
	store_done(&t);
}

Test(store, refuses_a_state_that_is_not_its_own_and_keeps_hands_off_it)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"next\":1,\"bundles\":[],\"seeds\":{}} x",
		"{\"next\":1,\"next\":1,\"bundles\":[],\"seeds\":{}}",
		"{\"next\":0,\"bundles\":[],\"seeds\":{}}",
		"{\"next\":1,\"bundles\":{},\"seeds\":{}}",
		"{\"next\":1,\"bundles\":[],\"seeds\":{},\"more\":1}",
		"{\"next\":1,\"bundles\":[],\"seeds\":{\"a\":\"0\"}}",
		"{\"next\":1,\"bundles\":[],\"seeds\":{\"../a\":\"" SHA "\"}}",
		/* a generation that is not below next; a name with a slash; twice; an unknown state */
		"{\"next\":2,\"bundles\":[{\"name\":\"a\",\"version\":\"1\",\"generation\":2,"
		"\"state\":\"started\",\"sha256\":\"" SHA "\"}],\"seeds\":{}}",
		"{\"next\":2,\"bundles\":[{\"name\":\"../a\",\"version\":\"1\",\"generation\":1,"
		"\"state\":\"started\",\"sha256\":\"" SHA "\"}],\"seeds\":{}}",
		"{\"next\":2,\"bundles\":[{\"name\":\"a\",\"version\":\"1\",\"generation\":1,"
		"\"state\":\"lost\",\"sha256\":\"" SHA "\"}],\"seeds\":{}}",
		"{\"next\":3,\"bundles\":[{\"name\":\"a\",\"version\":\"1\",\"generation\":1,"
		"\"state\":\"started\",\"sha256\":\"" SHA
		"\"},{\"name\":\"a\",\"version\":\"1\",\"generation\":2,"
		"\"state\":\"started\",\"sha256\":\"" SHA "\"}],\"seeds\":{}}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct store s;

		write_text("state.json", bad[i]);
		cr_expect(!store_read(folder, &s, err, sizeof(err)), "%s", bad[i]);
		cr_expect(s.n_bundles == 0 && s.bundles == NULL && s.seeds == NULL, "%s", bad[i]);
	}
}

Test(store, a_state_that_is_a_link_is_not_followed)
{
	struct store s;
	char         path[128];

	write_text("elsewhere", "{\"next\":1,\"bundles\":[],\"seeds\":{}}");
	snprintf(path, sizeof(path), "%s/state.json", folder);
	cr_assert_eq(symlink("elsewhere", path), 0);
	cr_expect(!store_read(folder, &s, err, sizeof(err)));
}

Test(store, a_state_that_cannot_be_written_leaves_the_old_one)
{
	struct store s = { .next = 1 }, t;
	char         path[128];

	add(&s, "acme.a", 1, false);
	cr_assert(store_write(folder, &s, true, err, sizeof(err)));
	snprintf(path, sizeof(path), "mkdir %s/state.json.new", folder);
	cr_assert_eq(system(path), 0);
	add(&s, "acme.b", 2, false);
	cr_expect(!store_write(folder, &s, true, err, sizeof(err)));
	cr_assert(store_read(folder, &t, err, sizeof(err)));
	cr_expect_eq(t.n_bundles, 1);
	store_done(&s);
	store_done(&t);
}

Test(store, one_that_is_started_anew_is_the_last)
{
	struct store s = { .next = 4 };

	store_add(&s, "acme.a")->generation = 1;
	store_add(&s, "acme.b")->generation = 2;
	store_add(&s, "acme.c")->generation = 3;
	cr_expect_eq(store_to_end(&s, &s.bundles[0])->generation, 1);
	cr_expect_eq(store_to_end(&s, &s.bundles[2])->generation, 1);
	cr_expect_str_eq(s.bundles[0].name, "acme.b");
	cr_expect_str_eq(s.bundles[1].name, "acme.c");
	cr_expect_str_eq(s.bundles[2].name, "acme.a");
	store_done(&s);
}

Test(store, keeps_what_the_settings_bundles_registered)
{
	char *text;

	cr_expect(store_remembered(folder) == NULL);
	cr_assert(store_set_remembered(folder, "{}", 2));
	cr_assert(store_set_remembered(folder, "{\"a\":1}", 7));
	text = store_remembered(folder);
	cr_expect_str_eq(text, "{\"a\":1}");
	free(text);
}

Test(store, keeps_footprints)
{
	char *text;

	cr_expect(store_footprint(folder, "acme.a") == NULL);
	cr_assert(store_set_footprint(folder, "acme.a", "[1]", 3));
	cr_assert(store_set_footprint(folder, "acme.a", "[1,2]", 5));
	text = store_footprint(folder, "acme.a");
	cr_expect_str_eq(text, "[1,2]");
	free(text);
}
