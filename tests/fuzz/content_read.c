/* Fuzz target: cli/content_json.c. The input is a file to import, in two pieces. Every item is JSON with
 * the members that repo.import_nodes reads, at or below the path; a refusal has a reason. */
#include <content_json.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool on_item(void *arg, const char *json, size_t n)
{
	json_t     *item = json_loadb(json, n, 0, NULL), *path = json_object_get(item, "path");
	const char *text = json_string_value(path);

	(void)arg;
	if (text == NULL || strncmp(text, "/c", 2) != 0 || (text[2] != '\0' && text[2] != '/') ||
	    !json_is_boolean(json_object_get(item, "whole")) ||
	    !json_is_array(json_object_get(item, "mixins")) ||
	    !json_is_object(json_object_get(item, "properties")) ||
	    !json_is_array(json_object_get(item, "acl")))
		abort();
	json_decref(item);
	return true;
}

static bool on_octets(void *arg, const void *p, size_t n)
{
	uint64_t *sum = arg;

	for (size_t i = 0; i < n; i++)
		*sum += ((const uint8_t *)p)[i];
	return true;
}

static bool on_binary(void *arg, const char *expected, char value[96])
{
	(void)arg;
	if (expected[0] != '\0' && (strlen(expected) < 66 || expected[64] != ' '))
		abort();
	snprintf(value, 96, "%064d %d", 0, 0);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct content_ops ops = { on_item, on_octets, on_binary };
	uint64_t                        sum = 0;
	struct content_reader          *r = content_reader_new("/c", &ops, &sum);
	bool                            read = size < 2 || content_read(r, data, size / 2);

	if (size > 0 && read)
		read = size < 2 ? content_read(r, data, size)
		                : content_read(r, data + size / 2, size - size / 2);
	if (read)
		read = content_read(r, "", 0);
	if (read == (content_error(r) != NULL))
		abort();
	content_reader_free(r);
	return 0;
}
