/* generation.c - a bundle of which each copy is a generation of its own: a test copies the file and
 * writes words over the blanks of the text below (see generation.h), so that nothing has to be
 * compiled. It answers at /gen with its number. The words:
 *
 *    n=17            the number; also in the version text
 *    start=fail|crash   start returns an error; writes through a null pointer
 *    init=fail|crash    so does the servlet's init
 *    stop=register   its stop tries to register something, and says in the log if it may
 *    stopped=/x      its stop appends its number to that file
 *    path=/x         another pattern than /gen
 *    context=/c      a context helper of its own at that path; the servlet is in it
 *    one=/c          instead: one service, which is that context, the servlet, and a filter around it
 *    engine=/bin/x   a servlet of the engine at that path too, which answers as the other one
 *    rank=5          service.ranking
 *    files=/r        a resource service for /r/ and below; there is /r/big
 *    auth=+/x        sling.auth.requirements of the engine's servlet
 *    load=crash      its constructor crashes
 *    in=1            start and init fail or crash in worker 1 only
 *    if=/x           and only while that file exists
 *
 * A servlet that is called after its destroy, or before its init, answers "dead". Below /gen,
 * /gen/sleep answers after bw_sleep_ms. */
#include <boardwalk/boardwalk.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORDS \
	"BOARDWALK-GENERATION:" \
	"                                                                                "

static const char words[] = WORDS;
static const char *const volatile words_at =
	words; /* what the file says now, not what it said here */

struct object {
	bool alive;
};

/* The value of a word, "" if it is not there; at most 63 octets. */
static const char *word(const char *name, char value[64])
{
	const char *at = words_at;
	size_t      n = strlen(name), i = 0;

	while ((at = strchr(at, ' ')) != NULL) {
		at++;
		if (strncmp(at, name, n) != 0 || at[n] != '=')
			continue;
		for (at += n + 1; at[i] != ' ' && at[i] != '\0' && i < 63; i++)
			value[i] = at[i];
		break;
	}
	value[i] = '\0';
	return value;
}

static bool is(const char *name, const char *value)
{
	char text[64];

	return strcmp(word(name, text), value) == 0;
}

/* Whether what start and init do wrong is done here and now. The name of the process is "gateway/1". */
static bool applies(void)
{
	char  worker[64], file[64], name[32] = "";
	FILE *in;

	if (word("if", file)[0] != '\0' && access(file, F_OK) != 0)
		return false;
	if (word("in", worker)[0] == '\0')
		return true;
	in = fopen("/proc/self/comm", "re");
	if (in == NULL || fgets(name, sizeof(name), in) == NULL)
		abort();
	fclose(in);
	name[strcspn(name, "\n")] = '\0';
	return strncmp(name, "gateway/", 8) == 0 && strcmp(name + 8, worker) == 0;
}

/* On purpose, by a signal that no sanitizer makes a report of. */
static void crash(void)
{
	abort();
}

__attribute__((constructor)) static void at_load(void)
{
	if (is("load", "crash"))
		crash();
}

static void *make(void *self, struct bw_bundle *for_bundle)
{
	(void)self;
	(void)for_bundle;
	return calloc(1, sizeof(struct object));
}

static void release(void *self, void *object)
{
	(void)self;
	free(object);
}

static int init(void *self, const struct bw_config *cfg)
{
	struct object *o = self;

	(void)cfg;
	if (is("init", "crash") && applies())
		crash();
	if (is("init", "fail") && applies())
		return BW_EIO;
	o->alive = true;
	return BW_OK;
}

static void destroy(void *self)
{
	struct object *o = self;

	o->alive = false;
}

static int answer(struct object *o, struct bw_req *req)
{
	char number[64];

	return bw_res_puts(req, o->alive ? word("n", number) : "dead");
}

static int get(void *self, struct bw_req *req)
{
	struct bw_str info = bw_req_get(req, BW_REQ_PATH_INFO);
	int           err = BW_OK;

	if (bw_str_eq(info, BW_STR("/sleep")))
		err = bw_sleep_ms(req, 200);
	return err != BW_OK ? err : answer(self, req);
}

static const struct bw_servlet servlet = {
	.size = sizeof(servlet), .init = init, .destroy = destroy, .get = get
};
static const struct bw_context_helper helper = { .size = sizeof(helper) };
static const int                      nothing;

static int register_servlet(struct bw_bundle *self, struct bw_prop *props, size_t n)
{
	const struct bw_service_object object = { .type = &servlet,
		                                  .make = make,
		                                  .release = release };

	return bw_register(self, BW_SERVLET, &object, props, n, NULL);
}

