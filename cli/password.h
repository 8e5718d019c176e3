/* password.h - names and passwords of users, as they are stored. */
#pragma once
#include "cli.h"

#include <boardwalk/types.h>

#define PASSWORD_MAX      1024u /* octets, in NFC */
#define PASSWORD_VERIFIER 128u

/* The argon2id verifier of a password of 1 to PASSWORD_MAX octets UTF-8, brought to NFC first, at the
 * configured cost. False after a line on stderr. */
bool password_verifier(const struct cli_settings *settings, const char *password, size_t n,
                       char ret[PASSWORD_VERIFIER]);
/* A name in NFC, owned: 1 to 255 octets without controls and ':', which Basic cannot carry. NULL if
 * it is none. */
char *normalise_name(struct bw_str name);
/* A new password of 24 letters and digits, 142 bits. Owned: wipe and free. */
char *password_random(void);
/* From the terminal, twice and without echo, else the first line of standard input. Owned: wipe and
 * free. NULL after a line on stderr. */
char *password_read(const char *user, size_t *ret_size);
