/* compose.c - docker-compose.yml into structs.
 *
 * Owns: everything it hands out, for the life of the process. Runs in: tests. Fails with: abort after
 * a line on stderr. Tests: tests/system/compose_test.c. */
#include "compose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static yaml_document_t document;
static struct compose  compose;

__attribute__((noreturn, format(printf, 1, 2))) static void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("docker-compose.yml: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

static const char *text(const yaml_node_t *node)
{
	if (node == NULL || node->type != YAML_SCALAR_NODE)
		give_up("a text was expected");
	return (const char *)node->data.scalar.value;
}

static bool is_true(const yaml_node_t *node)
{
	return strcmp(text(node), "true") == 0;
}

/* Number i of a list; NULL behind the last one. */
static yaml_node_t *item(const yaml_node_t *list, size_t i)
{
	if (list->type != YAML_SEQUENCE_NODE)
		give_up("line %zu: a list was expected", list->start_mark.line + 1);
	if (list->data.sequence.items.start + i >= list->data.sequence.items.top)
		return NULL;
	if (i >= COMPOSE_MAX - 1)
		give_up("line %zu: too many", list->start_mark.line + 1);
	return yaml_document_get_node(&document, list->data.sequence.items.start[i]);
}

/* Pair number i of a map; false behind the last one. */
static bool pair(const yaml_node_t *map, size_t i, const char **ret_key, yaml_node_t **ret_value)
{
	const yaml_node_pair_t *at = map->data.mapping.pairs.start + i;

	if (map->type != YAML_MAPPING_NODE)
		give_up("line %zu: a map was expected", map->start_mark.line + 1);
	if (at >= map->data.mapping.pairs.top)
		return false;
	*ret_key = text(yaml_document_get_node(&document, at->key));
	*ret_value = yaml_document_get_node(&document, at->value);
	return true;
}

static yaml_node_t *find(const yaml_node_t *map, const char *wanted)
{
	const char  *key;
	yaml_node_t *value;

	for (size_t i = 0; pair(map, i, &key, &value); i++)
		if (strcmp(key, wanted) == 0)
			return value;
	return NULL;
}

static void read_texts(const yaml_node_t *list, const char **ret)
{
	yaml_node_t *node;

	for (size_t i = 0; (node = item(list, i)) != NULL; i++)
		ret[i] = text(node);
}

static char *copy(const char *from, size_t n)
{
	char *to = strndup(from, n);

	if (to == NULL)
		give_up("out of memory");
	return to;
}

/* source:target[:ro] */
static void read_volumes(struct compose_service *s, const yaml_node_t *list)
{
	yaml_node_t *node;

	for (size_t i = 0; (node = item(list, i)) != NULL; i++) {
		const char *whole = text(node), *target = strchr(whole, ':'), *end;

		if (target == NULL)
			give_up("%s: no named volume", whole);
		end = strchr(target + 1, ':');
		s->volumes[i].source = copy(whole, (size_t)(target - whole));
		s->volumes[i].target =
			copy(target + 1, end ? (size_t)(end - target - 1) : strlen(target + 1));
		s->volumes[i].read_only = end != NULL && strcmp(end, ":ro") == 0;
	}
}

/* target[:options] */
static void read_tmpfs(struct compose_service *s, const yaml_node_t *list)
{
	yaml_node_t *node;

	for (size_t i = 0; (node = item(list, i)) != NULL; i++) {
		const char *whole = text(node);
		size_t      n = strcspn(whole, ":");

		s->tmpfs[i].target = copy(whole, n);
		s->tmpfs[i].source = whole[n] == ':' ? whole + n + 1 : "";
	}
}

static void read_environment(struct compose_service *s, const yaml_node_t *map)
{
	const char  *key;
	yaml_node_t *value;

	for (size_t i = 0; pair(map, i, &key, &value); i++) {
		char *variable;

		if (i >= COMPOSE_MAX - 1 || asprintf(&variable, "%s=%s", key, text(value)) < 0)
			give_up("%s: the environment", s->name);
		s->environment[i] = variable;
	}
}

static void read_depends(struct compose_service *s, const yaml_node_t *map)
{
	const char  *key;
	yaml_node_t *value;

	for (size_t i = 0; i < COMPOSE_MAX - 1 && pair(map, i, &key, &value); i++)
		s->depends[i] = (struct compose_depends){ key, text(find(value, "condition")) };
}

static void read_health(struct compose_service *s, const yaml_node_t *map)
{
	const char *words[COMPOSE_MAX] = { NULL };

	read_texts(find(map, "test"), words);
	if (words[0] == NULL || strcmp(words[0], "CMD") != 0)
		give_up("%s: a health check that is no CMD", s->name);
	memcpy(s->health, words + 1, sizeof(words) - sizeof(*words));
}

static void read_user(struct compose_service *s, const yaml_node_t *node)
{
	unsigned uid, gid;

	if (sscanf(text(node), "%u:%u", &uid, &gid) != 2 || uid == 0 || gid == 0)
		give_up("%s: the user is no pair of numbers above 0", s->name);
	s->uid = uid;
	s->gid = gid;
}

/* What Docker does with these is of no interest to the test, or it does it in its own way. */
static bool is_passed_over(const char *key)
{
	static const char *const keys[] = { "build", "image", "restart", "ports", "stop_signal" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static void read_key(struct compose_service *s, const char *key, const yaml_node_t *value)
{
	if (strcmp(key, "command") == 0)
		read_texts(value, s->command);
	else if (strcmp(key, "secrets") == 0)
		read_texts(value, s->secrets);
	else if (strcmp(key, "environment") == 0)
		read_environment(s, value);
	else if (strcmp(key, "volumes") == 0)
		read_volumes(s, value);
	else if (strcmp(key, "tmpfs") == 0)
		read_tmpfs(s, value);
	else if (strcmp(key, "depends_on") == 0)
		read_depends(s, value);
	else if (strcmp(key, "healthcheck") == 0)
		read_health(s, value);
	else if (strcmp(key, "user") == 0)
		read_user(s, value);
	else if (strcmp(key, "networks") == 0)
		s->network = item(value, 1) == NULL ? text(item(value, 0)) : NULL;
	else if (strcmp(key, "read_only") == 0)
		s->read_only = is_true(value);
	else if (strcmp(key, "init") == 0)
		s->has_init = is_true(value);
	else if (strcmp(key, "cap_drop") == 0)
		s->no_capabilities = strcmp(text(item(value, 0)), "ALL") == 0;
	else if (strcmp(key, "security_opt") == 0)
		s->no_new_privileges = strcmp(text(item(value, 0)), "no-new-privileges:true") == 0;
	else if (!is_passed_over(key))
		give_up("%s: the test does not know the key %s", s->name, key);
}

/* What is merged in comes first, so that the service's own keys win. */
static void read_service(struct compose_service *s, const char *name, const yaml_node_t *map)
{
	const yaml_node_t *merged = find(map, "<<");
	const char        *key;
	yaml_node_t       *value;

	s->name = name;
	for (size_t i = 0; merged != NULL && pair(merged, i, &key, &value); i++)
		read_key(s, key, value);
	for (size_t i = 0; pair(map, i, &key, &value); i++)
		if (strcmp(key, "<<") != 0)
			read_key(s, key, value);
	if (s->network == NULL || s->uid == 0 || s->command[0] == NULL)
		give_up("%s: it needs one network, a user and a command", name);
}

const struct compose *compose_read(const char *file)
{
	yaml_parser_t parser;
	const char   *key;
	yaml_node_t  *value, *services;
	FILE         *in = fopen(file, "re");

	if (in == NULL || !yaml_parser_initialize(&parser))
		give_up("it cannot be read");
	yaml_parser_set_input_file(&parser, in);
	if (!yaml_parser_load(&parser, &document) || yaml_document_get_root_node(&document) == NULL)
		give_up("line %zu: %s", parser.problem_mark.line + 1, parser.problem);
	yaml_parser_delete(&parser);
	fclose(in);
	services = find(yaml_document_get_root_node(&document), "services");
	if (services == NULL)
		give_up("no services");
	for (size_t i = 0; i < COMPOSE_MAX && pair(services, i, &key, &value); i++)
		read_service(&compose.services[compose.n++], key, value);
	return &compose;
}

const struct compose_service *compose_find(const struct compose *all, const char *name)
{
	for (unsigned i = 0; i < all->n; i++)
		if (strcmp(all->services[i].name, name) == 0)
			return &all->services[i];
	give_up("there is no service %s", name);
}
