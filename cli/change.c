/* change.c - the operator's half of a change. The gateway's half is gateway/control/changes.c.
 *
 *   lock -> the file under a new generation -> its repoinit script -> prepare in all workers
 *        -> the store's state is replaced (now it is made) -> publish in all workers -> old file away
 *
 * Whatever ends this half way leaves a store that says one thing or the other, and the gateway follows
 * what it says.
 *
 * Owns: the store's lock, for the time of a change. Runs in: the operator's commands.
 * Fails with: false after a line on stderr. Tests: tests/system/bundle_test.c. */
#include "change.h"

#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <repoinit/repoinit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database.h"
#include "repoinit.h"
#include "speak.h"

/* ---- the store ---------------------------------------------------------------------------------- */

struct work {
	const struct instance    *instance;
	enum change_action        action;
	const char               *name;
	const struct bundle_file *file; /* INSTALL, UPDATE */
	char                     *folder;
	int                       lock;
	struct store              store;
	uint64_t                  generation; /* of this change */
	char                     *path;       /* its file; NULL: it has none */
	char                     *old_path;   /* what is not needed after it */
};

static bool open_store(struct work *w)
{
	char *file;
	char  err[512];

	w->folder = xasprintf("%s/bundles", w->instance->data);
	file = xasprintf("%s/lock", w->folder);
	w->lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (w->lock < 0)
		complain_errno("%s", file);
	else
		while (flock(w->lock, LOCK_EX) != 0 && errno == EINTR)
			;
	free(file);
	return w->lock >= 0 &&
	       (store_read(w->folder, &w->store, err, sizeof(err)) || complain("%s", err));
}

static void close_store(struct work *w)
{
	if (w->lock >= 0)
		close(w->lock);
	store_done(&w->store);
	free(w->folder);
	free(w->path);
	free(w->old_path);
}

static bool write_state(const struct work *w, bool durable)
{
	char err[512];

	return store_write(w->folder, &w->store, durable, err, sizeof(err)) || complain("%s", err);
}

/* The number is written down before anything has it, so that nobody gets it again. It need not be on
 * the disk: what remembers it otherwise are processes, and they would not survive either. */
static bool take_generation(struct work *w)
{
	w->generation = w->store.next++;
	return write_state(w, false);
}

static bool make_file(struct work *w)
{
	const struct store_bundle *old = store_find(&w->store, w->name);

	if (old != NULL && w->action != CHANGE_STOP)
		w->old_path = store_file(w->folder, w->name, old->generation);
	if (w->action == CHANGE_STOP || w->action == CHANGE_UNINSTALL)
		return true;
	w->path = store_file(w->folder, w->name, w->generation);
	if (w->action == CHANGE_START ? bundle_file_copy(w->old_path, w->path)
	                              : bundle_file_put(w->file, w->path))
		return true;
	free(w->path);
	w->path = NULL;
	return false;
}

static void set_state(struct work *w)
{
	struct store_bundle *b = store_find(&w->store, w->name);

	if (w->action == CHANGE_UNINSTALL) {
		store_remove(&w->store, b);
		return;
	}
	b = b == NULL                  ? store_add(&w->store, w->name)
	    : w->action == CHANGE_STOP ? b
	                               : store_to_end(&w->store, b);
	b->stopped = w->action == CHANGE_STOP;
	if (!b->stopped)
		b->generation = w->generation;
	if (w->file != NULL) {
		free(b->version);
		b->version = xstrdup(w->file->version);
		strcpy(b->sha256, w->file->sha256);
	}
}

/* ---- the script beside the file --------------------------------------------------------------------- */

/* FILE.so has FILE.repoinit. Heap; NULL: there is none. */
static char *find_script(const char *path)
{
	size_t n = strlen(path);
	char  *script;

	if (n > 3 && strcmp(path + n - 3, ".so") == 0)
		n -= 3;
	script = xasprintf("%.*s.repoinit", (int)n, path);
	if (access(script, F_OK) == 0)
		return script;
	free(script);
	return NULL;
}

