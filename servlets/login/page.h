/* page.h - the login page: a form that works without scripts. Private to the bundle. */
#pragma once
#include <boardwalk/boardwalk.h>

#define LOGIN_PAGE  "/system/sling/form/login"
#define LOGIN_STYLE "/system/sling/form/login.css" /* opened by the page's own rule */
#define LOGIN_OUT   "/system/sling/logout"

extern const struct bw_servlet login_page;
