/* churn_test.c - services of every kind come, change and go at random in a real gateway while clients
 * ask. Proves: each request has one whole answer, and it is one that some state of the whiteboard gives;
 * when all have gone, whatever was initialised or made has been destroyed and released, and the
 * whiteboard shows what it showed before. Meant for the sanitizers above all.
 *
 * One thread changes, by the seed 1 or that of BOARDWALK_SEED; the clients are threads with connections of
 * their own. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/gateway.h>
#include <support/http.h>

#define LIVE_MAX 24

#ifdef BOARDWALK_SANITIZED
#define N_CHANGES 3000u
#else
#define N_CHANGES 12000u
#endif

/* What may be registered: # is a number that makes the label one, % a ranking. */
static const char *const kinds[] = {
	"ctx n@/c as=x# rank=%",
	"ctx n@/c as=x# rank=% factory",
	"ctx m@/ as=x# rank=% do=user(bob,BASIC)",
	"S x#: [/a, /b/*] sel=* rank=% factory",
	"S x#: [/a, *.q] sel=* rank=%",
	"S x#: /a sel=n rank=% name=N init!",
	"S x#: /b/* sel=m rank=% do=sendError(404)",
	"S x#: / rank=% do=forward(/a)",
	"G x#: /a rank=%",
	"F x#: /* sel=* rank=% disp=[REQUEST, ERROR, FORWARD]",
	"F x#: @N rank=% factory",
	"E x#: [404, 5xx] sel=* rank=%",
	"L x#: request sel=* rank=%",
	"L x#: context sel=* rank=%",
	"P x#: rank=%",
};

static const char *const changes[] = { "x# += rank=%",
	                               "x# += sel=n",
	                               "x# += sel=*",
	                               "x# += w.target=(x=y)",
	                               "x# += w.target=(objectClass=*)",
	                               "x# += context.init.k=%" };

static const char *const paths[] = { "/a", "/b/x.q", "/c/a", "/c/b", "/zip", "/c/zip" };

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static struct test_gateway gateway;
static atomic_bool         over;
static atomic_uint         n_asked, n_wrong;

/* ---- clients ---- */

/* A forward to what is not there is 404, or 500 if that filter or servlet failed. */
static bool is_whole(const struct http_response *r)
{
	return r->status == 200 || r->status == 404 || r->status == 500;
}

static void *ask_on(void *arg)
{
	const char          *path = arg;
	struct http          http;
	struct http_response r;

	http_open(&http, gateway.port);
	while (!atomic_load(&over)) {
		http_ask(&http, "GET", path, NULL, &r);
		if (!is_whole(&r)) {
			fprintf(stderr, "%s: %d %s\n", path, r.status, r.body);
			atomic_fetch_add(&n_wrong, 1);
		}
		http_response_done(&r);
		atomic_fetch_add(&n_asked, 1);
	}
	http_close(&http);
	return NULL;
}

/* ---- changes ---- */

static void order(struct http *http, const char *name, const char *argument)
{
	char                 request[512];
	struct http_response r;
	int                  n = snprintf(request, sizeof(request),
	                                  "POST /rows-control/%s HTTP/1.1\r\nHost: churn\r\n"
	                                                   "Content-Length: %zu\r\n\r\n%s",
	                                  name, strlen(argument), argument);

	http_send(http, request, (size_t)n);
	http_read(http, false, &r);
	cr_assert(eq(int, r.status, 200), "%s %s: %s", name, argument, r.body);
	http_response_done(&r);
}

static const char *filled(const char *text, unsigned number, unsigned rank)
{
	static char all[256];
	size_t      n = 0;

	for (; *text; text++)
		if (*text == '#' || *text == '%')
			n += (size_t)sprintf(all + n, "%u", *text == '#' ? number : rank);
		else
			all[n++] = *text;
	all[n] = '\0';
	return all;
}

static void change_at_random(struct http *http, unsigned seed)
{
	bool live[LIVE_MAX] = { false };

	for (unsigned i = 0; i < N_CHANGES; i++) {
		unsigned    which = (unsigned)rand_r(&seed) % LIVE_MAX;
		unsigned    rank = (unsigned)rand_r(&seed) % 5;
		unsigned    what = (unsigned)rand_r(&seed);
		const char *text = !live[which] ? kinds[what % LENGTH(kinds)]
		                   : what % 2   ? "-x#"
		                                : changes[what / 2 % LENGTH(changes)];

		order(http, "step", filled(text, which, rank));
		if (!live[which] || what % 2)
			live[which] = !live[which];
	}
}

/* What the whiteboard shows, without the number of its changes. */
static json_t *look(void)
{
	json_t *all = test_gateway_order(&gateway, "{\"verb\": \"whiteboard\"}");
	json_t *service = json_object_get(json_array_get(all, 0), "serviceDTO");

	cr_assert(all != NULL);
	json_object_del(json_object_get(service, "properties"), "service.changecount");
	return all;
}

Test(churn, whatever_comes_and_goes_is_gone_in_the_end)
{
	static const char *const bundles[] = { "rows", NULL };
	pthread_t                askers[LENGTH(paths)];
	const char              *seed = getenv("BOARDWALK_SEED");
	struct http              http;
	json_t                  *before, *after;

	test_gateway_start(&gateway, &(struct test_gateway_options){
					     .workers = 1,
					     .bundles = bundles,
					     .settings = "  engine: false\n",
				     });
	before = look();
	http_open(&http, gateway.port);
	for (size_t i = 0; i < LENGTH(paths); i++)
		cr_assert(eq(int, pthread_create(&askers[i], NULL, ask_on, (void *)paths[i]), 0));
	change_at_random(&http, seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : 1);
	atomic_store(&over, true);
	for (size_t i = 0; i < LENGTH(paths); i++)
		pthread_join(askers[i], NULL);
	order(&http, "end", "");
	order(&http, "forget", ""); /* 409 if anything is alive */
	after = look();
	cr_expect(json_equal(before, after), "the state of the beginning");
	cr_expect(eq(uint, atomic_load(&n_wrong), 0));
	cr_expect(gt(uint, atomic_load(&n_asked), 100));
	json_decref(before);
	json_decref(after);
	http_close(&http);
	cr_expect(test_gateway_stop(&gateway), "it ends well");
}
