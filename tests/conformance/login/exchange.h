/* exchange.h - one client of the rows of logins: requests out of words, a jar of cookies, and what is
 * expected of the answers. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct test_instance;

/* What one client has: its cookies, and values kept under a name. */
void exchange_forget_cookies(void);
void exchange_forget_all(void);
/* save | name | cookie: the value that the cookie has in the jar; "" if it is not there. */
void exchange_save(const char *name, const char *cookie);

/* Sends and looks at the answer. line: METHOD target; fields and expected: as login.rows says; all three
 * are written to. False: *why (heap) is what differs. */
bool exchange_run(const struct test_instance *instance, char *line, char *fields, char *expected,
                  char **why);
