#!/bin/sh
# check.sh ROOT - holds the includes below ROOT against the rules beside this script.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
find gateway auth repo cli servlets lib include bench -name '*.[ch]' -o -name '*.def' | sort |
	xargs awk -f "$here/check.awk" "$here/rules"
