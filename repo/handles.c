/* handles.c - opens, finds and closes the resolver handles of one connection.
 *
 *      left of it: closed          window: a bit per number            not seen yet
 *   ----------------------|--------------------------------------|---------------->
 *               above - 2^24                                    above
 *
 * The bitmap is a ring: when the window moves, the bits of the numbers that enter it are cleared.
 * Owns: the bitmap (2 MiB, paged in as it is used), the table of the open ones. Runs in: repo's
 * loop. Fails with: see handles.h; the caller logs. Tests: tests/unit/repo/handles_test.c. */
#include "handles.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_BITS 6u

void handles_init(struct handles *h, struct principals_table *table)
{
	*h = (struct handles){ .table = table };
	randombytes_buf(&h->factor, sizeof(h->factor));
	h->factor |= 1;
}

void handles_done(struct handles *h)
{
	if (h->slots != NULL)
		for (size_t i = 0; i < (size_t)1 << h->bits; i++)
			if (h->slots[i].who != NULL)
				principals_unref(h->slots[i].who);
	free(h->slots);
	if (h->seen != NULL)
		munmap(h->seen, HANDLES_WINDOW / 8);
	h->slots = NULL;
	h->seen = NULL;
	h->n_open = 0;
}

/* ---- the window ---- */

static void start_window(struct handles *h, uint64_t sequence)
{
	void *p = mmap(NULL, HANDLES_WINDOW / 8, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fatal("the bitmap of a connection's handles");
	h->seen = p;
	h->above = sequence;
}

/* Clears the bits of n numbers from `from` on, word by word where it can. */
static void clear_bits(uint64_t *seen, uint64_t from, uint64_t n)
{
	while (n > 0) {
		uint64_t bit = from % HANDLES_WINDOW;

		if (bit % 64 == 0 && n >= 64) {
			seen[bit / 64] = 0;
			from += 64;
			n -= 64;
		} else {
			seen[bit / 64] &= ~((uint64_t)1 << bit % 64);
			from++;
			n--;
		}
	}
}

/* Notes the number; false if it was seen or is left of the window. */
static bool take_number(struct handles *h, uint64_t sequence)
{
	uint64_t bit = sequence % HANDLES_WINDOW, mask = (uint64_t)1 << bit % 64;

	if (sequence == UINT64_MAX)
		return false; /* there is no number above it */
	if (h->seen == NULL)
		start_window(h, sequence);
	if (sequence >= h->above) {
		uint64_t enter = sequence - h->above + 1;

		if (enter >= HANDLES_WINDOW)
			memset(h->seen, 0, HANDLES_WINDOW / 8);
		else
			clear_bits(h->seen, h->above, enter);
		h->above = sequence + 1;
	} else if (h->above - sequence > HANDLES_WINDOW || (h->seen[bit / 64] & mask)) {
		return false;
	}
	h->seen[bit / 64] |= mask;
	return true;
}

/* ---- the open ones ---- */

static size_t place_of(const struct handles *h, uint64_t sequence)
{
	return (size_t)(sequence * h->factor >> (64 - h->bits));
}

static struct handles_slot *find(const struct handles *h, uint64_t sequence)
{
	size_t mask = ((size_t)1 << h->bits) - 1, i;

	if (h->slots == NULL)
		return NULL;
	for (i = place_of(h, sequence); h->slots[i].who != NULL; i = (i + 1) & mask)
		if (h->slots[i].sequence == sequence)
			return &h->slots[i];
	return NULL;
}

static void put(struct handles *h, const struct handles_slot *slot)
{
	size_t mask = ((size_t)1 << h->bits) - 1, i = place_of(h, slot->sequence);

	while (h->slots[i].who != NULL)
		i = (i + 1) & mask;
	h->slots[i] = *slot;
}

/* At most half of the slots are taken. */
static void grow(struct handles *h)
{
	struct handles_slot *old = h->slots;
	size_t               n_old = old != NULL ? (size_t)1 << h->bits : 0;

	if (h->n_open < n_old / 2)
		return;
	h->bits = old != NULL ? h->bits + 1 : FIRST_BITS;
	h->slots = xcalloc((size_t)1 << h->bits, sizeof(*h->slots));
	for (size_t i = 0; i < n_old; i++)
		if (old[i].who != NULL)
			put(h, &old[i]);
	free(old);
}

int handles_open(struct handles *h, const struct handle *given, const uint8_t *channel,
                 uint64_t now_us, struct principals **ret)
{
	struct handles_slot slot = { .sequence = given->sequence, .expires_us = given->expires_us };

	if (memcmp(given->channel, channel, HANDLE_CHANNEL) != 0)
		return BW_EFOREIGN;
	if (now_us >= given->expires_us)
		return BW_EEXPIRED;
	if (h->n_open >= HANDLES_MAX_OPEN)
		return BW_EBUSY;
	if (!take_number(h, given->sequence))
		return BW_ECLOSED;
	grow(h);
	slot.who = principals_ref_of(h->table, given);
	put(h, &slot);
	h->n_open++;
	*ret = slot.who;
	return BW_OK;
}

int handles_use(struct handles *h, uint64_t sequence, uint64_t now_us, struct principals **ret)
{
	const struct handles_slot *slot = find(h, sequence);

	if (slot == NULL)
		return BW_ECLOSED;
	if (now_us >= slot->expires_us)
		return BW_EEXPIRED;
	*ret = slot->who;
	return BW_OK;
}

void handles_close(struct handles *h, uint64_t sequence)
{
	struct handles_slot *slot = find(h, sequence);
	size_t               mask = ((size_t)1 << h->bits) - 1, hole, i;

	if (slot == NULL)
		return;
	principals_unref(slot->who);
	h->n_open--;
	/* Close the hole, so that a search may go on ending at the first free slot: move back each
	 * one that stands behind it and whose place is not between the hole and itself. */
	hole = (size_t)(slot - h->slots);
	for (i = (hole + 1) & mask; h->slots[i].who != NULL; i = (i + 1) & mask) {
		if (((i - place_of(h, h->slots[i].sequence)) & mask) >= ((i - hole) & mask)) {
			h->slots[hole] = h->slots[i];
			hole = i;
		}
	}
	h->slots[hole].who = NULL;
}
