/* lock.c - writes a delay when it begins and when a success ends it; reads all of them at start.
 *
 * A failure that begins no delay is not written: a restart gives four of them back, and a database that
 * is away costs no login. Addresses are not kept at all (docs/decisions/0020-throttling.md).
 * Owns: nothing. Runs in: the loop. Fails with: a line; the delay is in memory in any case. Tests:
 * tests/unit/auth/database_test.c. */
#include "lock.h"
#include <base/clock.h>
#include <base/log.h>
#include <stdio.h>
#include <wire/messages.h>

enum query {
#define Q_READ(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
};

static void on_kept(void *arg, int err, const struct pg_rows *rows)
{
	(void)arg;
	(void)rows;
	if (err != BW_OK)
		log_warning(0, "a delay of failed logins would not outlive this process: %s",
		            wire_err_text(err));
}

void locks_keep(void *arg, struct bw_str user, unsigned failures, unsigned wait_s)
{
	struct locks   *l = arg;
	char            name[256], numbers[3][16];
	struct pg_param params[4] = { { name }, { numbers[0] }, { numbers[1] }, { numbers[2] } };
	int             err;

	if (l->pg == NULL || user.n >= sizeof(name))
		return;
	memcpy(name, user.p, user.n);
	name[user.n] = '\0';
	snprintf(numbers[0], sizeof(numbers[0]), "%u", failures);
	snprintf(numbers[1], sizeof(numbers[1]), "%u", wait_s);
	snprintf(numbers[2], sizeof(numbers[2]), "%u", l->window_s);
	err = pg_query(l->pg, QUERY_LOCK_SET, params, on_kept, NULL);
	if (err != BW_OK)
		on_kept(NULL, err, NULL);
}

static void on_locks(void *arg, int err, const struct pg_rows *rows)
{
	const struct locks *l = arg;
	uint64_t            now_us = clock_boot_us();

	if (err != BW_OK) {
		log_warning(0, "delays of failed logins cannot be read: %s", wire_err_text(err));
		return;
	}
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		throttle_restore(l->throttle, pg_text(rows, i, 0), (unsigned)pg_int(rows, i, 1),
		                 pg_int(rows, i, 2), now_us);
}

void locks_load(struct locks *l)
{
	char            window[16];
	struct pg_param param = { window };
	int             err;

	snprintf(window, sizeof(window), "%u", l->window_s);
	err = pg_query(l->pg, QUERY_LOCKS, &param, on_locks, l);
	if (err != BW_OK)
		on_locks(l, err, NULL);
}
