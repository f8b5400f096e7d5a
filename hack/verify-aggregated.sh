#!/usr/bin/env bash
# Fails if the committed code differs from the code that hack/update-aggregated.sh generates.
set -euo pipefail
cd "$(dirname "$0")/.."

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT

mapfile -t generated < <(find examples/aggregated -name 'zz_generated*.go')
tar -cf "$before/generated.tar" "${generated[@]}"
hack/update-aggregated.sh
for file in "${generated[@]}"; do
	if ! tar -xOf "$before/generated.tar" "$file" | diff -u - "$file" | head -n 60; then
		stale=yes
	fi
done
tar -xf "$before/generated.tar"
if [[ ${stale:-} ]]; then
	echo "examples/aggregated is not current: run 'make update'" >&2
	exit 1
fi
