/* docker-compose.yml, read as it is: every service started as it says, where there is no Docker. The
 * nine cells through it, what the gateway cannot reach, and a process that comes back to the socket of
 * its dead predecessor. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/compose.h"
#include "support/container.h"
#include "support/http.h"
#include "support/instance.h"

#define PORT 8080u

static struct container_world world;
static pid_t pids[COMPOSE_MAX]; /* by the service's place in the file; 0: not started */

static unsigned place_of(const struct compose_service *s)
{
	return (unsigned)(s - world.compose->services);
}

static char *read_text(const char *name)
{
	char  path[128], *text = calloc(1, 1 << 20);
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", world.root, name);
	in = fopen(path, "re");
	if (in == NULL || fread(text, 1, (1 << 20) - 1, in) == 0)
		cr_log_warn("%s is empty", path);
	if (in != NULL)
		fclose(in);
	return text;
}

__attribute__((noreturn)) static void fail_with_log(const char *what, const char *service)
{
	char *log = read_text("log");

	fprintf(stderr, "%s: %s\n%s", service, what, log);
	abort();
}

/* The service's own check, as it says. */
static bool is_healthy(const struct compose_service *s, unsigned limit_ms)
{
	unsigned long long limit = test_now_ms() + limit_ms;

	do {
		if (container_wait(container_start(&world, s, s->health)) == 0)
			return true;
		usleep(50000);
	} while (test_now_ms() < limit);
	return false;
}

/* In the order that depends_on asks for: a service is started when all it needs is as it should be. */
static void start(const struct compose_service *s)
{
	for (const struct compose_depends *d = s->depends; d->service != NULL; d++) {
		const struct compose_service *needed = compose_find(world.compose, d->service);

		if (pids[place_of(needed)] == 0)
			start(needed);
		if (strcmp(d->condition, "service_healthy") == 0) {
			if (!is_healthy(needed, 30000))
				fail_with_log("not healthy", needed->name);
		} else if (strcmp(d->condition, "service_completed_successfully") == 0) {
			if (pids[place_of(needed)] > 0 &&
			    container_wait(pids[place_of(needed)]) != 0)
				fail_with_log("it failed", needed->name);
			pids[place_of(needed)] = -1; /* over and done */
		} else
			fail_with_log(d->condition, s->name);
	}
	pids[place_of(s)] = container_start(&world, s, NULL);
}

static void start_all(void)
{
	for (unsigned i = 0; i < world.compose->n; i++)
		if (pids[i] == 0)
			start(&world.compose->services[i]);
	for (unsigned i = 0; i < world.compose->n; i++)
		if (pids[i] > 0 && world.compose->services[i].health[0] != NULL &&
		    !is_healthy(&world.compose->services[i], 30000))
			fail_with_log("not healthy", world.compose->services[i].name);
}

/* PostgreSQL last: the others would only log that it is gone. */
static void stop_all(void)
{
	for (unsigned i = 0; i < world.compose->n; i++) {
		bool last = strcmp(world.compose->services[i].name, "postgres") == 0;

		if (pids[i] > 0 && !last) {
			kill(pids[i], SIGTERM);
			cr_assert_eq(container_wait(pids[i]), 0, "%s",
			             world.compose->services[i].name);
		}
	}
	for (unsigned i = 0; i < world.compose->n; i++)
		if (pids[i] > 0 && strcmp(world.compose->services[i].name, "postgres") == 0) {
			kill(pids[i], SIGINT);
			container_wait(pids[i]);
		}
}

/* ---- the cells ---- */

static int ask_cells(void *arg)
{
	static const struct {
		const char *path, *body;
		bool        authenticated;
	} cells[] = {
		{ "/test/hello", "Hello World", false },
		{ "/bin/test/hello", "Hello World", false },
		{ "/content/test/hello", "Hello World", false },
		{ "/test/serviceuser", "Hello servlettest the message is Hello World", false },
		{ "/bin/test/serviceuser", "Hello servlettest the message is Hello World", false },
		{ "/content/test/serviceuser", "Hello servlettest the message is Hello World",
		  false },
		{ "/test/auth", "Hello admin the dam count is 5", true },
		{ "/bin/test/auth", "Hello admin the dam count is 5", true },
		{ "/content/test/auth", "Hello admin the dam count is 5", true },
	};
	struct http_response r;
	int                  wrong = 0;

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++) {
		http_ask_once(PORT, "GET", cells[i].path, cells[i].authenticated ? arg : NULL, &r);
		if (r.status != 200 || strcmp(r.body, cells[i].body) != 0) {
			fprintf(stderr, "%s: %d %s\n", cells[i].path, r.status, r.body);
			wrong++;
		}
		http_response_done(&r);
		http_ask_once(PORT, "GET", cells[i].path, NULL, &r);
		wrong += r.status != (cells[i].authenticated ? 401 : 200);
		http_response_done(&r);
	}
	return wrong;
}

static void check_cells(void)
{
	char *secret = read_text("secrets/admin_password"), credentials[128];

	snprintf(credentials, sizeof(credentials), "admin:%s", secret);
	cr_assert_eq(
		container_wait(container_call_in_network(&world, "edge", ask_cells, credentials)),
		0);
	free(secret);
}

/* ---- who reaches what ---- */

