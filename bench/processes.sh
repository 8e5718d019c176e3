# Finding and pinning processes, and the median of what they did: for bench/run and bench/jvm/run.
# shellcheck shell=bash

# All processes below the ones given, and they themselves.
tree() {
	local all
	all=$(for f in /proc/[0-9]*/stat; do sed 's/([^)]*)/x/' "$f" 2>/dev/null || true; done |
		awk '{ print $1, $4 }')
	awk -v roots="$*" 'BEGIN { n = split(roots, r, " "); for (i = 1; i <= n; i++) in_[r[i]] = 1 }
		{ pid[NR] = $1; parent[NR] = $2 }
		END { do { grown = 0
				for (i = 1; i <= NR; i++) if ((parent[i] in in_) && !(pid[i] in in_)) { in_[pid[i]] = 1; grown = 1 }
			} while (grown)
			for (p in in_) print p }' <<<"$all"
}

pin() {
	local core=$1 pid
	shift
	for pid in "$@"; do taskset -apc "$core" "$pid" >/dev/null 2>&1 || true; done
}

median() {
	sort -g | awk '{ v[NR] = $1 } END { if (NR) print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2) }'
}
