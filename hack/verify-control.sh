#!/usr/bin/env bash
# Fails if a committed file differs from the one that hack/update-control.sh generates.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

hack/update-control.sh "$fresh"
(cd "$fresh" && find . -type f) | while read -r file; do
	diff -u "$file" "$fresh/$file" | head -n 60 || {
		echo "$file is not current: run 'make update'" >&2
		exit 1
	}
done
