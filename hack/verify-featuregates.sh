#!/usr/bin/env bash
# Fails if the committed feature gates differ from those that hack/update-featuregates.sh generates.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

hack/update-featuregates.sh "$fresh"
for file in features/zz_generated.gates.go testdata/gates_that_drop.txt testdata/marked_fields.txt; do
	if ! diff -u "pkg/registry/$file" "$fresh/$file" | head -n 60; then
		echo "pkg/registry/$file is not current: run 'make update'" >&2
		exit 1
	fi
done
