/* Fuzz target: lib/wire/payload.c. The first octet chooses the row, the rest is the payload. What is
 * accepted is what protobuf-c reads as well, and what it writes for it, octet for octet. */
#include <stdlib.h>
#include <string.h>
#include <wire/messages.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const ProtobufCMessage *m, const uint8_t *payload, size_t n)
{
	ProtobufCMessage *theirs = protobuf_c_message_unpack(m->descriptor, NULL, n, payload);
	uint8_t          *again = malloc(n + 1);

	if (!theirs || theirs->n_unknown_fields > 0 || !again ||
	    protobuf_c_message_get_packed_size(m) != n)
		abort();
	protobuf_c_message_pack(m, again);
	if (memcmp(again, payload, n) != 0)
		abort();
	protobuf_c_message_pack(theirs, again);
	if (memcmp(again, payload, n) != 0)
		abort();
	protobuf_c_message_free_unpacked(theirs, NULL);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_frame   f;
	struct wire_message m;

	if (size == 0 || !wire_row(data[0]))
		return 0;
	f = (struct wire_frame){ .id = data[0],
		                 .length = (uint32_t)(size - 1),
		                 .payload = data + 1 };
	if (wire_message_get(&f, &m) == BW_OK)
		compare(&m.u->base, f.payload, f.length);
	return 0;
}
