/* gateway.h - a gateway alone for a test: no auth, no repo, no database; what is registered by its bundles
 * is all there is. It starts in a few hundredths of a second.
 *
 * It ends with the test's process. Whatever cannot be done ends the test with a line on stderr, the
 * gateway's log and abort(). */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct test_gateway {
	char root[64]; /* settings, bundles and log are below it; removed by test_gateway_stop */
	unsigned port; /* management is port + 1 */
	pid_t    pid;  /* of the workers' parent */
	unsigned generation; /* of the bundle that was installed last */
};

struct test_gateway_options {
	unsigned           workers;
	const char *const *bundles; /* of tests/bundles, without ".so", in order; NULL-terminated */
	const char        *settings;    /* more lines of the section "gateway:"; may be NULL */
	const char *const *environment; /* "NAME=value" ..., NULL-terminated; may be NULL */
};

/* Returns when every worker accepts. */
void test_gateway_start(struct test_gateway *ret, const struct test_gateway_options *options);
/* Ends it and waits for that. False if it did not end well, or if a worker did not at any time; its log
 * is printed then. */
bool test_gateway_stop(struct test_gateway *g);
/* Ends it at once, for a test that has failed already. */
void test_gateway_discard(struct test_gateway *g);
/* What its workers say to an order of the operator, {"verb": "whiteboard"} or so: a JSON array with the
 * answer of each; NULL if one of them gave none. Owned: json_decref. */
struct json_t *test_gateway_order(const struct test_gateway *g, const char *request);
/* Installs tests/bundles/FILE.so, whose name is that, as the operator would. False: it is refused. */
bool test_gateway_install(struct test_gateway *g, const char *name, const char *file);
bool test_gateway_uninstall(struct test_gateway *g, const char *name);
/* Does a worker have an installed bundle of that name mapped? */
bool test_gateway_maps(const struct test_gateway *g, const char *name);
/* Whether text stands in its log. */
bool test_gateway_logged(const struct test_gateway *g, const char *text);
void test_gateway_print_log(const struct test_gateway *g);