enum { RESOLVES = 1, CONNECTS = 2, OPENS_KEY = 4, SEES_FILES = 8, WRITES = 16, HAS_RIGHTS = 32 };

static bool connects_to_postgres(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons(5432),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

/* In a service's place: what is possible from there. */
static int look_around(void *arg)
{
	struct addrinfo *addresses;
	char             line[256];
	FILE            *status = fopen("/proc/self/status", "re");
	int              can = 0;

	(void)arg;
	can |= getaddrinfo("postgres", "5432", NULL, &addresses) == 0 ? RESOLVES : 0;
	can |= connects_to_postgres() ? CONNECTS : 0;
	can |= open("/run/secrets/handle_key", O_RDONLY | O_CLOEXEC) >= 0 ? OPENS_KEY : 0;
	can |= access("/var/lib/boardwalk/postgresql", F_OK) == 0 ? SEES_FILES : 0;
	can |= open("/opt/boardwalk/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? WRITES : 0;
	can |= open("/var/lib/boardwalk/bundles/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0
	               ? WRITES
	               : 0;
	can |= open("/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? WRITES : 0;
	can |= open("/run/boardwalk/auth/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? WRITES
	                                                                                : 0;
	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, "CapEff:", 7) == 0 || strncmp(line, "CapPrm:", 7) == 0)
			can |= strtoull(line + 7, NULL, 16) != 0 ? HAS_RIGHTS : 0;
	return can;
}

static void check_reach(const char *service, int want)
{
	const struct compose_service *s = compose_find(world.compose, service);
	int can = container_wait(container_call(&world, s, look_around, NULL));

	cr_assert_eq(can, want, "%s: can %d, should %d", service, can, want);
}

/* The operator's commands, in the place of `migrate`: the gateway's own bundle is updated, and what is
 * installed outlives the gateway. */
static void operate(void)
{
	static const char *const update[] = { "boardwalk", "bundle", "update",
		                              "/opt/boardwalk/bundles/demo.so", NULL };
	static const char *const list[] = { "boardwalk", "bundle", "list", NULL };
	static const char *const route[] = {
		"boardwalk", "ctl", "route", "GET", "/test/hello", NULL
	};
	const struct compose_service *migrate = compose_find(world.compose, "migrate");
	const struct compose_service *gateway = compose_find(world.compose, "gateway");

	cr_assert_eq(container_wait(container_start(&world, migrate, update)), 0, "%s",
	             read_text("log"));
	cr_assert_eq(container_wait(container_start(&world, migrate, route)), 0);
	/* The gateway is not its own operator. */
	cr_assert_eq(container_wait(container_start(&world, gateway, list)), 1);
	kill(pids[place_of(gateway)], SIGTERM);
	cr_assert_eq(container_wait(pids[place_of(gateway)]), 0);
	pids[place_of(gateway)] = container_start(&world, gateway, NULL);
	cr_assert(is_healthy(gateway, 30000));
	cr_assert_eq(container_wait(container_start(&world, migrate, list)), 0, "%s",
	             read_text("log"));
	check_cells();
}

Test(compose, file_confines_every_service)
{
	const struct compose *c = compose_read(BOARDWALK_SOURCE "/docker-compose.yml");

	cr_assert_eq(c->n, 5);
	for (unsigned i = 0; i < c->n; i++) {
		const struct compose_service *s = &c->services[i];
		bool                          edge = strcmp(s->name, "gateway") == 0;

		cr_assert(s->read_only && s->no_capabilities && s->no_new_privileges && s->has_init,
		          "%s", s->name);
		cr_assert_str_eq(s->network, edge ? "edge" : "data", "%s", s->name);
		cr_assert(s->health[0] != NULL || strcmp(s->name, "migrate") == 0,
		          "%s: no health check", s->name);
		cr_assert(!edge || s->secrets[0] == NULL, "the gateway holds a secret");
		for (unsigned k = 0; k < i; k++) /* migrate and postgres are both the owner's */
			cr_assert(c->services[k].uid != s->uid || s->uid == 10000,
			          "%s and %s are one user", s->name, c->services[k].name);
	}
}

Test(compose, serves_the_nine_cells_and_keeps_the_gateway_from_database_and_key)
{
	const struct compose_service *auth;

	if (geteuid() != 0)
		cr_skip("namespaces need root");
	container_world_init(&world, compose_read(BOARDWALK_SOURCE "/docker-compose.yml"));
	start_all();
	check_cells();
	check_reach("gateway", 0);
	check_reach("auth", RESOLVES | CONNECTS | OPENS_KEY | WRITES); /* its own socket's folder */
	check_reach("repo", RESOLVES | CONNECTS | OPENS_KEY);

	operate();

	/* The dead one's socket is still in the volume. */
	auth = compose_find(world.compose, "auth");
	kill(pids[place_of(auth)], SIGKILL);
	cr_assert_eq(container_wait(pids[place_of(auth)]), 128 + SIGKILL);
	cr_assert(!is_healthy(auth, 0));
	pids[place_of(auth)] = container_start(&world, auth, NULL);
	cr_assert(is_healthy(auth, 30000));
	cr_assert(is_healthy(compose_find(world.compose, "gateway"), 30000));
	check_cells();

	stop_all();
	char *log = read_text("log");
	cr_assert_null(strstr(log, "Sanitizer"), "%s", log);
	free(log);
	container_world_done(&world);
}
