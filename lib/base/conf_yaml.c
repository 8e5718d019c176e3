/* conf_yaml.c - the settings file, read event by event so that every complaint names its line.
 *
 *   document:  section:            own: each key once, with a value that fits
 *                key: value        another process's: skipped, but no section twice
 *                key: [value, ...]
 *
 * Nothing nests deeper in an own section, so nothing here recurses. Anchors, aliases, tags and
 * second documents have no use in settings and are refused.
 * Owns: the parser and the event at hand. Runs in: every process, at start.
 * Fails with: -1, err says file, line and reason. Tests: tests/unit/base/conf_test.c. */
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "conf_impl.h"
#include "fatal.h"

struct reader {
	struct conf_load *load;
	FILE             *in;
	yaml_parser_t     parser;
	yaml_event_t      event; /* the event at hand; one at a time */
	bool              has_event;
};

static unsigned line_of(const struct reader *r)
{
	return (unsigned)r->event.start_mark.line + 1;
}

/* Octets that are no text are found while reading ahead: the parser knows their offset only. */
static unsigned line_at(FILE *in, size_t offset)
{
	unsigned line = 1;
	int      c;

	rewind(in);
	while (offset-- > 0 && (c = getc(in)) != EOF)
		line += c == '\n';
	return line;
}

static int fail_parsing(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	const char          *context = p->context != NULL ? p->context : "";
	unsigned line = p->error == YAML_READER_ERROR ? line_at(r->in, p->problem_offset)
	                                              : (unsigned)p->problem_mark.line + 1;

	return conf_fail(r->load, line, "malformed: %s%s%s",
	                 p->problem != NULL ? p->problem : "not YAML", *context != '\0' ? " " : "",
	                 context);
}

static bool has_anchor_or_tag(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor != NULL || e->data.scalar.tag != NULL;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor != NULL || e->data.sequence_start.tag != NULL;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor != NULL || e->data.mapping_start.tag != NULL;
	default:
		return e->type == YAML_ALIAS_EVENT;
	}
}

/* Lets go of the event at hand and gets the next. */
static int next(struct reader *r)
{
	if (r->has_event)
		yaml_event_delete(&r->event);
	r->has_event = yaml_parser_parse(&r->parser, &r->event) != 0;
	if (!r->has_event)
		return fail_parsing(r);
	if (has_anchor_or_tag(&r->event))
		return conf_fail(r->load, line_of(r), "anchors, aliases and tags have no use here");
	if (r->event.type == YAML_SCALAR_EVENT &&
	    strlen((const char *)r->event.data.scalar.value) != r->event.data.scalar.length)
		return conf_fail(r->load, line_of(r), "a text with a zero octet");
	return 0;
}

static const char *scalar(const struct reader *r)
{
	return (const char *)r->event.data.scalar.value;
}

/* "key:" with nothing behind it, or the words YAML has for nothing. */
static bool is_null(const struct reader *r)
{
	const char *text = scalar(r);

	return r->event.type == YAML_SCALAR_EVENT &&
	       r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (*text == '\0' || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0);
}

/* Over the value at hand, whatever it is, to its last event. */
static int skip_value(struct reader *r)
{
	size_t depth = 0;

	for (;;) {
		switch (r->event.type) {
		case YAML_SEQUENCE_START_EVENT:
		case YAML_MAPPING_START_EVENT:
			depth++;
			break;
		case YAML_SEQUENCE_END_EVENT:
		case YAML_MAPPING_END_EVENT:
			depth--;
			break;
		default:
			break;
		}
		if (depth == 0)
			return 0;
		if (next(r) != 0)
			return -1;
	}
}

static int read_list(struct reader *r, const char *section, const char *name,
                     struct conf_list *list)
{
	for (;;) {
		if (next(r) != 0)
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (r->event.type != YAML_SCALAR_EVENT || is_null(r))
			return conf_fail(r->load, line_of(r), "%s.%s: an item that is not a text",
			                 section, name);
		conf_list_add(list, scalar(r), strlen(scalar(r)));
	}
}

