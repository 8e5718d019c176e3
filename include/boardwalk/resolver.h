/* resolver.h - the repository as somebody sees it. Changing it is edit.h.
 *
 * A resolver acts for one identity: the requesting user (bw_req_resolver) or the service user that
 * the operator mapped to this bundle (bw_service_resolver). Auth mints its authority, the gateway
 * carries it, repo checks it; a servlet can use it and cannot make one. It is opened by its first
 * use and closed with the request. An item read once keeps its value until bw_resolver_refresh or
 * the end of the request. What the identity may not read does not exist for it. */
#pragma once
#include <boardwalk/value.h>

enum bw_resource_field {
	BW_RESOURCE_PATH,
	BW_RESOURCE_NAME,
	BW_RESOURCE_TYPE,       /* sling:resourceType, else the primary type */
	BW_RESOURCE_SUPER_TYPE, /* sling:resourceSuperType of the resource itself; absent if none */
	BW_RESOURCE_PRIMARY_TYPE,
};