/* In a process of its own, since rights are given up for good. */
static bool run_as_owner(const struct instance *instance, const char *name, const char *text,
                         size_t n)
{
	int   status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct database db = { 0 };
		bool            done = instance_become_owner(instance) &&
		            database_open(&db, instance->owner_conninfo, false) &&
		            repoinit_run(&db, instance->settings, name, text, n, true);

		database_close(&db);
		fflush(NULL);
		_exit(done ? CLI_OK : CLI_FAILED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

static bool run_script(const struct work *w)
{
	char  *script = w->file != NULL ? find_script(w->file->path) : NULL, *text;
	size_t n = 0;
	bool   done;

	if (script == NULL)
		return true;
	text = read_file(script, REPOINIT_MAX_SCRIPT, &n);
	if (w->instance->owner_conninfo == NULL)
		done = complain("%s: there is no way to the database from here (DATABASE_URL)",
		                script);
	else
		done = text != NULL && run_as_owner(w->instance, script, text, n);
	if (text != NULL)
		explicit_bzero(text, n); /* it may hold passwords */
	free(text);
	free(script);
	return done;
}

/* ---- a change -------------------------------------------------------------------------------------- */

static const struct {
	const char *verb, *done;
} words[] = {
	[CHANGE_INSTALL] = { "install", "installed" },
	[CHANGE_UPDATE] = { "update", "updated" },
	[CHANGE_START] = { "start", "started" },
	[CHANGE_STOP] = { "stop", "stopped" },
	[CHANGE_UNINSTALL] = { "uninstall", "uninstalled" },
};

static bool check(const struct work *w)
{
	const struct store_bundle *b = store_find(&w->store, w->name);

	if (w->action == CHANGE_INSTALL)
		return b == NULL ||
		       complain("%s is installed; `boardwalk bundle update` replaces it", w->name);
	if (w->action == CHANGE_UPDATE)
		return true; /* of the settings' bundles only the workers know */
	if (b == NULL)
		return complain("%s is not installed", w->name);
	return w->action != CHANGE_STOP || !b->stopped ||
	       complain("%s is stopped already", w->name);
}

static bool say_no(const struct work *w, char *reason)
{
	complain("%s of %s: %s", words[w->action].verb, w->name, reason);
	free(reason);
	return false;
}

/* What the bundle registers, for the time when it does not run and its patterns answer 503. */
static void keep_footprint(const char *folder, const char *name, struct speaker *gateway)
{
	json_t *lines = NULL, *answer;
	char   *text;

	answer = speak_ask(gateway,
	                   json_pack("{s:s, s:[s]}", "verb", "bundle.footprint", "args", name),
	                   &lines);
	text = json_dumps(json_object_get(json_array_get(lines, 0), "answer"),
	                  JSON_COMPACT | JSON_ENCODE_ANY);
	if (text != NULL && !store_set_footprint(folder, name, text, strlen(text)))
		complain_errno("%s/%s.footprint", folder, name);
	free(text);
	json_decref(lines);
	json_decref(answer);
}

/* The same for the bundles of the settings; of one that does not run, what was kept before. */
static void keep_remembered(const char *folder, struct speaker *gateway)
{
	json_t *lines = NULL, *answer, *now;
	char   *old = store_remembered(folder), *text;
	json_t *all = old != NULL ? json_loads(old, 0, NULL) : NULL;

	answer = speak_ask(gateway, json_pack("{s:s}", "verb", "bundle.remember"), &lines);
	now = json_object_get(json_array_get(lines, 0), "answer");
	if (!json_is_object(all)) {
		json_decref(all);
		all = json_object();
	}
	if (json_is_object(now) && json_object_size(now) > 0) {
		json_object_update(all, now);
		text = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
		if (text != NULL && !store_set_remembered(folder, text, strlen(text)))
			complain_errno("%s/settings.json", folder);
		free(text);
	}
	json_decref(all);
	json_decref(lines);
	json_decref(answer);
	free(old);
}

/* The store has it. A gateway that does not answer will start with what the store says. One that has
 * dropped the change (it does not wait for ever) goes on with the old one, and so does the store. */
static bool publish(struct work *w, struct speaker *gateway, const struct store *before)
{
	json_t     *answer = speak_ask(gateway, json_pack("{s:s}", "verb", "bundle.publish"), NULL);
	const char *error = json_string_value(json_object_get(answer, "error"));
	char        err[512];
	bool        done = answer == NULL || json_is_true(json_object_get(answer, "ok"));

	if (answer == NULL) {
		complain("%s of %s is in the store: the gateway starts with it",
		         words[w->action].verb, w->name);
		speak_close(gateway);
	} else if (!done) {
		complain("%s of %s: %s", words[w->action].verb, w->name,
		         error != NULL ? error : "");
		if (!store_write(w->folder, before, true, err, sizeof(err)))
			complain("%s", err);
	}
	json_decref(answer);
	return done;
}

/* What is not needed any more, and what will be when it does not run. */
static void clean_up(const struct work *w, struct speaker *gateway)
{
	if (w->path != NULL && gateway->fd >= 0) {
		keep_footprint(w->folder, w->name, gateway);
		keep_remembered(w->folder, gateway);
	}
	if (w->old_path != NULL)
		unlink(w->old_path);
	if (w->action == CHANGE_UNINSTALL) {
		char *footprint = xasprintf("%s/%s.footprint", w->folder, w->name);

		unlink(footprint);
		free(footprint);
	}
}

static void announce(const struct work *w)
{
	const struct store_bundle *b = store_find(&w->store, w->name);

	printf("%s %s", words[w->action].done, w->name);
	if (w->path != NULL)
		printf(" %s, generation %llu", b->version, (unsigned long long)b->generation);
	putchar('\n');
	fflush(stdout);
}

/* All workers have prepared it. */
static bool decide(struct work *w, struct speaker *gateway)
{
	struct store before;
	char         err[512];
	bool         done = false;

	if (!store_read(w->folder, &before, err, sizeof(err)))
		return complain("%s", err);
	set_state(w);
	if (!write_state(w, true)) {
		/* What is on the disk now is not known. The gateway looks when we hang up, and must
		 * find the file if it is there. */
		free(w->path);
		w->path = NULL;
	} else if (publish(w, gateway, &before)) {
		announce(w);
		clean_up(w, gateway);
		done = true;
	}
	store_done(&before);
	return done;
}

/* A worker whose start of it failed at a (re)start has it refused, which the store does not know. */
static bool is_refused_somewhere(const char *name, struct speaker *gateway)
{
	json_t *lines = NULL, *last, *line, *bundle;
	size_t  i, k;
	bool    is = false;

	last = speak_ask(gateway, json_pack("{s:s}", "verb", "bundle.list"), &lines);
	json_array_foreach (lines, i, line)
		json_array_foreach (json_object_get(line, "answer"), k, bundle) {
			const char *its = json_string_value(json_object_get(bundle, "name"));
			const char *state = json_string_value(json_object_get(bundle, "state"));

			is = is || (its != NULL && state != NULL && strcmp(its, name) == 0 &&
			            strcmp(state, "INSTALLED") == 0);
		}
	json_decref(lines);
	json_decref(last);
	return is;
}

/* What the gateway is asked to do. A start is one of all workers or of none: where some have refused
 * the bundle, the others replace what they run by the same, as an update does. */
static const char *verb_for_gateway(const struct work *w, struct speaker *gateway)
{
	enum change_action action = w->action;

	if (action == CHANGE_START && is_refused_somewhere(w->name, gateway))
		action = CHANGE_UPDATE;
	return words[action].verb;
}

static bool run(struct work *w, struct speaker *gateway)
{
	const char *verb = verb_for_gateway(w, gateway);
	char       *reason;

	if (!take_generation(w) || !make_file(w) || !run_script(w))
		return false;
	if (w->action == CHANGE_STOP)
		keep_footprint(w->folder, w->name, gateway);
	reason = speak_do(gateway, json_pack("{s:s, s:s, s:s, s:I}", "verb", "bundle.prepare",
	                                     "action", verb, "name", w->name, "generation",
	                                     (json_int_t)w->generation));
	if (reason != NULL)
		return say_no(w, reason);
	return decide(w, gateway);
}

bool change_run(const struct instance *instance, enum change_action action, const char *name,
                const struct bundle_file *file)
{
	struct work w = {
		.instance = instance, .action = action, .name = name, .file = file, .lock = -1
	};
	struct speaker gateway = { .fd = -1 };
	bool           done;

	done = open_store(&w) && check(&w) && speak_open(&gateway, instance) && run(&w, &gateway);
	if (!done && w.path != NULL)
		unlink(w.path);
	speak_close(&gateway);
	close_store(&w);
	return done;
}

/* ---- before the start ------------------------------------------------------------------------------- */

static bool take_seed(struct work *w)
{
	const char          *taken = store_seed(&w->store, w->name);
	struct store_bundle *b = store_find(&w->store, w->name);

	if (taken != NULL && strcmp(taken, w->file->sha256) == 0)
		return true;
	w->action = b == NULL ? CHANGE_INSTALL : CHANGE_UPDATE;
	if (!take_generation(w) || !make_file(w))
		return false;
	set_state(w);
	store_set_seed(&w->store, w->name, w->file->sha256);
	if (!write_state(w, true))
		return false;
	if (w->old_path != NULL)
		unlink(w->old_path);
	return true;
}

static bool seed_file(const struct instance *instance, const char *path)
{
	struct work        w = { .instance = instance, .lock = -1 };
	struct bundle_file file;
	bool               done = true;

	if (bundle_file_read(&file, path)) {
		w.name = file.name;
		w.file = &file;
		done = open_store(&w) && take_seed(&w);
		close_store(&w);
	}
	bundle_file_done(&file);
	return done;
}

/* Files that the state does not name are of changes that were not made, or have been replaced. */
static void remove_leftovers(const struct work *w)
{
	char  *pattern = xasprintf("%s/*.so", w->folder);
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			bool is_named = false;

			for (size_t k = 0; k < w->store.n_bundles && !is_named; k++) {
				const struct store_bundle *b = &w->store.bundles[k];
				char *file = store_file(w->folder, b->name, b->generation);

				is_named = strcmp(file, found.gl_pathv[i]) == 0;
				free(file);
			}
			if (!is_named)
				unlink(found.gl_pathv[i]);
		}
		globfree(&found);
	}
	free(pattern);
}

