/* password.c - the threads that compute argon2id, and their queue.
 *
 *     free --password_verify--> todo --thread--> (running) --thread, ev_async--> done --loop--> free
 *
 * The jobs are allocated once, as many as may wait and run: a full queue is an empty free list. A
 * job's password lives from password_verify until the thread has used it.
 * Owns: the jobs, the threads, the dummy verifier. Runs in: the loop, except work(). Fails with:
 * BW_EBUSY. Logs nothing. Tests: tests/unit/auth/password_test.c. */
#include "password.h"
#include "credential.h"
#include <base/fatal.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAX_MEM_KIB (1u << 20) /* 1 GiB */
#define MAX_OPS     64u
#define NICE        5 /* of the threads: a third of a loop's share where both want the core */

struct job {
	STAILQ_ENTRY(job) next;
	bool        is_hash; /* else a verification */
	bool        is_dummy, ok;
	char        verifier[crypto_pwhash_STRBYTES]; /* read, or made */
	size_t      n_password;
	char        password[CREDENTIAL_PASSWORD];
	password_cb cb;
	void       *arg;
};
STAILQ_HEAD(jobs, job);

struct password_pool {
	struct ev_loop *loop;
	ev_async        wake;
	uint64_t        ops, mem;
	char            dummy[crypto_pwhash_STRBYTES];
	struct job     *all;
	unsigned        n_jobs;
	struct jobs     free; /* the loop's alone */

	pthread_mutex_t lock; /* over the rest */
	pthread_cond_t  more;
	struct jobs     todo, done;
	bool            stop; /* set by the loop */

	unsigned          n_threads;
	pthread_barrier_t ready; /* they have given way */
	pthread_t         threads[];
};

/* ---- on the threads ---- */

static void compute(const struct password_pool *pool, struct job *job)
{
	if (job->is_hash) {
		job->ok = crypto_pwhash_str(job->verifier, job->password, job->n_password,
		                            pool->ops, pool->mem) == 0;
	} else {
		job->ok = crypto_pwhash_str_verify(job->verifier, job->password, job->n_password) ==
		          0;
		if (job->is_dummy)
			job->ok = false;
	}
	sodium_memzero(job->password, sizeof(job->password));
}

/* A hash takes as long as it takes: the loops of this machine, which answer who is logged in, go first. */
static void give_way(struct password_pool *pool)
{
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	pthread_barrier_wait(&pool->ready);
}

