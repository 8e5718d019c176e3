#!/bin/sh
# symbols.sh BUILD - within a program, each function that one of our libraries offers has a name of its
# own. Of two with the same one the linker takes the first that comes, without a word.
set -eu
cd "$1"
status=0
for program in gateway auth repo cli; do
	libraries=$(find $program lib -name 'lib*.a' | sort)
	# shellcheck disable=SC2086 # one argument each
	functions=$(nm --defined-only $libraries 2>/dev/null | awk '$2 == "T" { print $3 }')
	[ -n "$functions" ] || { echo "$program: no functions"; exit 1; }
	for name in $(echo "$functions" | sort | uniq -d); do
		echo "$program: $name is defined twice"
		status=1
	done
done
[ $status -ne 0 ] || echo "symbols: none twice"
exit $status
