/* Authentication against its rows: the real requirement table, and requests through the whiteboard,
 * the authenticator and the engine; auth is a fake.
 *
 * Usage: conformance_security FILE... ; the files explain their lines. Fails if a row fails, if a line
 * is not understood, or if there was none. */
#include <base/fatal.h>
#include <base/log.h>
#include <boardwalk/auth.h>
#include <gateway/security/security.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit/engine/fake.h"

#define MAX_FIELDS 8
#define MAX_ITEMS  16

static unsigned passed, failed;

static void verdict(const char *id, bool good, const char *detail)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("%s: %s\n", id, detail);
}

/* Cuts text at each separator; returns the number of items. */
static size_t split(char *text, const char *separator, char **items, size_t max)
{
	size_t n = 0;

	while (text != NULL && n < max) {
		char *at = strstr(text, separator);

		items[n++] = text;
		if (at != NULL)
			*at = '\0';
		text = at != NULL ? at + strlen(separator) : NULL;
	}
	return n;
}

/* ---- requirements ---- */

static void use_settings(bool anonymous, char *rules, char **items)
{
	fake_settings.anonymous = anonymous;
	fake_settings.requirements = (struct conf_list){ items, 0 };
	if (strcmp(rules, "-") != 0)
		fake_settings.requirements.n = split(rules, ", ", items, MAX_ITEMS);
}

static void register_rules(struct registry *r, char *rules)
{
	static int                     type; /* any object will do */
	const char *const              interfaces[] = { "test.rules", NULL };
	const struct bw_service_object object = { .type = &type };
	char                          *items[MAX_ITEMS + 1];
	struct bw_prop prop = { BW_AUTH_REQUIREMENTS, BW_PROP_STRINGS, { .string = NULL } };

	items[split(rules, ",", items, MAX_ITEMS)] = NULL;
	prop.u.strings = (const char *const *)items;
	if (registry_register(r, NULL, interfaces, &object, &prop, 1, NULL) != BW_OK)
		fatalx("rules cannot be registered");
}

/* What is asked for: a path of http://h, or scheme://host/path. */
static bool ask(const char *target)
{
	const char *host = strstr(target, "://"),
		   *path = host != NULL ? strchr(host + 3, '/') : NULL;
	struct bw_req *req = request_new();

	req->scheme = BW_STR("http");
	req->host = BW_STR("h");
	if (path == NULL)
		return security_is_required(req, bw_str(target));
	req->scheme = (struct bw_str){ target, (size_t)(host - target) };
	req->host = (struct bw_str){ host + 3, (size_t)(path - host - 3) };
	return security_is_required(req, bw_str(path));
}

/* The answer comes as the exit status of a child: settings that are refused end the process. services:
 * the rules of registrations parted by " ; ", or NULL. */
