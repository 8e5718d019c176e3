/* gateway/control/refusals.c, and what inventory.c and crashes.c count for it: how often a bundle is tried
 * again that a worker could not start, and that all of them are told in the end. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <base/log.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <unistd.h>

#include "bundle/crashes.h"
#include "control/refusals.h"

#define WORKERS     2u
#define SHA         "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define WORDS(text) text, sizeof(text) /* the last NUL is the literal's own */

static char             folder[64];
static struct crew     *crew;
static struct changes  *changes;
static struct refusals *refusals;
static struct channel   ends[WORKERS]; /* the workers' */
static unsigned         aborted;

static void abort_worker(void *arg, uint32_t worker, const char *why)
{
	(void)arg;
	(void)why;
	aborted |= 1u << worker;
}

static void put_state(uint64_t generation)
{
	struct store         s = { .next = generation + 1 };
	struct store_bundle *b = store_add(&s, "acme.a");
	char                 err[256];

	b->generation = generation;
	strcpy(b->sha256, SHA);
	cr_assert(store_write(folder, &s, false, err, sizeof(err)), "%s", err);
	store_done(&s);
}

static void init(void)
{
	const struct changes_hooks  changes_hooks = { abort_worker, NULL };
	const struct refusals_hooks hooks = { abort_worker, NULL };

	log_init("test", LOG_LEVEL_ERROR);
	strcpy(folder, "/tmp/boardwalk-unit-XXXXXX");
	cr_assert(mkdtemp(folder) != NULL);
	put_state(3);
	crew = crew_new(WORKERS);
	changes = changes_new(crew, folder, &changes_hooks);
	refusals = refusals_new(crew, changes, &hooks);
	for (uint32_t i = 0; i < WORKERS; i++) {
		channel_open(&ends[i], crew_open(crew, i));
		crew_started(crew, i, 1000 + (pid_t)i);
	}
}

static void fini(void)
{
	char command[128];

	for (uint32_t i = 0; i < WORKERS; i++) {
		crew_ended(crew, i, "ends");
		channel_close(&ends[i]);
	}
	refusals_free(refusals);
	changes_free(changes);
	crew_free(crew);
	crashes_done();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert(eq(int, system(command), 0));
}

TestSuite(refusals, .init = init, .fini = fini);

/* The next order, its words joined by '|'; "" if there is none. */
static const char *order(uint32_t i, uint32_t *ret_call)
{
	static char          text[512];
	struct channel_frame frame;

	refusals_tend(refusals);
	channel_read(&ends[i]);
	if (!channel_next(&ends[i], &frame))
		return "";
	memcpy(text, frame.text, frame.n);
	for (size_t k = 0; k + 1 < frame.n; k++)
		if (text[k] == '\0')
			text[k] = '|';
	*ret_call = frame.call;
	return text;
}

static void expect_order(uint32_t i, const char *want, enum channel_status status)
{
	uint32_t call = 0;

	cr_assert_str_eq(order(i, &call), want);
	if (*want == '\0')
		return;
	channel_put(&ends[i], call, status, "no", 2);
	cr_assert(channel_flush(&ends[i]));
	crew_turn(crew, i, POLLIN);
}

static unsigned tries(const char *words, size_t n, enum refusals_others others)
{
	unsigned count = 1;

	while (!refusals_hear(refusals, words, n, others))
		count++;
	return count;
}

Test(refusals, who_has_everything_may_serve)
{
	cr_expect(refusals_hear(refusals, "", 0, REFUSALS_OTHERS));
	expect_order(0, "", CHANNEL_OK);
}

Test(refusals, the_longer_the_more_others_serve)
{
	cr_expect(eq(u32, tries(WORDS("a\0000\0is bad"), REFUSALS_NOBODY), 1));
	cr_expect(eq(u32, tries(WORDS("b\0000\0is bad"), REFUSALS_PREDECESSOR), 3));
	cr_expect(eq(u32, tries(WORDS("c\0000\0is bad"), REFUSALS_OTHERS), 5));
	cr_expect(eq(u32, tries(WORDS("acme.a\0003\0is bad"), REFUSALS_OTHERS), 5));
	/* Once it is refused, it is. */
	cr_expect(eq(u32, tries(WORDS("acme.a\0003\0is bad"), REFUSALS_OTHERS), 1));
}

Test(refusals, all_workers_are_told_once_and_why)
{
	tries(WORDS("acme.a\0003\0is\nbad"), REFUSALS_OTHERS);
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.refuse|acme.a|is?bad, 5 times in a row", CHANNEL_OK);
	expect_order(0, "", CHANNEL_OK);
	tries(WORDS("acme.b\0000\0is bad"), REFUSALS_NOBODY);
	for (uint32_t i = 0; i < WORKERS; i++)
		expect_order(i, "bundle.refuse|acme.b|is bad", CHANNEL_OK);
	expect_order(0, "", CHANNEL_OK);
	cr_expect(eq(u32, aborted, 0));
}

Test(refusals, so_are_they_of_crashes)
{
	for (int i = 0; i < 3; i++)
		inventory_crash(changes_inventory(changes), 3, "crashed in init");
	expect_order(1, "bundle.refuse|acme.a|crashed in init, 3 times in a row", CHANNEL_FAILED);
	cr_expect(eq(u32, aborted, 2), "who does not obey is ended");
}

static void ignore(void *asker, const char *reason)
{
	(void)asker;
	(void)reason;
}

/* The change may be what makes it good. */
Test(refusals, a_change_is_waited_for_and_ends_what_it_replaces)
{
	uint32_t call = 0;

	cr_assert(changes_prepare(changes, BUNDLE_UPDATE, "acme.a", 4, ignore, changes) == NULL);
	tries(WORDS("acme.a\0003\0is bad"), REFUSALS_NOBODY);
	cr_assert(strstr(order(0, &call), "bundle.prepare|update|acme.a|4|") != NULL);
	inventory_apply(changes_inventory(changes), BUNDLE_UPDATE, "acme.a", 4);
	expect_order(0, "", CHANNEL_OK);
	cr_expect(inventory_untold(changes_inventory(changes)) == NULL);
	cr_expect(refusals_hear(refusals, WORDS("acme.a\0003\0is bad"), REFUSALS_OTHERS),
	          "that generation is not installed any more");
}

/* Unfinished words are no reason to believe anything. */
Test(refusals, what_is_cut_is_not_counted)
{
	cr_expect(refusals_hear(refusals, WORDS("acme.a"), REFUSALS_OTHERS));
	cr_expect(refusals_hear(refusals, WORDS("acme.a\0003"), REFUSALS_NOBODY));
	cr_expect(inventory_untold(changes_inventory(changes)) == NULL);
}
