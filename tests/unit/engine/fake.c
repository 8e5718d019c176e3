/* fake.c - see fake.h. The content answers as repo does: the longest stored path before a dot, with
 * the chain of super types that the stored types make. */
#include "fake.h"
#include <base/buf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <gateway/peers/ahead.h>
#include <gateway/peers/ask.h>
#include <gateway/bundle/bundles.h>
#include <gateway/engine/engine.h>
#include <gateway/path.h>
#include <gateway/peers/resolver.h>
#include <gateway/security/security.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdlib.h>

#define MAX_CONTENT  64
#define MAX_SERVLETS 300

struct node {
	char *path, *type, *super;
};

static struct node content[MAX_CONTENT];
static size_t      n_content;
static struct account {
	const char *user, *password;
	bool        disabled;
} accounts[8];
static size_t n_accounts;

struct fake_peers fake;
char              fake_called[64];
int               fake_fails_with;

static char            *initial_search_path[] = { (char *)"/apps/", (char *)"/libs/" };
struct gateway_settings fake_settings = {
	.anonymous = true,
	.realm = (char *)"Boardwalk",
	.search_path = { initial_search_path, 2 },
};

/* ---- repo ---- */

static char *dup(const char *s)
{
	return s != NULL ? xstrdup(s) : NULL;
}

static struct node *find(const char *path, size_t n)
{
	for (size_t i = 0; i < n_content; i++)
		if (strlen(content[i].path) == n && memcmp(content[i].path, path, n) == 0)
			return &content[i];
	return NULL;
}

void fake_content(const char *path, const char *type, const char *super)
{
	if (n_content == MAX_CONTENT)
		fatalx("fake: too much content");
	content[n_content++] = (struct node){ dup(path), dup(type), dup(super) };
	fake.types++;
}

void fake_remove_content(const char *path)
{
	struct node *node = find(path, strlen(path));

	free(node->path);
	free(node->type);
	free(node->super);
	*node = content[--n_content];
	fake.types++;
}

/* The super type of a type, from the first stored type in search path order that has one. */
static const char *super_of(const char *type)
{
	static const char *const prefixes[] = { "/apps/", "/libs/" };
	char                     path[256];

	for (size_t i = 0; i < (type[0] == '/' ? 1 : 2); i++) {
		struct node *node;
		int n = snprintf(path, sizeof(path), "%s%s", type[0] == '/' ? "" : prefixes[i],
		                 type);

		for (char *c = path; *c; c++)
			if (*c == ':')
				*c = '/';
		node = find(path, (size_t)n);
		if (node != NULL && node->super != NULL)
			return node->super;
	}
	return NULL;
}

static void put_chain(struct buf *out, size_t at, const struct node *node)
{
	const char *type = node->super ? node->super : node->type ? super_of(node->type) : NULL;

	for (int i = 0; type != NULL && i < 8; i++) {
		record_put_chain(out, at, bw_str(type));
		type = super_of(type);
	}
}

static void make_record(struct bw_resolver *r, const struct node *node, struct record *ret)
{
	struct bw_str path = fake.resource_path.p ? fake.resource_path : bw_str(node->path);
	struct buf    out;
	size_t        at, n;
	const char   *copy;

	buf_init(&out);
	at = record_begin(&out, 1, 1, path, BW_STR("nt:unstructured"), bw_str(node->type),
	                  bw_str(node->super));
	put_chain(&out, at, node);
	record_end(&out, at);
	n = buf_size(&out);
	copy = arena_dup(&r->req->arena, buf_data(&out), n);
	buf_done(&out);
	if (record_get((const uint8_t *)copy, n, ret) != BW_OK)
		fatalx("fake: bad record");
}

int ask_resource_resolve(struct bw_resolver *r, struct bw_str path, size_t *ret_resolved,
                         struct record *ret, uint64_t *ret_types)
{
	struct node *node;
	size_t       n = path.n;

	fake.asked_repo++;
	if (fake.repo != BW_OK)
		return fake.repo;
	*ret_types = fake.types;
	while (n > 1 && path.p[n - 1] == '/')
		n--;
	while ((node = find(path.p, n)) == NULL) {
		const char *dot = memrchr(path.p, '.', n);

		if (dot == NULL || dot == path.p)
			return BW_ENOTFOUND;
		n = (size_t)(dot - path.p);
	}
	*ret_resolved = n;
	make_record(r, node, ret);
	return BW_OK;
}