static const char *ask_child(bool anonymous, char *rules, char *services, const char *path)
{
	pid_t pid = fork();
	int   status;

	if (pid == 0) {
		char            *items[MAX_ITEMS], *lists[MAX_ITEMS];
		struct registry *r = registry_new();
		size_t n = services != NULL ? split(services, " ; ", lists, MAX_ITEMS) : 0;

		log_init("conformance", 0);
		use_settings(anonymous, rules, items);
		security_init(r, &fake_settings);
		for (size_t i = 0; i < n; i++)
			register_rules(r, lists[i]);
		_exit(ask(path) ? 10 : 11);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return "crashed";
	switch (WEXITSTATUS(status)) {
	case 10:
		return "yes";
	case 11:
		return "no";
	default:
		return "refused";
	}
}

/* needs | id | anonymous | rules | path | answer, and with the rules of services before the path */
static void run_needs(char *f[MAX_FIELDS], bool with_services)
{
	char       *services = with_services ? f[4] : NULL;
	const char *path = f[with_services ? 5 : 4], *want = f[with_services ? 6 : 5];
	const char *got = ask_child(strcmp(f[2], "on") == 0, f[3], services, path);
	char        detail[128];

	snprintf(detail, sizeof(detail), "want %s, got %s", want, got);
	verdict(f[1], strcmp(want, got) == 0, detail);
}

/* ---- logins ---- */

/* A login page, as a bundle would register it. */
static void register_page(struct registry *r)
{
	static int                     type; /* any object will do */
	const char *const              interfaces[] = { "test.page", NULL };
	const struct bw_service_object object = { .type = &type };
	const struct bw_prop           props[] = {
			  { BW_AUTH_LOGIN_FORM, BW_PROP_STRING, { .string = "/system/sling/form/login" } },
			  { BW_AUTH_REQUIREMENTS, BW_PROP_STRING, { .string = "-/system/sling/form/login" } },
	};

	if (registry_register(r, NULL, interfaces, &object, props, 2, NULL) != BW_OK)
		fatalx("the login page cannot be registered");
}

static bool has_page = true;

static void start(void)
{
	static char *rules[] = { (char *)"+/board" };

	fake_settings.requirements = (struct conf_list){ rules, 1 };
	fake_forget();
	fake_content("/board", "t/one", NULL);
	fake_content("/pub", "t/one", NULL);
	fake_account("ada", "pw:1", false);
	fake_account("dis", "x", true);
	if (has_page)
		register_page(fake_start());
	else
		fake_start();
	fake_servlet("all", "resourceTypes=sling/servlet/default methods=*");
}

/* set | name | value: auth_http, anonymous and onexpire as in the settings; page: is there a login page? */
static void run_set(const char *name, const char *value)
{
	static char text[16];
	bool        is_on = strcmp(value, "on") == 0;

	fake_stop();
	if (strcmp(name, "auth_http") == 0) {
		snprintf(text, sizeof(text), "%s", value);
		fake_settings.auth_http = text;
	} else if (strcmp(name, "anonymous") == 0) {
		fake_settings.anonymous = is_on;
	} else if (strcmp(name, "onexpire") == 0) {
		fake_settings.form_onexpire_login = is_on;
	} else if (strcmp(name, "page") == 0) {
		has_page = is_on;
	} else {
		fatalx("there is no setting %s", name);
	}
	start();
}

static void set_auth(const char *name)
{
	static const struct {
		const char *name;
		int         value;
	} errors[] = { { "ok", BW_OK },
#define X(constant, value, dotted, status, text) { #constant, value },
		       BW_ERRORS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (strcmp(errors[i].name, name) == 0) {
			fake.auth = errors[i].value;
			return;
		}
	}
	fatalx("%s is no error", name);
}

static void encode_basic(const char *text, char *out, size_t size)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(text), at = (size_t)snprintf(out, size, "Basic ");

	for (size_t i = 0; i < n && at + 5 < size; i += 3) {
		uint32_t bits = (uint32_t)(uint8_t)text[i] << 16;

		bits |= i + 1 < n ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0;
		bits |= i + 2 < n ? (uint8_t)text[i + 2] : 0;
		out[at++] = alphabet[bits >> 18];
		out[at++] = alphabet[bits >> 12 & 63];
		out[at++] = i + 1 < n ? alphabet[bits >> 6 & 63] : '=';
		out[at++] = i + 2 < n ? alphabet[bits & 63] : '=';
	}
	out[at] = '\0';
}

/* name=value pairs as fake_request takes them. *ret_body: that of body=, a form. */
static void parse_headers(char *text, const char **headers, char *basic, size_t basic_size,
                          const char **ret_body)
{
	char  *items[MAX_ITEMS];
	size_t n = strcmp(text, "-") != 0 ? split(text, "; ", items, MAX_ITEMS / 2) : 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		char *equals = strchr(items[i], '=');

		*equals = '\0';
		if (strcmp(items[i], "basic") == 0) {
			encode_basic(equals + 1, basic, basic_size);
			headers[at++] = "authorization";
			headers[at++] = basic;
		} else if (strcmp(items[i], "body") == 0) {
			headers[at++] = "content-type";
			headers[at++] = "application/x-www-form-urlencoded";
			*ret_body = equals + 1;
		} else {
			headers[at++] = items[i];
			headers[at++] = equals + 1;
		}
	}
	headers[at] = NULL;
}

