/* gateway_impl.h - between gateway.c and gateway_records.c. */
#pragma once

/* What each worker says to an order of the operator: a JSON array; a new reference. */
struct json_t *gateway_order(const char *request);
/* The worker that is looked at. */
unsigned                                             gateway_worker(void);
__attribute__((noreturn, format(printf, 1, 2))) void gateway_give_up(const char *format, ...);

/* gateway_records.c: something may have changed; records are asked for anew. */
void records_forget(void);
/* What comes from now on is compared with this. */
void records_mark(void);
void records_done(void);
