/* Logins against their rows: a whole instance, with the login bundle and one that says who asks.
 *
 * Usage: conformance_login FILE... ; login.rows explains the lines. Each file has an instance of its own.
 * Fails if a row fails, if a line is not understood, or if there was none. */
#include "exchange.h"
#include "idp.h"
#include "vars.h"

#include <base/buf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/instance.h>
#include <support/liar.h>
#include <unistd.h>

#define MAX_FIELDS 6
#define MAX_LINES  32
#define PATIENCE   30000 /* ms for what takes its time */

static const struct test_instance_options options = { .bundle = "who" };

static struct test_instance instance;
static bool                 is_made, is_up;
static unsigned             passed, failed;

/* Lines of boardwalk.yaml: section, key and the rest. */
static struct {
	char *section, *key, *value;
} settings[MAX_LINES];
static size_t n_settings;

static size_t split(char *text, const char *separator, char **ret, size_t max)
{
	size_t n = 0;

	while (text != NULL && n < max) {
		char *at = n + 1 < max ? strstr(text, separator) : NULL;

		ret[n++] = text;
		if (at != NULL)
			*at = '\0';
		text = at != NULL ? at + strlen(separator) : NULL;
	}
	return n;
}

/* ---- the instance ---- */

static void write_settings(void)
{
	static const char *const sections[] = { "gateway", "auth", "repo" };
	char                    *file = xasprintf("%s/boardwalk.yaml", instance.root);
	FILE                    *out = fopen(file, "w");

	if (out == NULL)
		fatal("%s", file);
	for (size_t k = 0; k < 3; k++) {
		bool has_head = false;

		for (size_t i = 0; i < n_settings; i++) {
			if (strcmp(settings[i].section, sections[k]) != 0)
				continue;
			fprintf(out, "%s%s%s  %s: %s\n", has_head ? "" : sections[k],
			        has_head ? "" : ":\n", "", settings[i].key, settings[i].value);
			has_head = true;
		}
	}
	if (fclose(out) != 0)
		fatal("%s", file);
	free(file);
}

static void command(const char *const *arguments)
{
	char *said = NULL;

	if (test_instance_cli(&instance, NULL, &said, arguments) != 0)
		fatalx("%s %s: %s", arguments[0], arguments[1], said);
	free(said);
}

/* The first time from a template, with what that has, to be ended again. */
static void make(void)
{
	test_instance_start(&instance, &options);
	command((const char *[]){ "bundle", "install", LOGIN_BUNDLE, NULL });
	is_made = true;
	is_up = true;
}

static void down(void)
{
	if (is_up && test_instance_end(&instance) != 0)
		fatalx("the instance ends badly");
	is_up = false;
}

static void up(void)
{
	char *host;

	if (is_up)
		return;
	if (!is_made)
		make();
	down();
	write_settings();
	if (!test_instance_up(&instance, &options))
		fatalx("the instance does not start; its log is %s/log", instance.root);
	is_up = true;
	host = xasprintf("127.0.0.1:%u", instance.port);
	vars_set("host", host, strlen(host));
	free(host);
}

/* ---- lines that prepare ---- */

/* config | SECTION | KEY: VALUE */
static void run_config(const char *section, char *line)
{
	char  *colon = strstr(line, ": ");
	size_t i = 0;

	if (colon == NULL)
		fatalx("%s is no setting", line);
	*colon = '\0';
	while (i < n_settings &&
	       (strcmp(settings[i].section, section) != 0 || strcmp(settings[i].key, line) != 0))
		i++;
	if (i == MAX_LINES)
		fatalx("too many settings");
	if (i == n_settings) {
		settings[n_settings].section = xstrdup(section);
		settings[n_settings++].key = xstrdup(line);
	}
	free(settings[i].value);
	settings[i].value = xstrdup(colon + 2);
	down();
}

static void forget_settings(void)
{
	for (size_t i = 0; i < n_settings; i++) {
		free(settings[i].section);
		free(settings[i].key);
		free(settings[i].value);
		settings[i].value = NULL;
	}
	n_settings = 0;
}

/* cli | WORDS */
static void run_cli(char *words)
{
	char  *arguments[16];
	size_t n = split(words, " ", arguments, 15);

	arguments[n] = NULL;
	up();
	command((const char *const *)arguments);
}

/* repoinit | LINES, parted by " ; " */
static void run_repoinit(char *lines)
{
	char      *line[32];
	size_t     n = split(lines, " ; ", line, 32);
	struct buf script;

	up();
	buf_init(&script);
	for (size_t i = 0; i < n; i++)
		buf_printf(&script, "%s\n", line[i]);
	buf_append(&script, "", 1);
	test_instance_repoinit(&instance, (char *)buf_data(&script));
	buf_done(&script);
}

/* install | a bundle of tests/support/bundles */
static void run_install(const char *name)
{
	char *file = xasprintf("%s/%s.so", TEST_BUNDLES, name);

	up();
	command((const char *[]){ "bundle", "install", file, NULL });
	free(file);
}

/* kill | auth or repo: it ends, and nobody starts another one until revive. */
static pid_t killed;
static char  killed_name[16];

static void run_kill(const char *name)
{
	up();
	killed = test_instance_pid(&instance, name);
	snprintf(killed_name, sizeof(killed_name), "%s", name);
	if (killed <= 0 || kill(instance.supervisor, SIGSTOP) != 0 || kill(killed, SIGKILL) != 0)
		fatal("%s", name);
	instance.crashes_on_purpose = true;
}

static void run_revive(void)
{
	kill(instance.supervisor, SIGCONT);
	if (!test_instance_recovered(&instance, killed_name, killed, PATIENCE))
		fatalx("%s does not come back", killed_name);
}