/* The first expectation about the answer's headers that does not hold, or NULL. */
static const char *check_headers(const struct bw_req *req, char *text)
{
	char  *items[MAX_ITEMS];
	size_t n = strcmp(text, "-") != 0 ? split(text, "; ", items, MAX_ITEMS) : 0;

	for (size_t i = 0; i < n; i++) {
		char         *equals = strchr(items[i], '=');
		size_t        length = strlen(items[i]);
		struct bw_str value;

		if (equals == NULL && items[i][length - 1] != '!')
			fatalx("%s: neither = nor !", items[i]);
		if (equals == NULL) {
			items[i][length - 1] = '\0';
			if (fake_response_header(req, items[i]).p != NULL)
				return items[i];
			continue;
		}
		*equals++ = '\0';
		value = fake_response_header(req, items[i]);
		if (value.n < strlen(equals) || memcmp(value.p, equals, strlen(equals)) != 0)
			return items[i];
	}
	return NULL;
}

/* A servlet runs exactly for who is let in, and a user has a type. */
static bool is_consistent(const struct bw_req *req)
{
	bool validated = req->status == 200 && req->resolver == NULL;

	if ((req->status == 200) != (fake_called[0] != '\0') && !validated)
		return false;
	return (req->remote_user.p != NULL) == (req->auth_type.p != NULL);
}

/* login | id | METHOD target | headers | status | user | answer's headers */
/* Of a login nothing of the body stays where libh2o has it. */
static bool is_wiped(const struct bw_req *req)
{
	static const struct bw_str suffix = BW_STR("/j_security_check");

	if (req->body_in == NULL || req->path.n < suffix.n ||
	    memcmp(req->path.p + req->path.n - suffix.n, suffix.p, suffix.n) != 0)
		return true;
	for (size_t i = 0; i < req->body_length; i++)
		if (req->body_in[i] != 0)
			return false;
	return true;
}

static void run_login(char *f[MAX_FIELDS])
{
	const char    *headers[MAX_ITEMS + 1], *wrong, *user;
	const char    *body = NULL;
	char           basic[256], detail[256], *target = strchr(f[2], ' ');
	struct bw_req *req;

	*target++ = '\0';
	parse_headers(f[3], headers, basic, sizeof(basic), &body);
	req = fake_request(f[2], target, headers);
	if (body != NULL) {
		req->body_in = (const uint8_t *)body;
		req->body_length = strlen(body);
	}
	whiteboard_serve(req);
	wrong = check_headers(req, f[6]);
	user = req->remote_user.p != NULL ? req->remote_user.p : "-";
	if (wrong == NULL && !is_wiped(req))
		wrong = "the body of a login is still there";
	snprintf(detail, sizeof(detail), "want %s as %s, got %d as %s%s%s", f[4], f[5], req->status,
	         user, wrong ? ", wrong: " : "", wrong ? wrong : "");
	verdict(f[1],
	        req->status == atoi(f[4]) && strcmp(user, f[5]) == 0 && wrong == NULL &&
	                is_consistent(req),
	        detail);
	fake_request_free(req);
}

/* ---- files ---- */

static void run_line(const char *file, unsigned number, char *line)
{
	char  *f[MAX_FIELDS];
	size_t n;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return;
	n = split(line, " | ", f, MAX_FIELDS);
	if (n == 6 && strcmp(f[0], "needs") == 0)
		run_needs(f, false);
	else if (n == 7 && strcmp(f[0], "services") == 0)
		run_needs(f, true);
	else if (n == 2 && strcmp(f[0], "auth") == 0)
		set_auth(f[1]);
	else if (n == 3 && strcmp(f[0], "set") == 0)
		run_set(f[1], f[2]);
	else if (n == 7 && strcmp(f[0], "login") == 0)
		run_login(f);
	else
		fatalx("%s:%u: not understood", file, number);
}

static void run_file(const char *file)
{
	FILE    *in = fopen(file, "r");
	char    *line = NULL;
	size_t   size = 0;
	unsigned number = 0;

	if (in == NULL)
		fatal("%s", file);
	while (getline(&line, &size, in) >= 0)
		run_line(file, ++number, line);
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	log_init("conformance", 0);
	/* The children of ask_child start before there is anything to inherit. */
	for (int i = 1; i < argc; i++)
		if (strstr(argv[i], "requirements") != NULL)
			run_file(argv[i]);
	fake_settings.anonymous = true;
	start();
	for (int i = 1; i < argc; i++)
		if (strstr(argv[i], "requirements") == NULL)
			run_file(argv[i]);
	fake_stop();
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
