/* cli/settings.c: the options go before the environment and the file. */
#include <cli.h>
#include <criterion/criterion.h>
#include <stdlib.h>

Test(settings, defaults_are_those_of_a_local_instance)
{
	struct cli cli = { 0 };

	cr_assert(settings_load(&cli));
	cr_assert_str_eq(cli.settings.listen, "127.0.0.1:8080");
	cr_assert_str_eq(cli.settings.management, "127.0.0.1:8081");
	cr_assert_str_eq(cli.settings.data, "");
	cr_assert_eq(cli.settings.repoinit.n, 0);
	cr_assert_eq(cli.settings.argon2_mem, 64u << 20);
	settings_done(&cli);
}

Test(settings, options_go_before_the_environment)
{
	const char *scripts[] = { "b", "c" };
	struct cli  cli = {
		 .data = "/option", .port = "9000", .repoinit = scripts, .n_repoinit = 2
	};

	setenv("BOARDWALK_BOARDWALK_DATA", "/environment", 1);
	setenv("BOARDWALK_BOARDWALK_RUN", "/run-environment", 1);
	setenv("BOARDWALK_BOARDWALK_REPOINIT", "a", 1);
	cr_assert(settings_load(&cli));
	cr_assert_str_eq(cli.settings.data, "/option");
	cr_assert_str_eq(cli.settings.run, "/run-environment");
	cr_assert_str_eq(cli.settings.listen, "127.0.0.1:9000");
	cr_assert_str_eq(cli.settings.management, "127.0.0.1:9001");
	cr_assert_eq(cli.settings.repoinit.n, 3);
	cr_assert_str_eq(cli.settings.repoinit.items[0], "a");
	cr_assert_str_eq(cli.settings.repoinit.items[2], "c");
	settings_done(&cli);
}

Test(settings, ports_and_variables_that_cannot_be_meant_are_refused)
{
	static const char *const ports[] = {
		"", "0", "65535", "-1", "80x", " 80", "99999999999999999999"
	};

	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		struct cli cli = { .port = ports[i] };

		cr_assert(!settings_load(&cli), "--port '%s'", ports[i]);
		settings_done(&cli);
	}
	struct cli cli = { 0 };
	setenv("BOARDWALK_BOARDWALK_NONSENSE", "1", 1);
	cr_assert(!settings_load(&cli));
	settings_done(&cli);
}
