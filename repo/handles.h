/* handles.h - the resolver handles of one connection: which are open, which have been seen.
 *
 * A handle is good for one opening. Its number, upward from auth, is looked for in a bitmap over
 * the last 2^24 numbers; what is left of that window or has its bit set is closed. */
#pragma once
#include "principals.h"

#define HANDLES_WINDOW   (1u << 24) /* numbers: 60 s at 280,000 handles/s */
#define HANDLES_MAX_OPEN 65536u

struct handles_slot {
	uint64_t           sequence;
	struct principals *who; /* NULL: free */
	uint64_t           expires_us;
};

struct handles {
	struct principals_table *table;
	uint64_t                *seen;  /* the bitmap, made with the first handle */
	uint64_t                 above; /* the highest number seen, and one more */
	struct handles_slot     *slots; /* open addressing; 2^bits of them */
	unsigned                 bits, n_open;
	uint64_t                 factor; /* secret and odd: nobody knows which numbers collide */
};

void handles_init(struct handles *h, struct principals_table *table);
void handles_done(struct handles *h);

/* Opens a genuine handle. BW_EFOREIGN: of another connection than channel (16 octets).
 * BW_EEXPIRED. BW_ECLOSED: its number was seen before. BW_EBUSY: too many are open. ret: borrowed
 * until the handle is closed. */
int handles_open(struct handles *h, const struct handle *given, const uint8_t *channel,
                 uint64_t now_us, struct principals **ret);
/* An open one. BW_ECLOSED: it is not open. BW_EEXPIRED. */
int  handles_use(struct handles *h, uint64_t sequence, uint64_t now_us, struct principals **ret);
void handles_close(struct handles *h, uint64_t sequence); /* not open: nothing */
