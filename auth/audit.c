/* audit.c - from an event to its line:
 *
 *     ... level=info process=auth pid=71 request=8f3a... event=login_failed user="ada" auth_type="BASIC"
 *         address="192.0.2.1" reason="wrong_password"
 *
 * Owns: nothing. Runs in: the loop. Cannot fail; a line that the log loses is counted there. Tests:
 * tests/unit/auth/audit_test.c, tests/system/guard_test.c. */
#include "audit.h"
#include <base/log.h>
#include <stdio.h>

static size_t add(struct log_field *fields, size_t n, const char *name, struct bw_str value)
{
	if (value.p == NULL || value.n == 0)
		return n;
	fields[n] = (struct log_field){ name, value.p, value.n };
	return n + 1;
}

static struct bw_str text_of(const char *s)
{
	return s != NULL ? bw_str(s) : BW_ABSENT;
}

void audit_write(uint64_t request, const struct audit *a)
{
	struct log_field fields[9];
	char             place[PLACE_TEXT], wait[16] = "";
	size_t           n = 0;

	if (a->wait_s > 0)
		snprintf(wait, sizeof(wait), "%u", a->wait_s);
	n = add(fields, n, "user", a->user);
	n = add(fields, n, "target", a->target);
	n = add(fields, n, "change", a->change);
	n = add(fields, n, "id", a->id);
	n = add(fields, n, "bundle", a->bundle);
	n = add(fields, n, "auth_type", text_of(a->type));
	n = add(fields, n, "address", bw_str(place_text(&a->place, place)));
	n = add(fields, n, "reason", text_of(a->reason));
	n = add(fields, n, "retry_after", bw_str(wait));
	log_event(request, a->event, fields, n);
}
