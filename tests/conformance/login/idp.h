/* idp.h - an issuer of bearer tokens, https://idp.example, whose only key the runner has. */
#pragma once
#include <base/buf.h>

/* A file with its public key, for auth; heap. */
char *idp_write_keys(void);
void  idp_remove_keys(char *file); /* and frees its name */
/* A token for the audience board that ends in so many seconds; rest: USER, or USER:SECONDS (630). It was
 * issued ten minutes before that: half a minute ahead of the clock, if nothing is said, so that the
 * password a row gave its user a moment ago does not end it. */
void idp_put_token(struct buf *out, const char *rest);
