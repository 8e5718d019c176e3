/* settings.c - the section `boardwalk` of the configuration.
 *
 * Owns: the settings of one call. Runs in: the CLI, before anything else.
 * Fails with: false after a line on stderr. Tests: tests/unit/cli/settings_test.c. */
#include "cli.h"

#include <base/fatal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct cli_settings, field)

const char *const cli_sections[] = { "gateway", "auth", "repo", "boardwalk", NULL };

const struct conf_key cli_keys[] = {
	{ "boardwalk.data", CONF_STRING, AT(data), "", 0, 0,
	  "data folder; empty: /var/lib/boardwalk for root, else ./var (--data)" },
	{ "boardwalk.run", CONF_STRING, AT(run), "", 0, 0,
	  "folder of the sockets, with a short path; empty: below /run, $XDG_RUNTIME_DIR or /tmp "
	  "(--run)" },
	{ "boardwalk.bin", CONF_STRING, AT(bin), "", 0, 0,
	  "folder of boardwalk-gateway, -auth and -repo; empty: beside this program (--bin)" },
	{ "boardwalk.bundles", CONF_STRING, AT(bundles), "", 0, 0,
	  "folder whose *.so `up` installs, each once for as long as its content is the same "
	  "(--bundles)" },
	{ "boardwalk.postgresql", CONF_STRING, AT(postgresql), "", 0, 0,
	  "folder of initdb and postgres; empty: the newest below /usr/lib/postgresql" },
	{ "boardwalk.listen", CONF_STRING, AT(listen), "127.0.0.1:8080", 0, 0,
	  "what `up` has the gateway listen on, instead of gateway.listen (--port P: "
	  "127.0.0.1:P)" },
	{ "boardwalk.management", CONF_STRING, AT(management), "127.0.0.1:8081", 0, 0,
	  "the same for gateway.management (--port P: 127.0.0.1:P+1)" },
	{ "boardwalk.user", CONF_STRING, AT(user), "boardwalk", 0, 0,
	  "started by root: the system user of PostgreSQL and of the owner's SQL" },
	{ "boardwalk.gateway_user", CONF_STRING, AT(gateway_user), "boardwalk-gateway", 0, 0,
	  "started by root: the gateway's user" },
	{ "boardwalk.auth_user", CONF_STRING, AT(auth_user), "boardwalk-auth", 0, 0,
	  "started by root: auth's user" },
	{ "boardwalk.repo_user", CONF_STRING, AT(repo_user), "boardwalk-repo", 0, 0,
	  "started by root: repo's user" },
	{ "boardwalk.admin_password_file", CONF_STRING, AT(admin_password_file), "", 0, 0,
	  "`prepare`: the first line becomes the password of an admin who has none (`up` makes "
	  "one)" },
	{ "boardwalk.repoinit", CONF_STRINGS, AT(repoinit), "[]", 0, 0,
	  "scripts run at each start, in order; each is one transaction (--repoinit adds one)" },
	{ "boardwalk.argon2_ops", CONF_UINT, AT(argon2_ops), "2", 1, 16,
	  "argon2id passes of a password set here; auth.argon2_ops should say the same" },
	{ "boardwalk.argon2_mem", CONF_SIZE, AT(argon2_mem), "64M", 8192, 1u << 30,
	  "argon2id memory of a password set here; auth.argon2_mem should say the same" },
};
const size_t cli_n_keys = sizeof(cli_keys) / sizeof(*cli_keys);

static void override(char **setting, const char *option)
{
	if (option == NULL)
		return;
	free(*setting);
	*setting = xstrdup(option);
}

/* --port P: P for everybody, P + 1 for those who run it. */
static bool override_ports(struct cli *cli)
{
	char         *end;
	unsigned long port;

	if (cli->port == NULL)
		return true;
	port = strtoul(cli->port, &end, 10);
	if (cli->port[0] < '0' || cli->port[0] > '9' || *end != '\0' || port < 1 || port > 65534)
		return complain("--port: '%s' is no number from 1 to 65534", cli->port);
	free(cli->settings.listen);
	free(cli->settings.management);
	cli->settings.listen = xasprintf("127.0.0.1:%lu", port);
	cli->settings.management = xasprintf("127.0.0.1:%lu", port + 1);
	return true;
}

bool settings_load(struct cli *cli)
{
	struct cli_settings *s = &cli->settings;
	char                 err[512];

	if (conf_load(cli_keys, cli_n_keys, cli_sections, cli->config, s, err, sizeof(err)) != 0)
		return complain("%s", err);
	override(&s->data, cli->data);
	override(&s->run, cli->run);
	override(&s->bin, cli->bin);
	override(&s->bundles, cli->bundles);
	if (cli->n_repoinit > 0) {
		s->repoinit.items = xrealloc(s->repoinit.items, (s->repoinit.n + cli->n_repoinit) *
		                                                        sizeof(*s->repoinit.items));
		for (unsigned i = 0; i < cli->n_repoinit; i++)
			s->repoinit.items[s->repoinit.n++] = xstrdup(cli->repoinit[i]);
	}
	return override_ports(cli);
}

void settings_done(struct cli *cli)
{
	conf_done(cli_keys, cli_n_keys, &cli->settings);
}
