#!/bin/sh
# The bundles of docs/bundles.md compile as they are printed there, without a warning, and export their
# descriptor and nothing else.   docs_bundle.sh SOURCE_FOLDER CMAKE
set -eu
source=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

example() { # NAME: the block whose first line is a comment that begins with it
	awk -v first="^/\\\\* $1" '/^```c$/ { begun = 1; next } /^```$/ { if (on) exit; begun = 0 }
		begun && $0 ~ first { on = 1 } { begun = 0 } on' "$source/docs/bundles.md" >"$work/$1"
	[ -s "$work/$1" ] || { echo "no example $1"; exit 1; }
}
build() { # NAME FILE...
	name=$1
	shift
	cc -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -Wl,-z,defs \
		-I "$source/include" "$@" -o "$work/$name.so"
	exported=$(nm -D --defined-only "$work/$name.so" | awk '{ print $3 }')
	if [ "$exported" != boardwalk_bundle ]; then
		echo "$name exports: $exported"
		exit 1
	fi
}

example hello.c
build hello "$work/hello.c"
example watch.c
build watch "$work/watch.c"
example both.c
build both "$work/both.c"
example upload.c
build upload "$work/upload.c"

mkdir -p "$work/files/www"
printf hello >"$work/files/www/a.txt"
"$cmake" -DDIR="$work/files" -DOUTPUT="$work/files.c" -P "$source/cmake/BoardwalkEmbed.cmake"
example site.c
build site "$work/site.c" "$work/files.c"