int ask_resource_get(struct bw_resolver *r, struct bw_str path, struct record *ret)
{
	struct node *node = find(path.p, path.n);

	fake.asked_repo++;
	if (fake.repo != BW_OK)
		return fake.repo;
	if (node == NULL)
		return BW_ENOTFOUND;
	make_record(r, node, ret);
	return BW_OK;
}

int ask_resource_children(struct bw_resolver *r, struct bw_str path, struct bw_str after,
                          unsigned max, struct record **ret, size_t *ret_n, bool *ret_more)
{
	(void)r, (void)path, (void)after, (void)max, (void)ret, (void)ret_n, (void)ret_more;
	return BW_ENOTFOUND;
}

void ask_count_left(void)
{
}

int ask_namespace(struct bw_resolver *r, struct bw_str uri, struct bw_str *ret_prefix)
{
	(void)r;
	(void)uri;
	(void)ret_prefix;
	return BW_ENOTFOUND;
}

void ask_handle_close(struct bw_resolver *r)
{
	(void)r;
}

/* ---- auth ---- */

void fake_account(const char *user, const char *password, bool disabled)
{
	accounts[n_accounts++] = (struct account){ user, password, disabled };
}

/* NULL: there is no such account, or it is disabled. */
static const struct account *account_of(struct bw_str user)
{
	for (size_t i = 0; i < n_accounts; i++)
		if (bw_str_eq(bw_str(accounts[i].user), user) && !accounts[i].disabled)
			return &accounts[i];
	return NULL;
}

int ask_authenticate_basic(struct bw_req *req, struct bw_str user, struct bw_str password,
                           struct ask_login *login, struct bw_resolver *r)
{
	const struct account *a = account_of(user);

	fake.asked_auth++;
	fake.sudo = login ? login->sudo : BW_ABSENT;
	fake.address = login && login->address.p ? request_dup(req, login->address) : BW_ABSENT;
	if (login && fake.auth == BW_ETHROTTLED)
		login->retry_after_s = 7;
	if (fake.auth != BW_OK)
		return fake.auth;
	if (a == NULL || !bw_str_eq(bw_str(a->password), password))
		return BW_ELOGIN;
	r->user = request_dup(req, user);
	if (login && login->sudo.p && !bw_str_eq(login->sudo, user)) {
		login->impersonator = r->user;
		r->user = login->sudo;
	}
	if (login != NULL && login->want_session)
		login->token = bw_str(arena_printf(&req->arena, "session-%s", a->user));
	return BW_OK;
}

/* prefix-USER is a token of USER. */
static int with_token(struct bw_req *req, struct bw_str token, const char *prefix,
                      struct bw_resolver *r)
{
	size_t n = strlen(prefix);

	fake.asked_auth++;
	if (fake.auth != BW_OK)
		return fake.auth;
	if (token.n <= n || memcmp(token.p, prefix, n) != 0 ||
	    account_of((struct bw_str){ token.p + n, token.n - n }) == NULL)
		return BW_ELOGIN;
	r->user = request_dup(req, (struct bw_str){ token.p + n, token.n - n });
	return BW_OK;
}

int ask_authenticate_token(struct bw_req *req, struct bw_str token, struct ask_login *login,
                           struct bw_resolver *r)
{
	int err = with_token(req, token, "aging-", r);

	if (err != BW_OK)
		return with_token(req, token, "session-", r);
	login->token = bw_str(arena_printf(&req->arena, "session-%s", r->user.p));
	return BW_OK;
}

int ask_authenticate_bearer(struct bw_req *req, struct bw_str token, struct ask_login *login,
                            struct bw_resolver *r)
{
	(void)login;
	return with_token(req, token, "bearer-", r);
}

int ask_session_end(struct bw_req *req, struct bw_str token, bool *ret_was_live)
{
	(void)req;
	if (ret_was_live != NULL)
		*ret_was_live = token.n > 0;
	return fake.auth;
}

int ask_handle(struct bw_resolver *r)
{
	if (r->kind == RESOLVER_SERVICE)
		return BW_ELOGIN;
	fake.asked_auth++;
	return fake.auth;
}

int ahead_take(struct bw_resolver *r)
{
	return ask_handle(r);
}

/* ---- bundles ---- */

struct bw_bundle *bundles_builtin(const char *name)
{
	static struct bw_bundle bundle = { .id = 1, .version = "1" };

	bundle.name = name;
	return &bundle;
}

/* ---- servlets ---- */

static struct registry *registry;
static struct stub {
	char name[64];
} stubs[MAX_SERVLETS];
static size_t n_stubs;

