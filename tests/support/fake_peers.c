/* The entries of the host table that need auth, repo or a thread, for programs that have none of them:
 * each but offload_run says that it is not there. */
#include <gateway/edit/blob.h>
#include <boardwalk/account.h>
#include <boardwalk/acl.h>
#include <boardwalk/auth.h>
#include <gateway/edit/edit.h>
#include <gateway/edit/version.h>
#include <gateway/offload.h>
#include <gateway/peers/resolver.h>
#include <gateway/peers/search.h>
#include <gateway/security/security.h>
#include <gateway/session/session.h>

/* Nobody gets a resolver to edit, to search or to read octets with. */
const struct bw_editing    resolver_editing = { .size = sizeof(resolver_editing) };
const struct bw_searching  resolver_searching = { .size = sizeof(resolver_searching) };
const struct bw_blobs      resolver_blobs = { .size = sizeof(resolver_blobs) };
const struct bw_accounts   resolver_accounts = { .size = sizeof(resolver_accounts) };
const struct bw_access     resolver_access = { .size = sizeof(resolver_access) };
const struct bw_versioning resolver_versioning = { .size = sizeof(resolver_versioning) };

const struct bw_authentication security_authentication = { .size = sizeof(
								   security_authentication) };

int security_csrf_token(struct bw_req *req, struct bw_str *ret_token)
{
	(void)req;
	*ret_token = BW_ABSENT;
	return BW_EGONE;
}

int security_authenticate(struct bw_req *req)
{
	(void)req;
	return BW_EUNSUPPORTED;
}

int resolver_of_request(struct bw_req *req, struct bw_resolver **ret)
{
	(void)req;
	(void)ret;
	return BW_ESTATE;
}

int resolver_of_service(struct bw_req *req, struct bw_bundle *b, const char *subservice,
                        struct bw_resolver **ret)
{
	(void)req;
	(void)b;
	(void)subservice;
	(void)ret;
	return BW_ELOGIN;
}

struct bw_str resolver_user(const struct bw_resolver *r)
{
	return r->user;
}

int resolver_get(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret)
{
	(void)r;
	(void)path;
	(void)ret;
	return BW_ENOTFOUND;
}

int resolver_children(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                      struct bw_resource ***ret, size_t *ret_n, bool *ret_more)
{
	(void)r;
	(void)path;
	(void)after;
	(void)max;
	(void)ret;
	(void)ret_n;
	(void)ret_more;
	return BW_ENOTFOUND;
}

struct bw_str resource_field(const struct bw_resource *res, enum bw_resource_field f)
{
	(void)res;
	(void)f;
	return BW_ABSENT;
}

int resource_property(struct bw_resource *res, const char *name, size_t index,
                      enum bw_value_type *ret_type, struct bw_str *ret_value)
{
	(void)res;
	(void)name;
	(void)index;
	(void)ret_type;
	(void)ret_value;
	return BW_ENOTFOUND;
}

/* There is no thread; the job is done all the same. Weak: a test may have threads and sleep. */
__attribute__((weak)) int offload_run(struct bw_req *req, void (*job)(void *arg), void *arg)
{
	(void)req;
	job(arg);
	return BW_OK;
}

__attribute__((weak)) int offload_sleep_ms(struct bw_req *req, unsigned ms)
{
	(void)req;
	(void)ms;
	return BW_EUNSUPPORTED;
}

int session_of_request(struct bw_req *req, bool create, struct bw_session **ret)
{
	(void)req;
	(void)create;
	(void)ret;
	return BW_EGONE;
}

struct bw_str session_id(const struct bw_session *s)
{
	(void)s;
	return BW_ABSENT;
}

int session_info(const struct bw_session *s, struct bw_session_info *ret)
{
	(void)s;
	(void)ret;
	return BW_ESTATE;
}

int session_set_timeout(struct bw_session *s, int32_t seconds)
{
	(void)s;
	(void)seconds;
	return BW_ESTATE;
}

int session_get(const struct bw_session *s, const char *name, struct bw_value *ret)
{
	(void)s;
	(void)name;
	(void)ret;
	return BW_ESTATE;
}

struct bw_str session_name(const struct bw_session *s, size_t i)
{
	(void)s;
	(void)i;
	return BW_ABSENT;
}

int session_set(struct bw_session *s, const char *name, const struct bw_value *value)
{
	(void)s;
	(void)name;
	(void)value;
	return BW_ESTATE;
}

int session_add(struct bw_session *s, const char *name, int64_t delta, int64_t *ret)
{
	(void)s;
	(void)name;
	(void)delta;
	(void)ret;
	return BW_ESTATE;
}

int session_invalidate(struct bw_session *s)
{
	(void)s;
	return BW_ESTATE;
}

int session_change_id(struct bw_session *s)
{
	(void)s;
	return BW_ESTATE;
}
