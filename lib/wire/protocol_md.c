/* protocol_md.c - writes docs/PROTOCOL.md from messages.def and the comments of boardwalk.proto.
 *
 *   protocol_md boardwalk.proto               prints it
 *   protocol_md boardwalk.proto PROTOCOL.md   compares: 0 if the file is current (for a test)
 *
 * The rows and fields come from the compiled tables; the .proto is read for its comments alone,
 * which protoc-c throws away. It is our own file, with a message or field to a line.
 *
 * Owns: nothing for long. Runs in: the build. Fails with: exit status 1 and a line on stderr. */
#include <base/buf.h>
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/messages.h>

/* clang-format off */
static const char intro[] =
	"# The messages between the processes\n"
	"\n"
	"Generated from `lib/wire/messages.def` and `lib/wire/boardwalk.proto` by\n"
	"`lib/wire/protocol_md`; edit those. The gateway asks, auth and repo answer, each over a Unix\n"
	"stream socket. What is not in the table, comes from the wrong side, is too long or is malformed\n"
	"ends the connection if it came from the gateway, and the gateway if it came from auth or repo.\n"
	"\n"
	"## Frame\n"
	"\n"
	"Little endian, 36 octets of header, then the payload.\n"
	"\n"
	"| at | size | field | meaning |\n"
	"|---|---|---|---|\n"
	"| 0 | 4 | length | octets of payload, at most the row's: %u, but for one row |\n"
	"| 4 | 4 | call | drawn by the asking side, upward, not 0; an answer repeats it; 0: one way |\n"
	"| 8 | 8 | request | the request's id, for every log line |\n"
	"| 16 | 8 | types | repo's answers: counter of changes to types and scripts; else 0 |\n"
	"| 24 | 8 | acl | repo's answers: counter of changes to access control; else 0 |\n"
	"| 32 | 2 | id | the row |\n"
	"| 34 | 2 | flags | END = 2; MORE = 1 and CANCEL = 4 are refused until a message uses them |\n"
	"\n"
	"The first frame each way is HELLO; wire version %u. At most 4,096 calls are in flight on a\n"
	"connection; each ends once: answered, FAILED, or with the connection.\n"
	"\n"
	"A payload is the protobuf (proto2) encoding of the row's message in its one canonical form:\n"
	"fields in ascending order, each at most once, numbers in their shortest form, nothing unknown\n"
	"and nothing behind the last field. Other forms are malformed.\n"
	"\n"
	"## Rows\n"
	"\n"
	"| id | name | from | to | answered by | largest payload | once |\n"
	"|---|---|---|---|---|---|---|\n";
/* clang-format on */

static char *read_file(const char *path)
{
	FILE      *in = fopen(path, "r");
	struct buf text;
	size_t     n;

	if (!in)
		fatal("%s", path);
	buf_init(&text);
	do {
		n = fread(buf_reserve(&text, 4096), 1, 4096, in);
		buf_commit(&text, n);
	} while (n > 0);
	fclose(in);
	buf_append(&text, "", 1);
	return (char *)text.mem; /* nothing was consumed, so it starts there */
}

static const char *peer_name(enum wire_peer peer)
{
	switch (peer) {
	case WIRE_GATEWAY:
		return "gateway";
	case WIRE_AUTH:
		return "auth";
	case WIRE_REPO:
		return "repo";
	case WIRE_PEER:
		return "either";
	}
	return "?";
}

static const char *type_name(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_BYTES:
		return "bytes";
	case PROTOBUF_C_TYPE_BOOL:
		return "bool";
	case PROTOBUF_C_TYPE_UINT32:
		return "uint32";
	case PROTOBUF_C_TYPE_UINT64:
		return "uint64";
	case PROTOBUF_C_TYPE_SINT32:
		return "sint32";
	default:
		fatalx("a field type that PROTOCOL.md has no word for");
	}
}

