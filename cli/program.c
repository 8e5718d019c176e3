/* program.c - what each child is told, and by which way.
 *
 * The environment is made from nothing. A child reads the same file as the operator wrote; what the
 * supervisor decides goes above it as variables, which have precedence in base/conf.h.
 *
 * Owns: struct program. Runs in: the supervisor, before its loop. Fails with: false after a line on
 * stderr. Tests: tests/unit/cli/program_test.c. */
#include "program.h"

#include <base/fatal.h>
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster.h"

/* Passed on to every child if they are set. */
static const char *const passed[] = { "TZ", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS" };

static size_t count(char *const *list)
{
	size_t n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

static void add(char ***list, char *item)
{
	size_t n = *list != NULL ? count(*list) : 0;

	*list = xrealloc(*list, (n + 2) * sizeof(**list));
	(*list)[n] = item;
	(*list)[n + 1] = NULL;
}

__attribute__((format(printf, 2, 3))) static void add_printf(char ***list, const char *format, ...)
{
	char   *item;
	va_list args;

	va_start(args, format);
	if (vasprintf(&item, format, args) < 0)
		fatalx("out of memory");
	va_end(args);
	add(list, item);
}

/* Whether the list has a variable of that name, "NAME=..." or "NAME". */
static bool has_variable(char *const *list, const char *name)
{
	size_t n = strcspn(name, "=");

	for (size_t i = 0; list[i] != NULL; i++)
		if (strncmp(list[i], name, n) == 0 && list[i][n] == '=')
			return true;
	return false;
}

static void add_base(char ***environment)
{
	add(environment, xstrdup("PATH=/usr/bin:/bin"));
	add(environment, xstrdup("LC_ALL=C.UTF-8"));
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (getenv(passed[i]) != NULL)
			add_printf(environment, "%s=%s", passed[i], getenv(passed[i]));
}

/* BOARDWALK_GATEWAY_... for the gateway and so on, unless we have decided that setting. */
static void add_operators(char ***environment, const char *section)
{
	char  *prefix = xasprintf("BOARDWALK_%s_", section);
	size_t n = strlen(prefix);

	for (char *c = prefix; *c != '\0'; c++)
		*c = (char)toupper((unsigned char)*c);
	for (char **variable = environ; *variable != NULL; variable++)
		if (strncmp(*variable, prefix, n) == 0 && !has_variable(*environment, *variable))
			add(environment, xstrdup(*variable));
	free(prefix);
}

/* As an ordinary user nobody changes user, and the gateway is who we are. */
static const char *user_or(const struct instance *instance, const char *user, const char *otherwise)
{
	return instance->separated ? user : otherwise;
}

static void add_gateway(char ***e, const struct instance *instance)
{
	const struct cli_settings *s = instance->settings;

	add_printf(e, "BOARDWALK_GATEWAY_USER=%s", user_or(instance, s->gateway_user, ""));
	add_printf(e, "BOARDWALK_GATEWAY_LISTEN=%s", s->listen);
	add_printf(e, "BOARDWALK_GATEWAY_MANAGEMENT=%s", s->management);
	add_printf(e, "BOARDWALK_GATEWAY_AUTH_SOCKET=%s/auth/auth.sock", instance->run);
	add_printf(e, "BOARDWALK_GATEWAY_REPO_SOCKET=%s/repo/repo.sock", instance->run);
	add_printf(e, "BOARDWALK_GATEWAY_SPOOL=%s/spool", instance->data);
	add_printf(e, "BOARDWALK_GATEWAY_STORE=%s/bundles", instance->data);
	add_printf(e, "BOARDWALK_GATEWAY_CONTROL_SOCKET=%s/gateway/control.sock", instance->run);
	add_printf(e, "BOARDWALK_GATEWAY_OWNER=%s", user_or(instance, s->user, ""));
}

/* auth and repo have the same needs under their own names. */
static void add_answering(char ***e, const struct instance *instance, const char *name,
                          const char *upper, const char *user, const char *conninfo)
{
	const struct passwd *own = getpwuid(geteuid());
	const char          *own_name = own != NULL ? own->pw_name : "";

	add_printf(e, "BOARDWALK_%s_USER=%s", upper, user_or(instance, user, ""));
	add_printf(e, "BOARDWALK_%s_SOCKET=%s/%s/%s.sock", upper, instance->run, name, name);
	add_printf(e, "BOARDWALK_%s_GATEWAY_USER=%s", upper,
	           user_or(instance, instance->settings->gateway_user, own_name));
	add_printf(e, "BOARDWALK_%s_KEY_FILE=%s/keys/handle.key", upper, instance->data);
	if (strcmp(name, "auth") == 0)
		add_printf(e, "BOARDWALK_AUTH_SESSION_KEY_FILE=%s/keys/session.key",
		           instance->data);
	add_printf(e, "%s_DATABASE_URL=%s", upper, conninfo);
}

char *program_folder(const struct cli_settings *settings)
{
	char    own[4096], *slash;
	ssize_t n;

	if (*settings->bin != '\0')
		return realpath(settings->bin, NULL);
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	if (n < 0)
		return NULL;
	own[n] = '\0';
	slash = strrchr(own, '/');
	*slash = '\0';
	return xstrdup(own);
}

bool program_make(struct program *ret, const struct cli *cli, const struct instance *instance,
                  const char *section)
{
	const struct cli_settings *s = instance->settings;
	char                      *folder = program_folder(s);
	char *config = cli->config != NULL ? realpath(cli->config, NULL) : NULL;
	bool  done = true;

	*ret = (struct program){ NULL, NULL };
	if (folder == NULL)
		return complain_errno("%s", s->bin);
	add_printf(&ret->arguments, "%s/boardwalk-%s", folder, section);
	if (config != NULL) {
		add(&ret->arguments, xstrdup("--config"));
		add(&ret->arguments, config);
	}
	if (access(ret->arguments[0], X_OK) != 0)
		done = complain_errno("%s", ret->arguments[0]);
	free(folder);
	add_base(&ret->environment);
	add(&ret->environment, xstrdup("BOARDWALK_DIE_WITH_PARENT=1"));
	if (strcmp(section, "gateway") == 0)
		add_gateway(&ret->environment, instance);
	else if (strcmp(section, "auth") == 0)
		add_answering(&ret->environment, instance, "auth", "AUTH", s->auth_user,
		              instance->auth_conninfo);
	else
		add_answering(&ret->environment, instance, "repo", "REPO", s->repo_user,
		              instance->repo_conninfo);
	add_operators(&ret->environment, section);
	return done;
}

void program_make_cluster(struct program *ret, const struct instance *instance, const char *server,
                          const char *notify)
{
	*ret = (struct program){ cluster_arguments(instance, server), NULL };
	add_base(&ret->environment);
	add_printf(&ret->environment, "NOTIFY_SOCKET=%s", notify);
}

static void free_list(char **list)
{
	for (char **item = list; item != NULL && *item != NULL; item++)
		free(*item);
	free(list);
}

void program_done(struct program *program)
{
	free_list(program->arguments);
	free_list(program->environment);
	program->arguments = program->environment = NULL;
}
