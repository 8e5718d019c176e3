/* Fuzz target: lib/wire/event.c. Octets as an event: what is accepted can be walked without leaving
 * the input and built again to the same octets. The same octets as a pattern and a path, parted by
 * the first newline: a pattern that fits meets or does not, and never more alone than with what is
 * below. */
#include <stdlib.h>
#include <wire/event.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_event(const uint8_t *data, size_t size)
{
	struct event   e;
	const uint8_t *names;
	struct buf     again;
	size_t         at;

	if (event_get(data, size, &e) != BW_OK)
		return;
	buf_init(&again);
	at = event_begin(&again, &e);
	names = e.names;
	for (unsigned i = 0; i < e.n_names; i++)
		event_put_name(&again, at, event_next_name(&names));
	event_end(&again, at);
	if (buf_size(&again) != e.size || memcmp(buf_data(&again), data, e.size) != 0)
		abort();
	buf_done(&again);
}

static void as_pattern(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
	struct bw_str  pattern, path;

	if (newline == NULL)
		return;
	pattern = (struct bw_str){ (const char *)data, (size_t)(newline - data) };
	path = (struct bw_str){ (const char *)newline + 1, size - pattern.n - 1 };
	if (path.n == 0 || !event_pattern_fits(pattern))
		return;
	if (event_pattern_meets(pattern, path, false) && !event_pattern_meets(pattern, path, true))
		abort();
}

static void as_patterns(const uint8_t *data, size_t size)
{
	size_t        at = 0;
	unsigned      interests;
	struct bw_str pattern;
	bool          bad;

	while (event_next_pattern(data, size, &at, &interests, &pattern, &bad))
		if (!event_pattern_fits(pattern))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 4096)
		return 0;
	as_event(data, size);
	as_pattern(data, size);
	as_patterns(data, size);
	return 0;
}