/* The line of the .proto that begins with the words "message NAME {". */
static const char *find_message(const char *proto, const char *name)
{
	char        start[80];
	const char *at;

	snprintf(start, sizeof(start), "\nmessage %s {", name);
	at = strstr(proto, start);
	if (!at)
		fatalx("boardwalk.proto has no line \"message %s {\"", name);
	return at + 1;
}

/* The comment lines directly above the line at. */
static void put_comment(struct buf *out, const char *proto, const char *at)
{
	const char *first = at;

	for (;;) {
		const char *before = first - 1; /* the newline of the line above */

		while (before > proto && before[-1] != '\n')
			before--;
		if (before == proto || strncmp(before, "//", 2) != 0)
			break;
		first = before;
	}
	while (first < at) {
		const char *end = strchr(first, '\n');

		buf_printf(out, "%.*s\n", (int)(end - first - 3), first + 3);
		first = end + 1;
	}
}

/* What stands behind "NAME = NUMBER;" of a field. */
static void put_field_comment(struct buf *out, const char *message, const char *name,
                              unsigned number)
{
	char        start[80];
	const char *at, *end = strstr(message, "\n}");

	snprintf(start, sizeof(start), " %s = %u;", name, number);
	at = strstr(message, start);
	if (!at || !end || at > end)
		fatalx("boardwalk.proto has no \"%s\"", start);
	at += strlen(start);
	end = strchr(at, '\n');
	at = strstr(at, "//");
	if (at && at < end)
		buf_printf(out, "%.*s", (int)(end - at - 3), at + 3);
}

static void put_row(struct buf *out, unsigned id, const struct wire_row *row)
{
	const struct wire_row *answer = wire_row(row->answer);

	buf_printf(out, "| %u | %s | %s | %s | %s | %u | %s |\n", id, row->name,
	           peer_name(row->from), peer_name(row->to), answer ? answer->name : "-", row->max,
	           row->once ? "once" : "");
}

static void put_fields(struct buf *out, const char *proto, const struct wire_row *row)
{
	const char *message = find_message(proto, row->fields->short_name);

	buf_printf(out, "\n### %s\n\n", row->name);
	put_comment(out, proto, message);
	if (out->mem[out->end - 2] != '\n')
		buf_append(out, "\n", 1);
	buf_printf(out, "| number | field | type | | meaning |\n|---|---|---|---|---|\n");
	for (unsigned i = 0; i < row->fields->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &row->fields->fields[i];

		buf_printf(out, "| %u | %s | %s | %s | ", f->id, f->name, type_name(f->type),
		           f->label == PROTOBUF_C_LABEL_REQUIRED ? "required" : "optional");
		put_field_comment(out, message, f->name, f->id);
		buf_printf(out, " |\n");
	}
}

static void put_all(struct buf *out, const char *proto)
{
	buf_printf(out, intro, WIRE_FRAME_MAX, WIRE_VERSION);
	for (unsigned id = 0; id < WIRE_IDS; id++)
		if (wire_row(id))
			put_row(out, id, wire_row(id));
	buf_printf(out, "\n## Fields\n");
	for (unsigned id = 0; id < WIRE_IDS; id++)
		if (wire_row(id))
			put_fields(out, proto, wire_row(id));
}

int main(int argc, char **argv)
{
	struct buf out;
	char      *proto, *file = NULL;
	int        status = 0;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: protocol_md boardwalk.proto [PROTOCOL.md]\n");
		return 1;
	}
	proto = read_file(argv[1]);
	buf_init(&out);
	put_all(&out, proto);
	if (argc == 2) {
		fwrite(buf_data(&out), 1, buf_size(&out), stdout);
	} else {
		file = read_file(argv[2]);
		buf_append(&out, "", 1);
		status = strcmp((char *)buf_data(&out), file) != 0;
		if (status)
			fprintf(stderr, "%s is not current: protocol_md %s > %s\n", argv[2],
			        argv[1], argv[2]);
	}
	buf_done(&out);
	free(proto);
	free(file);
	return status;
}
