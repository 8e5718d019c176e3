/* credential.h - names and passwords as clients send them, made comparable. */
#pragma once
#include <boardwalk/err.h>
#include <boardwalk/types.h>

#define CREDENTIAL_NAME     255u /* octets, in NFC */
#define CREDENTIAL_PASSWORD 1024u

/* The name in NFC: UTF-8, 1 to 255 octets, no controls. ASCII is handed back as it is, borrowed
 * from text; else the result is in mem (CREDENTIAL_NAME + 1 octets). BW_EINVAL: no such name. */
int credential_name(struct bw_str text, char *mem, struct bw_str *ret);
/* The same for a password, 1 to 1024 octets, controls allowed; mem: CREDENTIAL_PASSWORD + 1 octets,
 * which the caller wipes. */
int credential_password(struct bw_str text, char *mem, struct bw_str *ret);
