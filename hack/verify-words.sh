#!/usr/bin/env bash
# Fails if a file is marked as unfinished, contains a merge conflict, or names a path of one machine.
set -euo pipefail
cd "$(dirname "$0")/.."

git rev-parse --is-inside-work-tree >/dev/null
failed=0

# forbid REASON EXTENDED-REGEXP fails if a file that is committed, or may be, matches. Foreign files are excluded.
forbid() {
	if git grep --untracked -I -n -E -e "$2" -- . \
		':!LICENSE' ':!**/testdata/**' ':!**/zz_generated.*' ':!hack/verify-words.sh'; then
		echo "$1" >&2
		failed=1
	fi
}

forbid 'unfinished: finish it or open an issue' '\b(TODO|FIXME|XXX|HACK)\b'
forbid 'a conflict of a merge' '^(<<<<<<<|>>>>>>>) '
forbid "a path of one machine" '(^|[^[:alnum:]_./-])(/(root|home|Users|work)/|[A-Z]:\\Users)'

exit $failed
