/* session_key.h - the keys that session tokens are signed with: a file of up to eight lines
 * (base/key_file.h) that only auth reads. The first signs; the others still verify, until the longest
 * life of a token is over for each. */
#pragma once
#include "jws.h"

struct session_keys;

/* Reads the file, whose name is borrowed. The keys are in locked memory. NULL with a reason in err. */
struct session_keys *session_keys_load(const char *file, char *err, size_t err_size);
void                 session_keys_free(struct session_keys *ks); /* wipes; NULL is fine */
/* Reads the file anew if it is another one by now; one that cannot be read is logged and changes
 * nothing. True: the keys have changed. */
bool session_keys_follow(struct session_keys *ks);
/* The one to sign with. */
const struct jws_key *session_keys_sign(const struct session_keys *ks);
/* jws_key_cb over arg, a struct session_keys. */
const struct jws_key *session_keys_find(void *arg, struct bw_str kid);
