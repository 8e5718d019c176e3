/* mark.h - says to the parent, over shared memory, which bundle's code is about to run outside of a
 * request: code of a bundle may end the process, and then there is nobody left to tell. */
#pragma once
#include <stdint.h>

struct bw_bundle;
struct shared_worker;

enum mark_phase {
	MARK_NONE,
	MARK_LOAD,  /* its constructors, in dlopen */
	MARK_START, /* start */
	MARK_INIT,  /* a factory or an init */
	MARK_DESTROY,
	MARK_STOP,
	MARK_UNLOAD, /* its destructors, in dlclose */
};
/* "start", "init" ... for messages. */
const char *mark_phase_text(uint32_t phase);

/* me: NULL: nobody looks. */
void mark_init(struct shared_worker *me);

struct mark {
	const struct bw_bundle *bundle;
	enum mark_phase         phase;
};
/* Around a call; what bundle code calls may mark in turn, so the marks nest. b: NULL is fine. */
struct mark mark_begin(const struct bw_bundle *b, enum mark_phase phase);
void        mark_end(struct mark before);
