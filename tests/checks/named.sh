#!/bin/sh
# named.sh DOCUMENT ROOT - every test that DOCUMENT names as `suite/program: test` has to be there.
# A program is a source: unit/wire_handle stands for tests/unit/wire/handle_test.c.
set -eu
document=$1
cd "$2"
found=0
missing=0
for named in $(grep -oE '`(unit|system)/[a-z_]+: [a-z_0-9]+`' "$document" | tr -d '`' | sed 's/: /:/'); do
	program=${named%%:*}
	name=${named#*:}
	case $program in
	unit/*) file=tests/unit/$(echo "${program#unit/}" | sed 's,_,/,')_test.c ;;
	*) file=tests/${program}_test.c ;;
	esac
	found=$((found + 1))
	if ! grep -qE "^Test\([a-z_]+, $name[,)]" "$file"; then
		echo "$document: $program has no test $name"
		missing=$((missing + 1))
	fi
done
echo "$found tests named, $missing missing"
[ "$found" -gt 0 ] && [ "$missing" -eq 0 ]