static void *work(void *arg)
{
	struct password_pool *pool = arg;
	struct job           *job;

	give_way(pool);
	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		job = STAILQ_FIRST(&pool->todo);
		if (job == NULL) {
			pthread_cond_wait(&pool->more, &pool->lock);
			continue;
		}
		STAILQ_REMOVE_HEAD(&pool->todo, next);
		pthread_mutex_unlock(&pool->lock);
		compute(pool, job);
		pthread_mutex_lock(&pool->lock);
		STAILQ_INSERT_TAIL(&pool->done, job, next);
		ev_async_send(pool->loop, &pool->wake);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* ---- on the loop ---- */

static void end_jobs(struct password_pool *pool, struct jobs *jobs, bool was_computed)
{
	struct job *job;

	while ((job = STAILQ_FIRST(jobs)) != NULL) {
		bool ok = was_computed && job->ok;

		STAILQ_REMOVE_HEAD(jobs, next);
		job->cb(job->arg, ok, ok && job->is_hash ? job->verifier : NULL);
		sodium_memzero(job, sizeof(*job));
		STAILQ_INSERT_HEAD(&pool->free, job, next);
	}
}

static void on_wake(struct ev_loop *loop, ev_async *w, int revents)
{
	struct password_pool *pool = w->data;
	struct jobs           done = STAILQ_HEAD_INITIALIZER(done);

	(void)loop;
	(void)revents;
	pthread_mutex_lock(&pool->lock);
	STAILQ_CONCAT(&done, &pool->done);
	pthread_mutex_unlock(&pool->lock);
	end_jobs(pool, &done, true);
}

static void submit(struct password_pool *pool, struct job *job, struct bw_str password,
                   password_cb cb, void *arg)
{
	memcpy(job->password, password.p, password.n);
	job->n_password = password.n;
	job->cb = cb;
	job->arg = arg;
	pthread_mutex_lock(&pool->lock);
	STAILQ_INSERT_TAIL(&pool->todo, job, next);
	pthread_cond_signal(&pool->more);
	pthread_mutex_unlock(&pool->lock);
}

int password_verify(struct password_pool *pool, const char *verifier, struct bw_str password,
                    password_cb cb, void *arg)
{
	struct job *job = STAILQ_FIRST(&pool->free);

	if (job == NULL || pool->stop)
		return BW_EBUSY;
	STAILQ_REMOVE_HEAD(&pool->free, next);
	job->is_dummy = verifier == NULL;
	snprintf(job->verifier, sizeof(job->verifier), "%s",
	         verifier != NULL ? verifier : pool->dummy);
	submit(pool, job, password, cb, arg);
	return BW_OK;
}

int password_hash(struct password_pool *pool, struct bw_str password, password_cb cb, void *arg)
{
	struct job *job = STAILQ_FIRST(&pool->free);
	bool        is_busy;

	pthread_mutex_lock(&pool->lock);
	is_busy = !STAILQ_EMPTY(&pool->todo);
	pthread_mutex_unlock(&pool->lock);
	if (job == NULL || is_busy || pool->stop)
		return BW_EBUSY;
	STAILQ_REMOVE_HEAD(&pool->free, next);
	job->is_hash = true;
	submit(pool, job, password, cb, arg);
	return BW_OK;
}

bool password_is_outdated(const struct password_pool *pool, const char *verifier)
{
	return crypto_pwhash_str_needs_rehash(verifier, pool->ops, pool->mem) == 1;
}

bool password_is_verifier(const char *text)
{
	unsigned mem_kib, ops;
	int      end = 0;

	if (strlen(text) >= crypto_pwhash_STRBYTES)
		return false;
	if (sscanf(text, "$argon2id$v=19$m=%8u,t=%8u,p=1$%n", &mem_kib, &ops, &end) != 2 ||
	    end == 0)
		return false;
	return mem_kib <= MAX_MEM_KIB && ops <= MAX_OPS;
}

/* Random octets in the place of salt and hash: to verify it costs the same, to make it nothing. */
static void make_dummy(struct password_pool *pool)
{
	enum { VARIANT = sodium_base64_VARIANT_ORIGINAL_NO_PADDING };
	uint8_t salt[16], hash[32];
	char    salt_text[sodium_base64_ENCODED_LEN(sizeof(salt), VARIANT)];
	char    hash_text[sodium_base64_ENCODED_LEN(sizeof(hash), VARIANT)];

	randombytes_buf(salt, sizeof(salt));
	randombytes_buf(hash, sizeof(hash));
	sodium_bin2base64(salt_text, sizeof(salt_text), salt, sizeof(salt), VARIANT);
	sodium_bin2base64(hash_text, sizeof(hash_text), hash, sizeof(hash), VARIANT);
	snprintf(pool->dummy, sizeof(pool->dummy), "$argon2id$v=19$m=%llu,t=%llu,p=1$%s$%s",
	         (unsigned long long)pool->mem / 1024, (unsigned long long)pool->ops, salt_text,
	         hash_text);
}

/* Signals are the loop's: the threads block them all. They have given way when this returns: later the
 * system call filter would not let them. */
static void start_threads(struct password_pool *pool)
{
	sigset_t all, before;

	pthread_barrier_init(&pool->ready, NULL, pool->n_threads + 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (unsigned i = 0; i < pool->n_threads; i++)
		if (pthread_create(&pool->threads[i], NULL, work, pool) != 0)
			fatalx("cannot start the threads for passwords");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_barrier_wait(&pool->ready);
}

struct password_pool *password_pool_new(struct ev_loop *loop, unsigned threads, unsigned queue,
                                        uint64_t ops, uint64_t mem)
{
	struct password_pool *pool = xcalloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));

	pool->loop = loop;
	pool->ops = ops;
	pool->mem = mem;
	pool->n_threads = threads;
	make_dummy(pool);
	STAILQ_INIT(&pool->free);
	STAILQ_INIT(&pool->todo);
	STAILQ_INIT(&pool->done);
	pool->n_jobs = threads + queue;
	pool->all = xcalloc(pool->n_jobs, sizeof(*pool->all));
	for (unsigned i = 0; i < pool->n_jobs; i++)
		STAILQ_INSERT_TAIL(&pool->free, &pool->all[i], next);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->more, NULL);
	ev_async_init(&pool->wake, on_wake);
	pool->wake.data = pool;
	ev_async_start(loop, &pool->wake);
	start_threads(pool);
	return pool;
}

void password_pool_free(struct password_pool *pool)
{
	if (pool == NULL)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->more);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->n_threads; i++)
		pthread_join(pool->threads[i], NULL);
	ev_async_stop(pool->loop, &pool->wake);
	end_jobs(pool, &pool->done, false);
	end_jobs(pool, &pool->todo, false);
	pthread_barrier_destroy(&pool->ready);
	pthread_cond_destroy(&pool->more);
	pthread_mutex_destroy(&pool->lock);
	free(pool->all);
	free(pool);
}
