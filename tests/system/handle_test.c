/* What a gateway in the hands of an attacker gets out of auth and repo with resolver handles: each
 * way to misuse one, with the exact answer and what repo logged, and that what may not be read
 * looks in every octet like what does not exist. */
#include <base/clock.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "support/instance.h"
#include "support/liar.h"

#define GATEWAY     "boardwalk-gateway"
#define OPEN_TO_ALL "/content/test/hello"
#define SECRET      "/var/test/serviceuser"
#define NOTHING     "/var/test/nothinguser"

static struct test_instance instance;
static char                 repo_socket[128], auth_socket[128];
static struct handle_keys   keys;
static struct liar          l;
static struct liar_answer   answer, other_answer;

static void find_sockets(void)
{
	char file[300], err[200];

	test_instance_socket(&instance, "repo/repo.sock", repo_socket, sizeof(repo_socket));
	test_instance_socket(&instance, "auth/auth.sock", auth_socket, sizeof(auth_socket));
	snprintf(file, sizeof(file), "%s/keys/handle.key", instance.data);
	cr_assert_eq(handle_keys_load(file, &keys, err, sizeof(err)), 0, "%s", err);
}

static void set_up(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_instance_start(&instance, NULL);
	find_sockets();
	cr_assert(liar_open(&l, repo_socket, auth_socket, GATEWAY));
}

static void tear_down(void)
{
	liar_close(&l);
	test_instance_stop(&instance);
}

TestSuite(handle);

static struct liar_handle guest(void)
{
	struct liar_handle h;

	cr_assert_eq(liar_guest(&l, &h), BW_OK);
	cr_assert_str_eq(h.user, "anonymous");
	return h;
}

/* A handle as auth would make it, but with whatever the test wants to be different. */
static struct liar_handle forged(const struct liar_handle *like, uint64_t sequence,
                                 uint64_t issued_us, uint64_t expires_us)
{
	static const uint64_t principals[] = { 2u << 1, 3u << 1 | 1 }; /* anonymous, everyone */
	struct handle         h;
	struct liar_handle    ret = *like;

	cr_assert_eq(handle_get(like->bytes, like->n, keys.keys, 1, &h), BW_OK);
	h.sequence = sequence;
	h.issued_us = issued_us;
	h.expires_us = expires_us;
	ret.n = handle_put(&h, principals, &keys.keys[0], ret.bytes);
	ret.sequence = sequence;
	return ret;
}

