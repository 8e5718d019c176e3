/* liar_main.c - the liar as a command, for shell and for trying things by hand:
 *
 *   liar [--repo SOCKET] [--auth SOCKET] [--as USER] WHO WHAT...
 *
 *   WHO    guest | login USER PASSWORD | service BUNDLE[:SUBSERVICE] | handle HEX
 *   WHAT   get PATH | resolve PATH | children PATH   with the handle, whole the first time
 *          open PATH                                 get, with the whole handle again
 *          close                                     HANDLE_CLOSE
 *          show                                      the handle in hexadecimal digits
 *          frame ID HEX                              any payload under any id, to repo
 *
 * Prints each answer on a line: its name, or "gone"; then its payload in hexadecimal digits. */
#include "liar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct liar        l;
static struct liar_handle handle;
static bool               opened;
static struct liar_answer answer;

__attribute__((noreturn)) static void usage(void)
{
	fprintf(stderr,
	        "usage: liar [--repo SOCKET] [--auth SOCKET] [--as USER]\n"
	        "            guest | login USER PASSWORD | service BUNDLE[:SUB] | handle HEX\n"
	        "            get PATH | resolve PATH | children PATH | open PATH | close | show |\n"
	        "            frame ID HEX ...\n");
	exit(2);
}

static size_t from_hex(const char *hex, uint8_t *ret, size_t max)
{
	size_t   n = 0;
	unsigned octet;

	for (; n < max && sscanf(hex + 2 * n, "%2x", &octet) == 1; n++)
		ret[n] = (uint8_t)octet;
	return n;
}

static void print_hex(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
	printf("\n");
}

static void print_answer(const char *what)
{
	printf("%s: ", what);
	if (!answer.m.u) {
		printf("%s\n", answer.err == BW_ETIME ? "silent" : "gone");
		return;
	}
	printf("%s ", wire_row(answer.f.id)->name);
	if (answer.f.id == WIRE_FAILED)
		printf("%s ", wire_err_text(answer.err));
	print_hex(answer.f.payload, answer.f.length);
}

/* The next word of the command line. */
static const char *word(char ***args)
{
	if (!**args)
		usage();
	return *(*args)++;
}

static void become(char ***args)
{
	const char *who = word(args), *name;
	char        bundle[128], *sub;
	int         err = BW_OK;

	if (strcmp(who, "guest") == 0) {
		err = liar_guest(&l, &handle);
	} else if (strcmp(who, "login") == 0) {
		name = word(args);
		err = liar_login(&l, name, word(args), &handle);
	} else if (strcmp(who, "service") == 0) {
		snprintf(bundle, sizeof(bundle), "%s", word(args));
		sub = strchr(bundle, ':');
		if (sub)
			*sub++ = '\0';
		err = liar_service(&l, bundle, sub, &handle);
	} else if (strcmp(who, "handle") == 0) {
		handle.n = from_hex(word(args), handle.bytes, sizeof(handle.bytes));
		handle.sequence = handle.n >= HANDLE_FIXED ? handle_sequence(handle.bytes) : 0;
	} else {
		usage();
	}
	if (err != BW_OK) {
		printf("no handle: %s\n", wire_err_text(err));
		exit(1);
	}
}

static void act(char ***args)
{
	const char *what = word(args);
	uint8_t     payload[8192];
	unsigned    id;
	size_t      n;

	if (strcmp(what, "show") == 0) {
		print_hex(handle.bytes, handle.n);
		return;
	}
	if (strcmp(what, "close") == 0) {
		liar_handle_close(&l, handle.sequence);
		return;
	}
	if (strcmp(what, "frame") == 0) {
		id = (unsigned)strtoul(word(args), NULL, 10);
		n = from_hex(word(args), payload, sizeof(payload));
		liar_send(&l, l.repo, id, ++l.call, WIRE_END, payload, n, SIZE_MAX);
		liar_take(&l, l.repo, &answer);
	} else if (strcmp(what, "resolve") == 0) {
		liar_resolve(&l, &handle, !opened, word(args), &answer);
	} else if (strcmp(what, "children") == 0) {
		liar_children(&l, &handle, !opened, word(args), &answer);
	} else if (strcmp(what, "get") == 0 || strcmp(what, "open") == 0) {
		liar_get(&l, &handle, !opened || *what == 'o', word(args), &answer);
	} else {
		usage();
	}
	opened = true;
	print_answer(what);
}

int main(int argc, char **argv)
{
	const char *repo = "/run/boardwalk/repo/repo.sock", *auth = "/run/boardwalk/auth/auth.sock";
	const char *user = NULL;
	char      **args = argv + 1;

	(void)argc;
	while (*args && strncmp(*args, "--", 2) == 0) {
		const char *option = *args++;

		if (strcmp(option, "--repo") == 0)
			repo = word(&args);
		else if (strcmp(option, "--auth") == 0)
			auth = word(&args);
		else if (strcmp(option, "--as") == 0)
			user = word(&args);
		else
			usage();
	}
	if (!liar_open(&l, repo, auth, user)) {
		printf("not let in\n");
		return 1;
	}
	become(&args);
	while (*args)
		act(&args);
	liar_close(&l);
	return 0;
}
