/* Fuzz target: lib/wire/session.c. Whatever session_record_get accepts can be walked to its last
 * attribute without leaving the input (the sanitizer watches), and building the record again from
 * what was read gives the same octets. */
#include <stdlib.h>
#include <wire/session.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session_record r;
	struct session_value  v;
	const uint8_t        *walk;
	struct buf            again;
	size_t                at, n;

	if (size > 16384 || session_record_get(data, size, &r) != BW_OK)
		return 0;
	buf_init(&again);
	at = session_record_begin(&again, &r);
	for (walk = r.values; session_record_next(&r, &walk, &v);) {
		if (!session_name_fits(v.name) || !session_value_fits(v.kind, v.value))
			abort();
		session_record_put(&again, at, &v);
	}
	n = (size_t)(r.end - data);
	if (buf_size(&again) != n || memcmp(buf_data(&again), data, n) != 0)
		abort();
	buf_done(&again);
	return 0;
}
