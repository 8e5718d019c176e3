#!/bin/sh
# cmake/BoardwalkEmbed.cmake: the same folder gives the same file; a date from outside counts for all; a name
# that C or the assembler would read otherwise is refused.   embed_test.sh CMAKE SOURCE_FOLDER
set -eu
cmake=$1
script=$2/cmake/BoardwalkEmbed.cmake
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/in/d" "$work/bad"
printf x >"$work/in/b"
printf yy >"$work/in/d/a.txt"
: >"$work/in/a b.txt"
touch -d @1500000000 "$work/in/b"

embed() { # FOLDER OUTPUT [-DMODIFIED=...]
	"$cmake" "-DDIR=$work/$1" "-DOUTPUT=$work/$2" ${3:+"$3"} -P "$script"
}
fail() {
	echo "$1"
	exit 1
}
table() { grep -o '{ "[^}]*}' "$work/$1" | sed 's/blob_[0-9]*, //'; }

unset SOURCE_DATE_EPOCH
embed in one.c
embed in two.c
cmp "$work/one.c" "$work/two.c" || fail "two runs differ"
grep -q '{ "b", blob_1, 1, INT64_C(1500000000000) }' "$work/one.c" || fail "not dated by its time"
embed in set.c -DMODIFIED=7
SOURCE_DATE_EPOCH=7 embed in epoch.c
cmp "$work/set.c" "$work/epoch.c" || fail "SOURCE_DATE_EPOCH is not looked at"
[ "$(table set.c)" = '{ "a b.txt", 0, INT64_C(7000) }
{ "b", 1, INT64_C(7000) }
{ "d/a.txt", 2, INT64_C(7000) }' ] || fail "another table: $(table set.c)"

for name in 'a"b' "a'b" 'a\b' 'a;b' 'a[b' 'a]b' "$(printf 'a\nb')" "$(printf 'a\tb')"; do
	: >"$work/bad/$name"
	if embed bad bad.c 2>/dev/null; then fail "not refused: $name"; fi
	rm "$work/bad/$name"
done
