#!/usr/bin/env bash
# Fails if a file is marked as unfinished, contains a merge conflict, or names a path of one machine.
set -euo pipefail
cd "$(dirname "$0")/.."

git rev-parse --is-inside-work-tree >/dev/null
failed=0

# forbid REASON EXTENDED-REGEXP prints the matches in committed files, and in new files that git doesn't ignore. If
# there is a match, the script fails. The license, test data, generated files and this script are excluded.
forbid() {
	if git grep --untracked -I -n -E -e "$2" -- . \
		':!LICENSE' ':!**/testdata/**' ':!**/zz_generated.*' ':!hack/verify-leftovers.sh'; then
		echo "$1" >&2
		failed=1
	fi
}

forbid 'a file is marked as unfinished: finish the work, or open an issue' '\b(TODO|FIXME|XXX|HACK)\b'
forbid 'a file has a merge conflict: resolve the conflict' '^(<<<<<<<|>>>>>>>) '
forbid "a file names a path of one machine: name a path that exists on every machine" '(^|[^[:alnum:]_./-])(/(root|home|Users|work)/|[A-Z]:\\Users)'

exit $failed
