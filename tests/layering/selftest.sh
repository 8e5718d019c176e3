#!/bin/sh
# selftest.sh ROOT - the check can fail: each row adds a line to a copy of a file, and check.sh must
# then name exactly that file and header. The copy without additions must pass.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$1" && pwd)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failures=0

copy() {
	rm -rf "$temporary/tree"
	mkdir "$temporary/tree"
	for folder in gateway auth repo cli servlets lib include bench; do
		cp -R "$root/$folder" "$temporary/tree/"
	done
}

fail() {
	echo "selftest: $1"
	cat "$temporary/out"
	failures=$((failures + 1))
}

copy
if ! sh "$here/check.sh" "$temporary/tree" >"$temporary/out"; then
	fail "the tree itself does not pass"
fi

while IFS='|' read -r file added reason; do
	cp "$temporary/tree/$file" "$temporary/saved"
	echo "$added" >>"$temporary/tree/$file"
	line=$(wc -l <"$temporary/tree/$file")
	if sh "$here/check.sh" "$temporary/tree" >"$temporary/out"; then
		fail "'$added' in $file is not noticed"
	elif [ "$(grep -c '^[^:]*:[0-9]*: ' "$temporary/out")" -ne 1 ] ||
		! grep -qF "$file:$line: $reason" "$temporary/out"; then
		fail "'$added' in $file: expected '$reason' alone"
	fi
	cp "$temporary/saved" "$temporary/tree/$file"
done <<'ROWS'
auth/mint.c|#include <jwt.h>|may not see jwt.h
auth/mint.c|#include "../repo/acl.h"|leaves its folder: ../repo/acl.h
auth/mint.c|#include "/usr/include/stdio.h"|leaves its folder: /usr/include/stdio.h
auth/mint.c|#include HEADER|a header named by a macro: HEADER
gateway/request.c|#include <sodium.h>|may not see sodium.h
gateway/peers/ask.c|#include <ev.h>|may not see ev.h
gateway/http/server.c|#include <libpq-fe.h>|may not see libpq-fe.h
lib/pg/pg.h|#include <libpq-fe.h>|may not see libpq-fe.h
repo/acl.c|  #  include  <libpq-fe.h>  /* no */|may not see libpq-fe.h
gateway/whiteboard/pattern.c|#include <h2o/http2.h>|may not see h2o/http2.h
lib/base/buf.c|#include <boardwalk/err.h>|may not see boardwalk/err.h
lib/base/buf.c|#include <wire/messages.h>|may not see wire/messages.h
include/boardwalk/types.h|#include <base/buf.h>|may not see base/buf.h
servlets/demo/demo.c|#include <base/log.h>|may not see base/log.h
ROWS

# One header can break two rules at once: both are told.
echo '#include <h2o.h>' >>"$temporary/tree/servlets/demo/demo.c"
if sh "$here/check.sh" "$temporary/tree" >"$temporary/out" ||
	[ "$(grep -c '^servlets/demo/demo.c:[0-9]*: may not see h2o.h' "$temporary/out")" -ne 2 ]; then
	fail "<h2o.h> in a servlet is not told by both rules"
fi

mkdir "$temporary/empty"
mkdir "$temporary/empty/gateway"
if sh "$here/check.sh" "$temporary/empty" >"$temporary/out" 2>&1; then
	fail "a tree without sources passes"
fi
[ "$failures" -eq 0 ]