/* ---- handles ---- */

/* handle | id | USER:PASSWORD | path | own or other connection | ok, or the error: what repo answers to a
 * gateway that shows the handle of that login. */
static void run_handle(char *f[MAX_FIELDS])
{
	static struct liar        l, other;
	static struct liar_answer answer;
	struct liar_handle        h;
	char                      auth[128], repo[128];
	char                     *password = strchr(f[2], ':');
	bool                      is_other = strncmp(f[4], "other", 5) == 0;
	const char               *got;

	up();
	*password++ = '\0';
	test_instance_socket(&instance, "auth/auth.sock", auth, sizeof(auth));
	test_instance_socket(&instance, "repo/repo.sock", repo, sizeof(repo));
	if (!liar_open(&l, repo, auth, "boardwalk-gateway") ||
	    !liar_open(&other, repo, auth, "boardwalk-gateway") ||
	    liar_login(&l, f[2], password, &h) != BW_OK)
		fatalx("%s: no login", f[1]);
	liar_get(is_other ? &other : &l, &h, true, f[3], &answer);
	liar_close(&other);
	liar_close(&l);
	got = answer.err == BW_OK ? "ok" : wire_err_text(answer.err);
	if (got != NULL && strcmp(got, f[5]) == 0) {
		passed++;
		return;
	}
	failed++;
	printf("%s: want \"%s\", got \"%s\"\n", f[1], f[5], got != NULL ? got : "nothing");
}

/* ---- rows ---- */

/* Once; the fields are left as they are. */
static bool try_row(char *f[MAX_FIELDS], char **why)
{
	char *line = xstrdup(f[2]), *fields = xstrdup(f[3]), *expected = xstrdup(f[4]);
	bool  good = exchange_run(&instance, line, fields, expected, why);

	free(expected);
	free(fields);
	free(line);
	return good;
}

/* soon: what has to become so, since another process is told of it behind its answer. */
static void run_row(char *f[MAX_FIELDS])
{
	unsigned long long limit = test_now_ms() + (strcmp(f[0], "soon") == 0 ? PATIENCE : 0);
	char              *why = NULL;
	bool               good;

	up();
	if (strcmp(f[0], "ask") == 0)
		exchange_forget_cookies();
	while (!(good = try_row(f, &why)) && test_now_ms() < limit) {
		free(why);
		usleep(50000);
	}
	if (good) {
		passed++;
	} else {
		failed++;
		printf("%s: %s\n", f[1], why);
		free(why);
	}
}

static bool is_row(const char *word)
{
	return strcmp(word, "ask") == 0 || strcmp(word, "then") == 0 || strcmp(word, "soon") == 0;
}

static bool run_known(char *f[MAX_FIELDS], size_t n)
{
	if (n == 5 && is_row(f[0]))
		run_row(f);
	else if (n == 6 && strcmp(f[0], "handle") == 0)
		run_handle(f);
	else if (n == 3 && strcmp(f[0], "config") == 0)
		run_config(f[1], f[2]);
	else if (n == 3 && strcmp(f[0], "save") == 0)
		exchange_save(f[1], f[2]);
	else if (n == 3 && strcmp(f[0], "account") == 0)
		up(), test_instance_password(&instance, f[1], f[2]);
	else if (n == 2 && strcmp(f[0], "cli") == 0)
		run_cli(f[1]);
	else if (n == 2 && strcmp(f[0], "repoinit") == 0)
		run_repoinit(f[1]);
	else if (n == 2 && strcmp(f[0], "install") == 0)
		run_install(f[1]);
	else if (n == 2 && strcmp(f[0], "kill") == 0)
		run_kill(f[1]);
	else if (n == 1 && strcmp(f[0], "revive") == 0)
		run_revive();
	else if (n == 1 && strcmp(f[0], "restart") == 0)
		down();
	else
		return false;
	return true;
}

static void run_line(const char *file, unsigned number, char *line)
{
	char  *f[MAX_FIELDS];
	size_t n;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return;
	n = split(line, " | ", f, MAX_FIELDS);
	if (!run_known(f, n)) {
		fprintf(stderr, "%s:%u: not understood\n", file, number);
		exit(2);
	}
}

static char *idp_file; /* keys of the issuer of bearer tokens */

static void begin(void)
{
	char anonymous[] = "anonymous: true", workers[] = "workers: 1";
	char closed[] = "requirements: [\"+/board\"]",
	     proxies[] = "trusted_proxies: [\"127.0.0.1\"]";
	char free_of_charge[] = "throttle_failures: 0",
	     of_addresses[] = "throttle_address_failures: 0";
	char *issuers;

	run_config("gateway", anonymous);
	run_config("gateway", workers);
	run_config("gateway", closed);
	run_config("gateway", proxies);
	run_config("auth", free_of_charge);
	run_config("auth", of_addresses);
	issuers = xasprintf("issuers: [\"https://idp.example audience=board keys=%s\"]", idp_file);
	run_config("auth", issuers);
	free(issuers);
}

static void run_file(const char *file)
{
	FILE    *in = fopen(file, "r");
	char    *line = NULL;
	size_t   size = 0;
	unsigned number = 0;

	if (in == NULL)
		fatal("%s", file);
	begin();
	while (getline(&line, &size, in) >= 0)
		run_line(file, ++number, line);
	free(line);
	fclose(in);
	if (is_made)
		test_instance_stop(&instance);
	is_made = is_up = false;
	forget_settings();
	exchange_forget_all();
}

int main(int argc, char **argv)
{
	log_init("conformance", LOG_LEVEL_ERROR);
	idp_file = idp_write_keys();
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	idp_remove_keys(idp_file);
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