static void get(const struct liar_handle *h, bool whole)
{
	liar_get(&l, h, whole, OPEN_TO_ALL, &answer);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* The answer was FAILED with that error, and repo has logged why. Lines go through a thread, so
 * they may come a little later than the answer. */
static void assert_refused(const struct liar_handle *h, int err)
{
	char               text[160];
	unsigned long long end = test_now_ms() + 5000;

	cr_assert_eq(answer.err, err, "%d instead of %d", answer.err, err);
	cr_assert_eq(answer.f.id, WIRE_FAILED);
	cr_assert_eq(answer.f.request, l.request);
	cr_assert(answer.m.u->failed.text.len == strlen(wire_err_text(err)) &&
	          memcmp(answer.m.u->failed.text.data, wire_err_text(err),
	                 answer.m.u->failed.text.len) == 0);
	snprintf(text, sizeof(text),
	         "process=repo pid=%d request=%016llx msg=\"handle %llu on connection",
	         (int)test_instance_pid(&instance, "repo"), (unsigned long long)l.request,
	         (unsigned long long)h->sequence);
	while (!test_instance_logged(&instance, text) && test_now_ms() < end)
		pause_ms(5);
	cr_assert(test_instance_logged(&instance, text), "%s", text);
	l.request++; /* the next line is another one */
}

/* Repo has hung up and logged it with the request's id. */
static void assert_hung_up(const char *reason)
{
	char               text[160];
	unsigned long long end = test_now_ms() + 5000;

	cr_assert_eq(answer.err, BW_EGONE, "%d instead of hanging up", answer.err);
	cr_assert_eq(answer.size, 0);
	snprintf(text, sizeof(text), "closed: %s (request %016llx)", reason,
	         (unsigned long long)l.request);
	while (!test_instance_logged(&instance, text) && test_now_ms() < end)
		pause_ms(5);
	cr_assert(test_instance_logged(&instance, text), "%s", text);
}

/* Also while a process that was killed is being started again. */
static void reconnect(void)
{
	uint64_t           request = l.request;
	unsigned long long end = test_now_ms() + 10000;

	liar_close(&l);
	while (!liar_open(&l, repo_socket, auth_socket, GATEWAY) && test_now_ms() < end) {
		liar_close(&l);
		pause_ms(10);
	}
	cr_assert(l.repo >= 0 && l.auth >= 0);
	l.request = request + 1;
}

/* ---- not a handle ---- */

Test(handle, every_flipped_bit_ends_the_connection)
{
	struct liar_handle h;
	size_t             n;

	set_up();
	l.request = 0xf11b0000;
	h = guest();
	n = h.n;
	get(&h, true);
	cr_assert_eq(answer.err, BW_OK);
	for (size_t bit = 0; bit < 8 * n; bit++) {
		h = guest();
		h.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		get(&h, true);
		cr_assert_eq(answer.err, BW_EGONE, "bit %zu: %d", bit, answer.err);
		if (bit % 64 == 0)
			assert_hung_up("malformed handle or wrong MAC");
		reconnect();
	}
	for (size_t size = 0; size <= n + 8; size++) {
		if (size == n)
			continue;
		h = guest();
		h.n = size;
		get(&h, true);
		cr_assert_eq(answer.err, BW_EGONE, "size %zu: %d", size, answer.err);
		reconnect();
	}
	tear_down();
}

Test(handle, other_misuse_of_messages_ends_the_connection)
{
	struct liar_handle h;

	set_up();
	l.request = 0xbad0000;
	h = guest();
	h.sequence++; /* the message says another number than the handle */
	get(&h, true);
	assert_hung_up("handle with another number than its message");
	reconnect();
	liar_send(&l, l.repo, WIRE_AUTHENTICATE_ANONYMOUS, 1, WIRE_END, "\10\1", 2, SIZE_MAX);
	liar_take(&l, l.repo, &answer);
	cr_assert_eq(answer.err, BW_EGONE);
	reconnect();
	liar_send(&l, l.auth, WIRE_RESOURCE_GET, 1, WIRE_END, "", 0, SIZE_MAX);
	liar_take(&l, l.auth, &answer);
	cr_assert_eq(answer.err, BW_EGONE);
	reconnect();
	liar_send(&l, l.repo, WIRE_RESOURCE_FOUND, 1, WIRE_END, "\10\0\22\0", 4, SIZE_MAX);
	liar_take(&l, l.repo, &answer);
	cr_assert_eq(answer.err, BW_EGONE);
	reconnect(); /* and all of this has cost nobody else anything */
	h = guest();
	get(&h, true);
	cr_assert_eq(answer.err, BW_OK);
	tear_down();
}

/* ---- a handle at the wrong time or place ---- */

Test(handle, expired_is_refused_at_opening_and_at_every_use)
{
	struct liar_handle h, old;
	uint64_t           now;
	unsigned long long end;

	set_up();
	l.request = 0xe0;
	h = guest();
	now = clock_boot_us();
	old = forged(&h, h.sequence, now - 61000000, now - 1000000);
	get(&old, true);
	assert_refused(&old, BW_EEXPIRED);
	now = clock_boot_us();
	end = test_now_ms() + 5000;
	h = forged(&h, h.sequence + 1000, now, now + 300000); /* 0.3 s to live */
	get(&h, true);
	cr_assert_eq(answer.err, BW_OK);
	do
		get(&h, false);
	while (answer.err == BW_OK && test_now_ms() < end);
	cr_assert_eq(answer.err, BW_EEXPIRED, "%d", answer.err);
	cr_assert_geq(clock_boot_us(), now + 300000, "refused too early");
	assert_refused(&h, BW_EEXPIRED);
	tear_down();
}

Test(handle, closed_used_again_and_reused_numbers_are_refused)
{
	struct liar_handle h, twin, early, next;
	uint64_t           now;

	set_up();
	l.request = 0xc0;
	h = guest();
	get(&h, false); /* never opened */
	assert_refused(&h, BW_ECLOSED);
	get(&h, true);
	cr_assert_eq(answer.err, BW_OK);
	get(&h, true); /* the whole handle again, while it is open */
	assert_refused(&h, BW_ECLOSED);
	now = clock_boot_us();
	/* Genuine, but with a number that is taken. */
	twin = forged(&h, h.sequence, now - 1, now + 1000000);
	get(&twin, true);
	assert_refused(&twin, BW_ECLOSED);
	get(&h, false);
	cr_assert_eq(answer.err, BW_OK);
	liar_handle_close(&l, h.sequence);
	get(&h, false);
	assert_refused(&h, BW_ECLOSED);
	get(&h, true); /* replayed after its close */
	assert_refused(&h, BW_ECLOSED);
	liar_handle_close(&l, h.sequence); /* twice, and one that never was: nothing */
	liar_handle_close(&l, 1);
	/* Left of the window. */
	early = forged(&h, h.sequence - (1u << 24), now, now + 1000000);
	get(&early, true);
	assert_refused(&early, BW_ECLOSED);
	next = guest();
	get(&next, true);
	cr_assert_eq(answer.err, BW_OK);
	tear_down();
}

Test(handle, belongs_to_one_connection)
{
	struct liar        other;
	struct liar_handle h;

	set_up();
	h = guest();
	cr_assert(liar_open(&other, repo_socket, auth_socket, GATEWAY));
	cr_assert(memcmp(other.channel, l.channel, 16) != 0);
	other.request = l.request = 0xf0;
	liar_get(&other, &h, true, OPEN_TO_ALL, &answer);
	assert_refused(&h, BW_EFOREIGN);
	get(&h, true); /* it is still good where it belongs */
	cr_assert_eq(answer.err, BW_OK);
	liar_get(&other, &h, false, OPEN_TO_ALL, &answer); /* its number alone says nothing there */
	cr_assert_eq(answer.err, BW_ECLOSED);
	liar_close(&other);
	tear_down();
}

Test(handle, is_worth_nothing_after_the_restart_of_repo)
{
	struct liar_handle h, unused;

	set_up();
	l.request = 0xa0;
	h = guest();
	unused = guest();
	get(&h, true);
	cr_assert_eq(answer.err, BW_OK);
	kill(test_instance_pid(&instance, "repo"), SIGKILL);
	get(&h, false);
	cr_assert_eq(answer.err, BW_EGONE);
	reconnect();
	get(&h, true);
	assert_refused(&h, BW_EFOREIGN);
	get(&unused, true);
	assert_refused(&unused, BW_EFOREIGN);
	h = guest();
	get(&h, true);
	cr_assert_eq(answer.err, BW_OK);
	tear_down();
}

Test(handle, numbers_go_on_upward_after_the_restart_of_auth)
{
	struct liar_handle before, after;
	unsigned long long end;

	set_up();
	before = guest();
	get(&before, true);
	cr_assert_eq(answer.err, BW_OK);
	kill(test_instance_pid(&instance, "auth"), SIGKILL);
	end = test_now_ms() + 10000;
	while (!liar_open_auth(&l, auth_socket, GATEWAY) && test_now_ms() < end)
		pause_ms(10);
	after = guest();
	cr_assert_gt(after.sequence, before.sequence);
	get(&after, true);
	cr_assert_eq(answer.err, BW_OK);
	get(&before, false); /* an open one does not depend on auth */
	cr_assert_eq(answer.err, BW_OK);
	tear_down();
}

/* ---- who one may be, and what he sees ---- */

/* SECRET as those see it who may not: in every octet but the call number as what does not exist. */
static void assert_invisible(const struct liar_handle *h)
{
	liar_get(&l, h, true, NOTHING, &other_answer);
	cr_assert_eq(other_answer.err, BW_ENOTFOUND);
	liar_get(&l, h, false, SECRET, &answer);
	cr_assert(liar_same(&answer, &other_answer));
	liar_resolve(&l, h, false, NOTHING ".html", &other_answer);
	liar_resolve(&l, h, false, SECRET ".html", &answer);
	cr_assert(liar_same(&answer, &other_answer));
	liar_children(&l, h, false, NOTHING, &other_answer);
	liar_children(&l, h, false, SECRET, &answer);
	cr_assert(liar_same(&answer, &other_answer));
	liar_children(&l, h, false, "/var", &answer);
	cr_assert_eq(answer.err, BW_ENOTFOUND);
}

Test(handle, unreadable_looks_like_missing)
{
	struct liar_handle h;

	set_up();
	test_instance_password(&instance, "reader", "secret of reader");
	h = guest();
	assert_invisible(&h);
	cr_assert_eq(liar_login(&l, "reader", "secret of reader", &h), BW_OK);
	cr_assert_str_eq(h.user, "reader");
	assert_invisible(&h);
	cr_assert_eq(liar_service(&l, "boardwalk.demo", NULL, &h), BW_OK);
	cr_assert_str_eq(h.user, "servlettest");
	liar_get(&l, &h, true, SECRET, &answer);
	cr_assert_eq(answer.err, BW_OK);
	cr_assert_str_eq(liar_property(&answer, "message"), "Hello World");
	tear_down();
}

Test(handle, nobody_is_minted_for_without_a_reason)
{
	struct liar_handle h;

	set_up();
	cr_assert_eq(liar_login(&l, "admin", "wrong", &h), BW_ELOGIN);
	cr_assert_eq(liar_login(&l, "nobody-of-that-name", "x", &h), BW_ELOGIN);
	cr_assert_eq(liar_login(&l, "servlettest", "", &h), BW_ELOGIN);
	cr_assert_eq(liar_login(&l, "anonymous", "", &h), BW_ELOGIN);
	cr_assert_eq(liar_service(&l, "some.other.bundle", NULL, &h), BW_ELOGIN);
	cr_assert_eq(liar_service(&l, "servlettest", NULL, &h), BW_ELOGIN);
	cr_assert_eq(liar_login(&l, "admin", instance.password, &h), BW_OK);
	cr_assert_str_eq(h.user, "admin");
	liar_get(&l, &h, true, SECRET, &answer);
	cr_assert_eq(answer.err, BW_OK);
	tear_down();
}