static int pass(void *self, struct bw_req *req, struct bw_chain *chain)
{
	int err = bw_chain_next(chain, req);

	return err == BW_OK ? answer(self, req) : err;
}

static const struct bw_filter filter = { .size = sizeof(filter), .filter = pass };

static int register_one(struct bw_bundle *self, const char *path)
{
	const struct bw_interface      as[] = { { BW_CONTEXT_HELPER, &helper },
		                                { BW_SERVLET, &servlet },
		                                { BW_FILTER, &filter } };
	const struct bw_prop           props[] = { BW_P_STRING(BW_CONTEXT_NAME, "own"),
		                                   BW_P_STRING(BW_CONTEXT_PATH, path),
		                                   BW_P_STRING(BW_CONTEXT_SELECT, "own"),
		                                   BW_P_STRING(BW_SERVLET_PATTERN, "/gen/*"),
		                                   BW_P_STRING(BW_FILTER_PATTERN, "/*") };
	static struct object           single;
	const struct bw_service_object object = { .self = &single };

	return bw_register_as(self, as, 3, &object, props, 5, NULL);
}

static int start(struct bw_bundle *self)
{
	char           path[64], pattern[80], context[64], engine[64], rank[64], auth[64];
	struct bw_prop props[3];
	int            err = BW_OK;

	if (is("start", "crash") && applies())
		crash();
	if (word("one", path)[0])
		return register_one(self, path);
	word("path", path);
	snprintf(pattern, sizeof(pattern), "%s/*", path[0] ? path : "/gen");
	props[0] = (struct bw_prop)BW_P_STRING(BW_SERVLET_PATTERN, pattern);
	props[1] = (struct bw_prop)BW_P_INT(BW_SERVICE_RANKING, atoi(word("rank", rank)));
	props[2] = (struct bw_prop)BW_P_STRING(BW_CONTEXT_SELECT, "own");
	if (word("context", context)[0])
		err = bw_register_context(self, &helper, NULL, BW_P_STRING(BW_CONTEXT_NAME, "own"),
		                          BW_P_STRING(BW_CONTEXT_PATH, context));
	if (err == BW_OK)
		err = register_servlet(self, props, context[0] ? 3 : 2);
	props[0] = (struct bw_prop)BW_P_STRING(BW_SLING_PATHS, word("engine", engine));
	props[1] = (struct bw_prop)BW_P_STRING(BW_AUTH_REQUIREMENTS, word("auth", auth));
	if (err == BW_OK && engine[0])
		err = register_servlet(self, props, auth[0] ? 2 : 1);
	if (err == BW_OK && word("files", engine)[0]) {
		snprintf(pattern, sizeof(pattern), "%s/*", engine);
		err = bw_register_object(self, "test.Files", &nothing, NULL,
		                         BW_P_STRING(BW_RESOURCE_PATTERN, pattern),
		                         BW_P_STRING(BW_RESOURCE_PREFIX, "/files"));
	}
	return err != BW_OK ? err : is("start", "fail") && applies() ? BW_EIO : BW_OK;
}

static void tell_stop(const char *path)
{
	char  number[64];
	FILE *out = fopen(path, "ae");

	if (out == NULL)
		abort();
	fputs(word("n", number), out);
	fclose(out);
}

static void stop(struct bw_bundle *self)
{
	char           path[64];
	struct bw_prop props[1] = { BW_P_STRING(BW_SERVLET_PATTERN, "/late") };

	if (word("stopped", path)[0] != '\0')
		tell_stop(path);
	if (is("stop", "register") && register_servlet(self, props, 1) == BW_OK)
		bw_log(self, NULL, BW_LOG_ERROR, "it could register while it stops");
}

const struct bw_host *bw_host;

static int start_with(const struct bw_host *host, struct bw_bundle *self)
{
	bw_host = host;
	return start(self);
}

/* More than the buffer of a response, and nothing in the file. */
static char                          big[100000];
static const struct bw_embedded_file files[] = { { "files/big", big, sizeof(big), 1000 } };
static const struct bw_embedded      embedded = { 1, files };

extern const struct bw_bundle_descriptor                                 boardwalk_bundle;
__attribute__((visibility("default"))) const struct bw_bundle_descriptor boardwalk_bundle = {
	.magic = BW_BUNDLE_MAGIC,
	.abi_major = BW_ABI_MAJOR,
	.abi_minor = BW_ABI_MINOR,
	.size = sizeof(struct bw_bundle_descriptor),
	.symbolic_name = GENERATION_NAME,
	.version = "1.0.0",
	.build = words,
	.start = start_with,
	.stop = stop,
	.embedded = &embedded,
};
