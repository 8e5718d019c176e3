# check.awk - holds the includes of the files named against the rules, the first file. Prints each
# offence as file:line: reason. Exit 1: there was one; 2: there was nothing to check.

BEGIN {
	libc = "assert.h ctype.h dirent.h dlfcn.h endian.h errno.h fcntl.h fnmatch.h ftw.h getopt.h " \
	       "glob.h grp.h inttypes.h limits.h locale.h math.h netdb.h poll.h pthread.h pwd.h " \
	       "regex.h sched.h semaphore.h setjmp.h signal.h spawn.h stdarg.h stdatomic.h " \
	       "stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h strings.h termios.h time.h " \
	       "unistd.h wchar.h arpa/* net/* netinet/* sys/*"
}

# Whether word is one of the shell patterns in list; '*' also stands for '/'.
function is_one_of(word, list,   patterns, n, i, p)
{
	gsub(/LIBC/, libc, list)
	n = split(list, patterns, " ")
	for (i = 1; i <= n; i++) {
		p = patterns[i]
		gsub(/[.]/, "[.]", p)
		gsub(/[*]/, ".*", p)
		if (word ~ ("^" p "$"))
			return 1
	}
	return 0
}

function offence(reason)
{
	print FILENAME ":" FNR ": " reason
	offences++
}

# The rules.
NR == FNR {
	if (NF > 0 && $1 !~ /^#/) {
		n_rules++
		kind[n_rules] = $1
		what[n_rules] = $2
		list[n_rules] = $0
		sub(/^ *[^ ]+ +[^ ]+ +/, "", list[n_rules])
	}
	next
}

/^[ \t]*#[ \t]*include/ {
	includes++
	header = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", header)
	is_own = header ~ /^"/
	if (!match(header, /^("[^"]*"|<[^>]*>)/)) {
		offence("a header named by a macro: " header)
		next
	}
	header = substr(header, 2, RLENGTH - 2)
	if (header ~ /^\// || header ~ /(^|\/)[.][.]\//)
		offence("leaves its folder: " header)
	for (i = 1; i <= n_rules; i++) {
		if (kind[i] == "only" && is_one_of(header, what[i]) && !is_one_of(FILENAME, list[i]))
			offence("may not see " header " (only " list[i] ")")
		if (kind[i] == "sees" && !is_own && is_one_of(FILENAME, what[i]) &&
		    !is_one_of(header, list[i]))
			offence("may not see " header " (" what[i] " sees " list[i] ")")
	}
}

END {
	print "layering: " includes + 0 " includes checked, " offences + 0 " offences"
	exit includes == 0 ? 2 : offences > 0
}
