/* ask.h - a gateway's connection to repo, and what is asked through it: bench/ask.c has the connection
 * and the clock, bench/ask_task.c the questions. */
#pragma once
#include <wire/chan.h>

enum task_kind {
	TASK_GET,
	TASK_PAGE,
	TASK_WALK,
	TASK_TREE,
	TASK_SEARCH,
	TASK_SEARCH_ALL,
	TASK_COMMIT
};

/* What one request of a gateway would ask: one line of the list. */
struct task {
	struct wire_call call; /* the question in flight */
	enum task_kind   kind;
	const char      *what, *more; /* fields of the line, borrowed; more: "" if there is none */
	uint64_t         began_us, sequence;
	bool             is_open; /* its handle is: the first question carries it */
	unsigned long    items;   /* resources that came, or changes that were made */
	char           **paths;   /* TASK_TREE: nodes in the order in which they came; heap */
	size_t           n_paths, cap_paths, next_path;
	char            *at; /* where to go on: a name, a cursor; heap */
};

/* Takes a line (its tabs become NULs). False: it is none. */
bool task_read(struct task *t, char *line);
/* Sends the first question; a later one is sent by task_go_on, which is given each answer and says
 * whether it was the last. fatalx if anything fails. */
void task_begin(struct task *t);
bool task_go_on(struct task *t, const struct wire_frame *f);

/* ---- ask.c ---- */

/* on_end comes back as task_go_on. The handle goes along if it is not open yet. */
void ask_send(struct task *t, enum wire_id id, ProtobufCMessage *m, protobuf_c_boolean *has_handle,
              ProtobufCBinaryData *handle);