bool change_tidy(const struct instance *instance)
{
	struct work w = { .instance = instance, .lock = -1 };
	bool        done = open_store(&w);

	if (done)
		remove_leftovers(&w);
	close_store(&w);
	return done;
}

bool change_keep_footprints(const struct instance *instance)
{
	struct work    w = { .instance = instance, .lock = -1 };
	struct speaker gateway = { .fd = -1 };
	bool           done = open_store(&w) && speak_open(&gateway, instance);

	for (size_t i = 0; done && i < w.store.n_bundles; i++)
		if (!w.store.bundles[i].stopped)
			keep_footprint(w.folder, w.store.bundles[i].name, &gateway);
	if (done)
		keep_remembered(w.folder, &gateway);
	speak_close(&gateway);
	close_store(&w);
	return done;
}

bool change_seed(const struct instance *instance, const char *folder)
{
	char  *pattern = xasprintf("%s/*.so", folder);
	glob_t found;
	bool   done = true;

	if (glob(pattern, 0, NULL, &found) != 0)
		done = complain("there are no bundles %s", pattern);
	else {
		for (size_t i = 0; i < found.gl_pathc && done; i++)
			done = seed_file(instance, found.gl_pathv[i]);
		globfree(&found);
	}
	free(pattern);
	return done;
}
