/* log.h - one line per event, through a ring to a thread, so that a stuck reader costs lines
 * (counted, and told later), never a loop.
 *
 * A line is logfmt on stderr:
 *    2026-11-30T16:20:05.123456Z level=warning process=repo pid=71 request=8f3a... msg="..."
 * The function that ends an operation logs it, once, with the request id, the principal and the
 * reason; libraries return and do not log. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* Before log_start every line is written at once by the caller. process: static text. */
void log_init(const char *process, enum log_level max);
/* Starts the writer thread; after each fork, in the child that will log. */
void log_start(void);
/* Writes what is in the ring and ends the thread; lines are then written at once again. Does not
 * wait longer than 2 s for a reader that is stuck: what is left is lost, and later lines too. */
void log_stop(void);
bool log_enabled(enum log_level level);

/* The text becomes msg="..." with quotes and controls escaped, so a client cannot forge a line.
 * request: 0 if there is none; printed as 16 hexadecimal digits. */
__attribute__((format(printf, 3, 4))) void log_printf(enum log_level level, uint64_t request,
                                                      const char *format, ...);
#define log_error(request, ...)   log_printf(LOG_LEVEL_ERROR, request, __VA_ARGS__)
#define log_warning(request, ...) log_printf(LOG_LEVEL_WARNING, request, __VA_ARGS__)
#define log_info(request, ...)    log_printf(LOG_LEVEL_INFO, request, __VA_ARGS__)
#define log_debug(request, ...) \
	(log_enabled(LOG_LEVEL_DEBUG) ? log_printf(LOG_LEVEL_DEBUG, request, __VA_ARGS__) : (void)0)

/* A line of the audit trail: event=NAME and fields instead of msg, each value between quotes and escaped
 * as msg is. Written at level info whatever log_init said. name: a word. Values that no longer fit are
 * cut, and end in "...". */
struct log_field {
	const char *name, *value;
	size_t      n; /* octets of value */
};
void log_event(uint64_t request, const char *event, const struct log_field *fields, size_t n);

/* A second stream for finished lines (the access log): same ring, same thread, to fd. The line is
 * copied; it must end in '\n' and is cut beyond 16 KiB. Costs one copy and no system call while
 * lines flow: the thread writes them within 10 ms. fd stays open until log_stop. */
void log_line(int fd, const char *line, size_t n);
/* Lines lost since the process began: the ring was full, or the descriptor failed. */
uint64_t log_dropped(void);
