/* cli/password.c: names and passwords as they are stored. */
#include <criterion/criterion.h>
#include <password.h>
#include <pty.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

static const struct cli_settings cheap = { .argon2_ops = 1, .argon2_mem = 8192 };

static bool fits(const char *verifier, const char *password)
{
	return crypto_pwhash_str_verify(verifier, password, strlen(password)) == 0;
}

Test(password, verifier_is_argon2id_of_the_nfc_at_the_configured_cost)
{
	char verifier[PASSWORD_VERIFIER], longest[PASSWORD_MAX + 2];

	cr_assert(password_verifier(&cheap, "ze\xcc\x81ro", 6,
	                            verifier)); /* e and a combining accent */
	cr_assert_eq(strncmp(verifier, "$argon2id$v=19$m=8,t=1,p=1$", 27), 0, "%s", verifier);
	cr_assert(fits(verifier, "z\xc3\xa9ro"));
	cr_assert(!fits(verifier, "zero"));

	memset(longest, 'x', sizeof(longest));
	cr_assert(password_verifier(&cheap, longest, PASSWORD_MAX, verifier));
	cr_assert(!password_verifier(&cheap, longest, PASSWORD_MAX + 1, verifier));
	cr_assert(!password_verifier(&cheap, "", 0, verifier));
	cr_assert(!password_verifier(&cheap, "a\0b", 3, verifier));
	cr_assert(!password_verifier(&cheap, "a\xff", 2, verifier));
}

Test(password, random_ones_are_long_and_never_the_same)
{
	char *a = password_random(), *b = password_random();

	cr_assert_eq(strlen(a), 24);
	cr_assert_eq(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
	             24);
	cr_assert_str_neq(a, b);
	free(a);
	free(b);
}

Test(password, is_the_first_line_of_standard_input)
{
	static const char text[] = "first line \r\nsecond\n";
	int               ends[2];
	size_t            n = 0;
	char             *password, rest[16] = "";

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	close(ends[1]);
	cr_assert_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	password = password_read("somebody", &n);
	cr_assert_not_null(password);
	cr_assert_eq(n, 12);
	cr_assert_str_eq(password, "first line \r");
	free(password);
	cr_assert_eq(read(STDIN_FILENO, rest, sizeof(rest) - 1), 7);
	cr_assert_str_eq(rest, "second\n", "what follows was swallowed");
	password = password_read("somebody", &n);
	cr_assert_not_null(password);
	cr_assert_eq(n, 0);
	free(password);
	close(ends[0]);
}

/* Reads what the terminal shows until the text is there. */
static void wait_for(int master, char *shown, size_t size, const char *text)
{
	size_t n = strlen(shown);

	while (strstr(shown, text) == NULL) {
		ssize_t got = read(master, shown + n, size - 1 - n);

		cr_assert_gt(got, 0, "'%s' does not come after '%s'", text, shown);
		n += (size_t)got;
		shown[n] = '\0';
	}
}

/* The prompts on a terminal of their own, answered with these; the status of the process that asked:
 * 0 if it read "secret". shown: what was to be seen. The terminal echoes again afterwards. */
static int ask_on_terminal(const char *first, const char *second, char *shown, size_t size)
{
	struct termios state;
	int            master, slave, status = -1;
	pid_t          pid;

	cr_assert_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
	pid = fork();
	if (pid == 0) {
		size_t n = 0;
		char  *password;

		close(master);
		login_tty(slave);
		password = password_read("ada", &n);
		_exit(password != NULL && n == 6 && memcmp(password, "secret", 6) == 0 ? 0 : 1);
	}
	*shown = '\0';
	wait_for(master, shown, size, "new password for ada: ");
	cr_assert_gt(write(master, first, strlen(first)), 0);
	if (second != NULL) {
		wait_for(master, shown, size, "the same again for ada: ");
		cr_assert_gt(write(master, second, strlen(second)), 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(tcgetattr(slave, &state), 0);
	cr_assert(state.c_lflag & ECHO);
	close(master);
	close(slave);
	return status;
}

Test(password, is_asked_twice_by_a_terminal_and_not_shown)
{
	char shown[1024];
	int  status = ask_on_terminal("secret\n", "secret\n", shown, sizeof(shown));

	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_assert(strstr(shown, "secret") == NULL, "%s", shown);
	status = ask_on_terminal("secret\n", "secreT\n", shown, sizeof(shown));
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* As Control-C does it: the process ends by the signal, and not with a terminal that stays silent. */
Test(password, prompt_that_is_interrupted_leaves_the_terminal_as_it_was)
{
	char shown[1024];
	int  status = ask_on_terminal("sec\x03", NULL, shown, sizeof(shown));

	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	status = ask_on_terminal("secret\n", "se\x1a\x1c", shown, sizeof(shown));
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT);
}

Test(name, is_normalised_or_refused)
{
	static const struct {
		const char *in, *out; /* out NULL: refused */
	} rows[] = {
		{ "ada", "ada" },
		{ "ada lovelace", "ada lovelace" },
		{ "ze\xcc\x81ro", "z\xc3\xa9ro" },
		{ "", NULL },
		{ "a:b", NULL },
		{ "a\nb", NULL },
		{ "a\x7f", NULL },
		{ "a\xc2\x85", NULL }, /* a C1 control */
		{ "a\xc2\xa0", "a\xc2\xa0" },
		{ "a\xff", NULL },
	};
	char longest[257];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *got = normalise_name(bw_str(rows[i].in));

		cr_expect_eq(got != NULL, rows[i].out != NULL, "row %zu", i);
		if (got != NULL && rows[i].out != NULL)
			cr_expect_str_eq(got, rows[i].out, "row %zu", i);
		free(got);
	}
	memset(longest, 'x', sizeof(longest));
	cr_assert_null(normalise_name((struct bw_str){ longest, 256 }));
	longest[255] = '\0';
	char *got = normalise_name((struct bw_str){ longest, 255 });
	cr_assert_not_null(got);
	free(got);
}
