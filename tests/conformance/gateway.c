/* gateway.c - the server of a row as a real one: a gateway process with the test bundle
 * (bundle/rows.c), asked over HTTP (gateway_http.c).
 *
 * With one worker, steps are orders to the running gateway; with several, a gateway is started whose
 * bundle takes them in its start, and only what comes after a request that blocks is ordered from each
 * worker.
 *
 * Owns: the gateway. Fails with: exit status 2 if it does not do as it is told. Tests: every row file. */
#include "gateway_impl.h"
#include "world.h"

#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/gateway.h>

static struct test_gateway gateway;
static bool                running;
static unsigned            n_workers, looked_at;
static char                settings[512]; /* of the gateway: settings_of */
static struct words        taken; /* several workers: all steps of this server, with "mark" */
static struct words        done;  /* those that a restart takes again: they made this server */

void gateway_give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	if (running) {
		test_gateway_print_log(&gateway);
		test_gateway_discard(&gateway);
	}
	exit(2);
}

/* ---- the server ---- */

static void stop(void)
{
	if (!running)
		return;
	gateway_end_blocked();
	gateway_close_all();
	records_forget();
	running = false;
	if (!test_gateway_stop(&gateway))
		gateway_give_up("the gateway did not end well");
}

/* "setting NAME=value" of the steps becomes a variable of the environment, which goes before the file:
 * BOARDWALK_GATEWAY_NAME=value, a line each. */
static char *settings_of(struct words before, struct words steps)
{
	char *text = text_printf("%s", "");

	for (size_t i = 0; i < before.n + steps.n; i++) {
		const char *step = i < before.n ? before.items[i] : steps.items[i - before.n];
		char       *line;

		if (!text_begins(step, "setting "))
			continue;
		line = text_printf("BOARDWALK_GATEWAY_%s\n", step + strlen("setting "));
		for (char *c = line; *c && *c != '='; c++)
			*c = (char)toupper((unsigned char)*c);
		text = text_printf("%s%s", text, line);
	}
	return text;
}

static void start(const char *steps_file)
{
	static const char *const bundles[] = { "rows_a", "rows_b", "rows", NULL };
	struct words             environment = text_split(settings, "\n");

	if (steps_file)
		words_add(&environment, text_printf("BOARDWALK_ROWS_STEPS=%s", steps_file));
	words_add(&environment, NULL);
	test_gateway_start(&gateway,
	                   &(struct test_gateway_options){
				   .workers = n_workers,
				   .bundles = bundles,
				   .settings = "  engine: false\n  upload_folders: [/tmp]\n",
				   .environment = (const char *const *)environment.items,
			   });
	running = true;
	gateway_greet(); /* the starts of their bundles are over then */
}

/* Are they those of the running gateway? */
static bool use_settings(const char *text)
{
	bool same = strcmp(settings, text) == 0;

	if (!same && (size_t)snprintf(settings, sizeof(settings), "%s", text) >= sizeof(settings))
		gateway_give_up("too many settings: %s", text);
	return same;
}

void world_start(unsigned n)
{
	if (n == 0 || n > GATEWAY_MAX_WORKERS)
		gateway_give_up("1 to %d workers", GATEWAY_MAX_WORKERS);
	n_workers = n;
	use_settings(settings_of((struct words){ NULL, 0 }, (struct words){ NULL, 0 }));
	if (n == 1)
		start(NULL);
}

/* The whiteboard of a gateway ends with its worker. */
bool world_can(const char *step)
{
	return strcmp(step, "restart within") != 0;
}

/* Does a step say what is there, so that it can be taken at any time? */
static bool is_lasting(const char *step)
{
	static const char *const others[] = { "setting ", "start ",  "told ", "load ",
		                              "unload ",  "restart", "mark" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (text_begins(step, others[i]))
			return false;
	return true;
}

static void start_with_file(struct words steps)
{
	char  file[] = "/tmp/boardwalk-rows-XXXXXX";
	int   fd = mkstemp(file);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!out)
		gateway_give_up("%s", file);
	for (size_t i = 0; i < steps.n; i++)
		fprintf(out, "%s\n", steps.items[i]);
	fclose(out);
	start(file);
	remove(file);
}

/* Ends it while requests run, which it answers before; another one takes its place. */
static void restart(void)
{
	kill(gateway.pid, SIGTERM);
	gateway_await_blocked();
	stop();
	start_with_file(done);
}

static void load(const char *bundle)
{
	if (!test_gateway_install(&gateway, bundle, text_printf("rows_%s", bundle)))
		gateway_give_up("bundle %s cannot be loaded", bundle);
}

static void unload(const char *bundle)
{
	if (!test_gateway_uninstall(&gateway, bundle))
		gateway_give_up("bundle %s cannot be unloaded", bundle);
}

