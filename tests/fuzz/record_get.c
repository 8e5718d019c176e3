/* Fuzz target: lib/wire/record.c. Whatever record_get accepts can be walked to its last value without
 * leaving the input (the sanitizer watches), every property is found under its name, and building
 * the record again from what was read gives the same octets. */
#include <stdlib.h>
#include <wire/record.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void rebuild(const struct record *r, struct buf *out)
{
	struct record_prop prop;
	size_t             at, prop_at;

	at = record_begin(out, r->id, r->version, r->path, r->primary_type, r->resource_type,
	                  r->super_type);
	for (unsigned i = 0; i < r->n_chain; i++)
		record_put_chain(out, at, record_chain(r, i));
	for (unsigned i = 0; i < r->n_props; i++) {
		if (!record_prop_at(r, i, &prop) || !record_prop(r, prop.name, &prop))
			abort();
		prop_at = record_put_prop(out, at, prop.name, prop.type, prop.multiple);
		for (unsigned j = 0; j < prop.n; j++)
			record_put_value(out, prop_at, record_value(r, &prop, j));
	}
	record_end(out, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record r;
	struct buf    again;

	if (size > 16384 || record_get(data, size, &r) != BW_OK)
		return 0;
	buf_init(&again);
	rebuild(&r, &again);
	if (buf_size(&again) != r.size || memcmp(buf_data(&again), data, r.size) != 0)
		abort();
	buf_done(&again);
	return 0;
}
