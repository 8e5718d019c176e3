/* gateway_impl.h - between gateway.c, gateway_http.c and gateway_records.c. */
#pragma once

#define GATEWAY_MAX_WORKERS 8

/* ---- gateway.c ---- */

unsigned gateway_port(void);
/* The worker that is looked at. */
unsigned gateway_worker(void);
/* What each worker says to an order of the operator: a JSON array; a new reference. */
struct json_t                                       *gateway_order(const char *request);
__attribute__((noreturn, format(printf, 1, 2))) void gateway_give_up(const char *format, ...);

/* ---- gateway_http.c ---- */

/* Finds a connection for orders to each worker; returns when all of them answer. */
void gateway_greet(void);
/* An order to the test bundle in a worker: the status of its answer. ret_text: may be NULL. */
int gateway_tell(unsigned worker, const char *name, const char *argument, char **ret_text);
/* The same, which cannot fail. */
void gateway_must(unsigned worker, const char *name, const char *argument);
/* Returns when the request blocks. */
void gateway_start_request(unsigned worker, const char *text);
/* Those that block, or did for a while: returns when they are answered. resume gives their answers. */
void gateway_await_blocked(void);
/* Lets those that block go on to their ends. */
void gateway_end_blocked(void);
void gateway_close_all(void);

/* ---- gateway_records.c ---- */

/* Something may have changed: records are asked for anew. */
void records_forget(void);
/* What comes from now on is compared with this. */
void records_mark(void);
void records_done(void);