/* Those that are not for each worker. */
static bool take_once(const char *step)
{
	if (strcmp(step, "restart") == 0)
		restart();
	else if (text_begins(step, "load "))
		load(step + strlen("load "));
	else if (text_begins(step, "unload "))
		unload(step + strlen("unload "));
	else
		return text_begins(step, "setting ");
	return true;
}

static void take(const char *step)
{
	records_forget();
	if (take_once(step))
		return;
	if (is_lasting(step))
		words_add(&done, text_printf("%s", step));
	for (unsigned i = 0; i < n_workers; i++)
		if (text_begins(step, "start "))
			gateway_start_request(i, step + strlen("start "));
		else if (text_begins(step, "told "))
			gateway_must(i, "told", step + strlen("told "));
		else if (strcmp(step, "mark") == 0)
			gateway_must(i, "mark", "");
		else
			gateway_must(i, "step", step);
}

static void take_all(struct words steps)
{
	for (size_t i = 0; i < steps.n; i++)
		take(steps.items[i]);
}

/* A gateway whose bundle takes them in its start, up to the first that is for what runs already. */
static void start_with(struct words steps)
{
	struct words first = { NULL, 0 };
	size_t       n = 0;

	done = (struct words){ NULL, 0 };
	for (; n < steps.n; n++) {
		char *step = steps.items[n];

		if (is_lasting(step))
			words_add(&done, text_printf("%s", step));
		else if (strcmp(step, "mark") != 0 && !text_begins(step, "setting "))
			break;
		if (!text_begins(step, "setting "))
			words_add(&first, step);
	}
	start_with_file(first);
	take_all((struct words){ steps.items + n, steps.n - n });
}

static void add_steps(struct words steps)
{
	words_add(&taken, text_printf("mark"));
	for (size_t i = 0; i < steps.n; i++)
		words_add(&taken, steps.items[i]);
}

static bool are_same(struct words a, struct words b)
{
	size_t i = 0;

	while (i < a.n && i < b.n && strcmp(a.items[i], b.items[i]) == 0)
		i++;
	return a.n == b.n && i == a.n;
}

static void begin_anew(struct words before, struct words steps)
{
	struct words old = taken;

	taken = (struct words){ NULL, 0 };
	for (size_t i = 0; i < before.n; i++)
		words_add(&taken, before.items[i]);
	add_steps(steps);
	if (running && steps.n == 0 && are_same(old, taken)) {
		take("mark"); /* a row with requests only: the server is as it was for the last one */
		return;
	}
	stop();
	start_with(taken);
}

void world_begin(struct words before, struct words steps)
{
	bool same = use_settings(settings_of(before, steps));

	if (n_workers > 1) {
		begin_anew(before, steps);
		return;
	}
	if (!same) {
		stop();
		start(NULL);
	}
	done = (struct words){ NULL, 0 };
	gateway_end_blocked();
	gateway_must(0, "end", "");
	gateway_must(0, "forget", "");
	take_all(before);
	world_go_on(steps);
}

void world_go_on(struct words steps)
{
	if (n_workers > 1) {
		add_steps(steps);
		stop();
		start_with(taken);
		return;
	}
	take("mark");
	records_mark();
	take_all(steps);
}

void world_done(void)
{
	stop();
	records_done();
	text_free_all();
}

#define PATIENCE_MS 5000

char *world_process(const char *question, const char *want)
{
	char    *name, *argument;
	bool     is, wanted = strcmp(want, "yes") == 0;
	unsigned waited = 0;

	text_call(question, &name, &argument);
	do {
		is = strcmp(name, "mapped") == 0
		             ? test_gateway_maps(&gateway, argument)
		             : test_gateway_logged(&gateway, text_value(argument));
		if (is == wanted)
			return NULL;
		poll(NULL, 0, 10);
		waited += 10;
	} while (waited < PATIENCE_MS);
	return text_printf("%s %s", question, is ? "yes" : "no");
}

unsigned world_workers(void)
{
	return n_workers;
}

void world_look_at(unsigned worker)
{
	looked_at = worker;
}

bool world_ask(const char *question, const char **ret)
{
	char *text;
	int   status = gateway_tell(looked_at, "ask", question, &text);

	*ret = status == 204 ? NULL : text;
	return status == 200 || status == 204;
}

/* ---- for the others ---- */

const char *world_spool(void)
{
	return gateway.root;
}

unsigned gateway_port(void)
{
	return gateway.port;
}

struct json_t *gateway_order(const char *request)
{
	struct json_t *all = test_gateway_order(&gateway, request);

	if (!all)
		gateway_give_up("the gateway does not answer %s", request);
	return all;
}

unsigned gateway_worker(void)
{
	return looked_at;
}
