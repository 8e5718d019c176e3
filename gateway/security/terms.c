/* terms.c - what goes with a login to auth, and what it means for the answer.
 *
 * Owns: nothing. Runs in: a request's fiber; never waits. Fails with: see terms.h.
 * Tests: tests/unit/engine/authenticator_test.c, tests/conformance/login. */
#include "security/terms.h"
#include "request.h"
#include <stdio.h>

void terms_read(struct bw_req *req, struct login_terms *t)
{
	t->ask = (struct ask_login){ .address = request_address(req, t->octets) };
	sudo_read(req, &t->sudo);
	t->ask.sudo = t->sudo.user;
}

int terms_accepted(struct bw_req *req, const struct login_terms *t, struct bw_resolver *r)
{
	return sudo_accepted(req, &t->sudo, t->ask.impersonator, r);
}

/* It may be the wish that was refused. A client that went on sending it would be for ever. */
void terms_refused(struct bw_req *req, const struct login_terms *t)
{
	if (t->sudo.cookie.p != NULL)
		sudo_clear(req);
}

/* RFC 6585 section 4. The code is that of a wrong password: whether it was one is not said. */
void terms_throttled(struct bw_req *req, const struct login_terms *t)
{
	static const char text[] = "Too many failed logins\n";
	char              seconds[16];

	snprintf(seconds, sizeof(seconds), "%u",
	         t->ask.retry_after_s > 0 ? t->ask.retry_after_s : 1);
	response_builtin_page(req, 429);
	response_header(req, "retry-after", bw_str(seconds), true);
	response_header(req, "x-reason", (struct bw_str){ text, sizeof(text) - 2 }, true);
	response_header(req, "x-reason-code", BW_STR("invalid_login"), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
}