static int stub_service(void *self, struct bw_req *req)
{
	const struct stub *stub = self;
	int                failure = fake_fails_with;

	snprintf(fake_called, sizeof(fake_called), "%s", stub->name);
	fake_fails_with = 0;
	if (failure != 0)
		return failure < 0 ? failure : response_send_error(req, failure, "on purpose");
	if (strcmp(stub->name, "DGET") == 0 &&
	    bw_str_eq(req->resource->record.resource_type, BW_STR("sling:nonexisting")))
		return response_send_error(req, 404, NULL);
	return response_write(req, stub->name, strlen(stub->name));
}

static const struct bw_servlet stub_servlet = {
	.size = sizeof(struct bw_servlet),
	.service = stub_service,
};

/* One property of fake_servlet's text, which is cut up in place. */
static struct bw_prop parse_prop(char *text, char *name, size_t name_size, const char **values,
                                 size_t max)
{
	char  *equals = strchr(text, '=');
	size_t n = 0;

	*equals = '\0';
	if (strcmp(text, "ranking") == 0)
		return (struct bw_prop)BW_P_INT(BW_SERVICE_RANKING, atoi(equals + 1));
	snprintf(name, name_size, "sling.servlet.%s", text);
	for (char *save, *v = strtok_r(equals + 1, ",", &save); v && n + 1 < max;
	     v = strtok_r(NULL, ",", &save))
		values[n++] = v;
	values[n] = NULL;
	if (n == 1)
		return (struct bw_prop)BW_P_STRING(name, values[0]);
	return (struct bw_prop){ name, BW_PROP_STRINGS, { .strings = values } };
}

struct bw_service *fake_servlet(const char *name, const char *properties)
{
	const char *const        interfaces[] = { BW_SERVLET, NULL };
	struct stub             *stub = &stubs[n_stubs++];
	struct bw_service_object object = { .type = &stub_servlet, .self = stub };
	char                     names[8][64], *text = xstrdup(properties);
	const char              *values[8][32];
	struct bw_prop           props[8];
	struct bw_service       *s;
	size_t                   n = 0;

	if (n_stubs == MAX_SERVLETS)
		fatalx("fake: too many servlets");
	snprintf(stub->name, sizeof(stub->name), "%s", name);
	for (char *save, *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
		props[n] = parse_prop(p, names[n], sizeof(names[n]), values[n], 32);
		n++;
	}
	if (registry_register(registry, bundles_builtin("fake"), interfaces, &object, props, n,
	                      &s) != BW_OK)
		fatalx("fake: %s cannot be registered", name);
	free(text);
	return s;
}

/* ---- life ---- */

struct registry *fake_start(void)
{
	log_init("test", LOG_LEVEL_ERROR);
	registry = registry_new();
	whiteboard_init(registry);
	security_init(registry, &fake_settings);
	engine_init(registry, &fake_settings);
	return registry;
}

void fake_stop(void)
{
	engine_done();
	whiteboard_done();
	security_done();
	registry_free(registry);
	request_pool_done();
	n_stubs = 0;
}

void fake_forget(void)
{
	uint64_t types = fake.types;

	while (n_content > 0)
		fake_remove_content(content[0].path);
	n_accounts = 0;
	fake = (struct fake_peers){ .types = types + 1 };
	fake_content("/", "fake/root", NULL);
}

/* ---- requests ---- */

static void put_headers(struct bw_req *req, const char *const *headers)
{
	req->headers = arena_zalloc(&req->arena, 16 * sizeof(*req->headers));
	for (; headers != NULL && headers[0] != NULL; headers += 2)
		req->headers[req->n_headers++] =
			(struct bw_res_header){ bw_str(headers[0]), bw_str(headers[1]) };
}

struct bw_req *fake_request(const char *method, const char *target, const char *const *headers)
{
	struct bw_req     *req = request_new();
	struct path_target t;

	fake_called[0] = '\0';
	req->method = bw_str(method);
	req->scheme = BW_STR("http");
	req->host = BW_STR("h");
	put_headers(req, headers);
	request_set_state(req, REQ_SERVING);
	if (path_canonical(&req->arena, bw_str(target), &t) != BW_OK) {
		fake_request_free(req);
		return NULL;
	}
	req->uri = t.uri;
	req->query = t.query;
	req->path = t.path;
	req->params = t.params;
	return req;
}

void fake_request_free(struct bw_req *req)
{
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
}

struct bw_str fake_response_header(const struct bw_req *req, const char *name)
{
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (bw_str_eq(req->res_headers[i].name, bw_str(name)))
			return req->res_headers[i].value;
	return BW_ABSENT;
}
