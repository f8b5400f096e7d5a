#!/usr/bin/env bash
# Fails if the committed OpenAPI definitions differ from those that hack/update-openapi.sh generates.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

hack/update-openapi.sh "$fresh"
if ! diff -u pkg/registry/generatedopenapi/zz_generated.openapi.go "$fresh/zz_generated.openapi.go" | head -n 60; then
	echo "pkg/registry/generatedopenapi is not current: run 'make update'" >&2
	exit 1
fi