/* The value at hand is that of key. */
static int read_value(struct reader *r, const char *section, const struct conf_key *key)
{
	const char      *name = key->name + strlen(section) + 1;
	unsigned         line = line_of(r);
	struct conf_text value = { 0 };
	int              result = 0;

	if (r->event.type == YAML_MAPPING_START_EVENT)
		return conf_fail(r->load, line, "%s: a mapping where a value is expected",
		                 key->name);
	if (is_null(r))
		return conf_fail(r->load, line,
		                 "%s: no value (an empty text is \"\", an empty list [])",
		                 key->name);
	if (r->event.type == YAML_SEQUENCE_START_EVENT) {
		value.is_list = true;
		result = read_list(r, section, name, &value.list);
	} else {
		value.text = xstrdup(scalar(r));
	}
	if (result == 0 && !conf_set_value(key, r->load->settings, &value))
		result = conf_fail_value(r->load, line, key);
	conf_text_done(&value);
	return result;
}

/* One key of an own section; the event at hand is the key. */
static int read_key(struct reader *r, const char *section)
{
	struct conf_load      *l = r->load;
	const struct conf_key *key;
	unsigned              *line;

	if (r->event.type != YAML_SCALAR_EVENT)
		return conf_fail(l, line_of(r), "the name of a setting is expected");
	key = conf_find_key(l, section, scalar(r));
	if (key == NULL)
		return conf_fail(l, line_of(r), "unknown setting %s.%s", section, scalar(r));
	line = &l->key_lines[key - l->keys];
	if (*line != 0)
		return conf_fail(l, line_of(r), "%s is set on line %u already", key->name, *line);
	*line = line_of(r);
	return next(r) != 0 ? -1 : read_value(r, section, key);
}

static int read_own_section(struct reader *r, const char *section)
{
	if (is_null(r))
		return 0;
	if (r->event.type != YAML_MAPPING_START_EVENT)
		return conf_fail(r->load, line_of(r), "section %s: settings are expected", section);
	for (;;) {
		if (next(r) != 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (read_key(r, section) != 0)
			return -1;
	}
}

/* The event at hand is the section's name. */
static int read_section(struct reader *r)
{
	struct conf_load *l = r->load;
	const char       *section;
	size_t            i;

	if (r->event.type != YAML_SCALAR_EVENT)
		return conf_fail(l, line_of(r), "the name of a section is expected");
	for (i = 0; i < CONF_SECTIONS_MAX && l->sections[i] != NULL; i++) {
		if (strcmp(l->sections[i], scalar(r)) == 0)
			break;
	}
	if (i == CONF_SECTIONS_MAX || l->sections[i] == NULL)
		return conf_fail(l, line_of(r), "unknown section %s", scalar(r));
	section = l->sections[i];
	if (l->section_lines[i] != 0)
		return conf_fail(l, line_of(r), "section %s begins on line %u already", section,
		                 l->section_lines[i]);
	l->section_lines[i] = line_of(r);
	if (next(r) != 0)
		return -1;
	return conf_is_own_section(l, section) ? read_own_section(r, section) : skip_value(r);
}

static int read_document(struct reader *r)
{
	if (next(r) != 0)
		return -1;
	if (!is_null(r)) {
		if (r->event.type != YAML_MAPPING_START_EVENT)
			return conf_fail(r->load, line_of(r), "sections are expected");
		for (;;) {
			if (next(r) != 0)
				return -1;
			if (r->event.type == YAML_MAPPING_END_EVENT)
				break;
			if (read_section(r) != 0)
				return -1;
		}
	}
	return next(r); /* the document's end */
}

static int read_stream(struct reader *r)
{
	if (next(r) != 0) /* the stream's begin */
		return -1;
	if (next(r) != 0)
		return -1;
	if (r->event.type == YAML_STREAM_END_EVENT)
		return 0; /* nothing but comments */
	if (read_document(r) != 0 || next(r) != 0)
		return -1;
	if (r->event.type != YAML_STREAM_END_EVENT)
		return conf_fail(r->load, line_of(r), "a second document");
	return 0;
}

int conf_read_yaml(struct conf_load *l, FILE *in)
{
	struct reader r = { .load = l, .in = in };
	int           result;

	if (!yaml_parser_initialize(&r.parser))
		return conf_fail(l, 0, "out of memory");
	yaml_parser_set_input_file(&r.parser, in);
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	result = read_stream(&r);
	if (r.has_event)
		yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return result;
}
