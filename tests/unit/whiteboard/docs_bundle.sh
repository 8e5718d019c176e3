#!/bin/sh
# The smallest bundle of docs/bundles.md compiles as it is printed there, without a warning, and exports
# its descriptor and nothing else.   docs_bundle.sh SOURCE_FOLDER
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$source/docs/bundles.md" >"$work/hello.c"
cc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -Wl,-z,defs \
	-I "$source/include" "$work/hello.c" -o "$work/hello.so"
exported=$(nm -D --defined-only "$work/hello.so" | awk '{ print $3 }')
if [ "$exported" != boardwalk_bundle ]; then
	echo "exports: $exported"
	exit 1
fi
