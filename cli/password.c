/* password.c - how a password comes in, and the verifier that goes into the database.
 *
 * A password is never an argument: those stand in ps. It is wiped wherever it was.
 *
 * Owns: nothing. Runs in: the commands user and repoinit, and the first start.
 * Fails with: false or NULL after a line on stderr. Tests: tests/unit/cli/password_test.c. */
#include "password.h"

#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <utf8proc.h>

_Static_assert(PASSWORD_VERIFIER == crypto_pwhash_STRBYTES, "size of libsodium's verifiers");

static void wipe_free(char *text, size_t n)
{
	if (text != NULL)
		sodium_memzero(text, n);
	free(text);
}

/* NFC of UTF-8 text, owned; NULL if it is none, or holds a NUL. */
static char *to_nfc(const char *text, size_t n)
{
	utf8proc_uint8_t *out = NULL;

	if (memchr(text, '\0', n) != NULL ||
	    utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &out,
	                 UTF8PROC_STABLE | UTF8PROC_COMPOSE) < 0)
		return NULL;
	return (char *)out;
}

char *normalise_name(struct bw_str name)
{
	char  *nfc = to_nfc(name.p, name.n);
	size_t n = nfc != NULL ? strlen(nfc) : 0;
	bool   good = n >= 1 && n <= 255;

	for (size_t i = 0; i < n && good; i++) {
		unsigned char c = (unsigned char)nfc[i], next = (unsigned char)nfc[i + 1];

		/* C0, DEL and C1, the last as c2 80 to c2 9f */
		good = c >= 0x20 && c != 0x7f && c != ':' &&
		       !(c == 0xc2 && next >= 0x80 && next <= 0x9f);
	}
	if (good)
		return nfc;
	free(nfc);
	return NULL;
}

bool password_verifier(const struct cli_settings *settings, const char *password, size_t n,
                       char ret[PASSWORD_VERIFIER])
{
	char  *nfc = to_nfc(password, n);
	size_t size = nfc != NULL ? strlen(nfc) : 0;
	bool   done = false;

	if (nfc == NULL)
		complain("a password is UTF-8 text without NUL");
	else if (size < 1 || size > PASSWORD_MAX)
		complain("a password has 1 to %u octets", PASSWORD_MAX);
	else if (sodium_init() < 0 || crypto_pwhash_str_alg(ret, nfc, size, settings->argon2_ops,
	                                                    (size_t)settings->argon2_mem,
	                                                    crypto_pwhash_ALG_ARGON2ID13) != 0)
		complain("not enough memory for argon2id");
	else
		done = true;
	wipe_free(nfc, size);
	return done;
}

char *password_random(void)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	const size_t n = 24;
	char        *password = xmalloc(n + 1);

	if (sodium_init() < 0)
		fatalx("libsodium does not start");
	for (size_t i = 0; i < n; i++)
		password[i] = letters[randombytes_uniform(sizeof(letters) - 1)];
	password[n] = '\0';
	return password;
}

static volatile sig_atomic_t interrupted; /* the signal that ends a prompt; 0: none */

static void on_signal(int number)
{
	interrupted = number;
}

/* mask: of the signals while it waits; NULL: as they are. */
static ssize_t read_octet(int fd, const sigset_t *mask, char *ret)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	if (mask != NULL && ppoll(&readable, 1, NULL, mask) < 0)
		return -1;
	return read(fd, ret, 1);
}

/* One line from fd without its end; byte by byte, so that nothing behind it is swallowed. */
static char *read_line(int fd, const sigset_t *mask, size_t *ret_size)
{
	const size_t max = 4 * PASSWORD_MAX; /* before NFC it may be longer */
	char        *line = xmalloc(max + 1);
	size_t       n = 0;
	ssize_t      got;

	while ((got = read_octet(fd, mask, line + n)) != 0) {
		if (got < 0 && errno == EINTR && interrupted == 0)
			continue;
		if (got < 0)
			break;
		if (line[n] == '\n')
			break;
		if (++n > max)
			break;
	}
	if (got < 0 && interrupted == 0)
		complain_errno("reading the password");
	else if (got < 0)
		complain("no password was given");
	else if (n > max)
		complain("a password has 1 to %u octets", PASSWORD_MAX);
	else {
		line[n] = '\0';
		*ret_size = n;
		return line;
	}
	wipe_free(line, max + 1);
	return NULL;
}

/* What the signals that end a program do meanwhile, and did before. */
struct guard {
	struct sigaction before[4];
	sigset_t         mask;
};
static const int guarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* From here on they only end a wait with this mask, so that the terminal can be put right again. Being
 * stopped with a silent terminal has to wait as well. */
static void guard_begin(struct guard *g)
{
	const struct sigaction action = { .sa_handler = on_signal };
	sigset_t               blocked;

	interrupted = 0;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTSTP);
	for (size_t i = 0; i < sizeof(guarded) / sizeof(*guarded); i++) {
		sigaddset(&blocked, guarded[i]);
		sigaction(guarded[i], &action, &g->before[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, &g->mask);
	sigaddset(&g->mask, SIGTSTP);
}

/* The signal that came, if any, has its usual effect now. */
static void guard_end(struct guard *g)
{
	for (size_t i = 0; i < sizeof(guarded) / sizeof(*guarded); i++)
		sigaction(guarded[i], &g->before[i], NULL);
	if (interrupted != 0)
		raise(interrupted);
	sigdelset(&g->mask, SIGTSTP);
	sigprocmask(SIG_SETMASK, &g->mask, NULL);
}

/* The question comes when nothing is echoed any more, and what was typed before it does not count. */
static char *prompt(int terminal, const char *what, const char *user, size_t *ret_size)
{
	struct termios before, silent;
	struct guard   guard;
	char          *line;

	if (tcgetattr(terminal, &before) != 0) {
		complain_errno("terminal");
		return NULL;
	}
	silent = before;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	guard_begin(&guard);
	tcsetattr(terminal, TCSAFLUSH, &silent);
	dprintf(terminal, "%s for %s: ", what, user);
	line = read_line(terminal, &guard.mask, ret_size);
	tcsetattr(terminal, TCSAFLUSH, &before);
	dprintf(terminal, "\n");
	guard_end(&guard);
	return line;
}

static char *read_twice(int terminal, const char *user, size_t *ret_size)
{
	size_t n = 0, again_n = 0;
	char  *first = prompt(terminal, "new password", user, &n), *again;

	if (first == NULL)
		return NULL;
	again = prompt(terminal, "the same again", user, &again_n);
	if (again != NULL && n == again_n && sodium_memcmp(first, again, n) == 0) {
		wipe_free(again, again_n);
		*ret_size = n;
		return first;
	}
	if (again != NULL)
		complain("the two differ");
	wipe_free(again, again_n);
	wipe_free(first, n);
	return NULL;
}

char *password_read(const char *user, size_t *ret_size)
{
	int   terminal;
	char *password;

	if (!isatty(STDIN_FILENO))
		return read_line(STDIN_FILENO, NULL, ret_size);
	terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (terminal < 0) {
		complain_errno("/dev/tty");
		return NULL;
	}
	password = read_twice(terminal, user, ret_size);
	close(terminal);
	return password;
}
