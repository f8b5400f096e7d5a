#!/usr/bin/env bash
# Fails if the committed OpenAPI document of the control protocol differs from the one that hack/update-control.sh
# generates.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

hack/update-control.sh "$fresh/openapi.json"
if ! diff -u pkg/miniapitest/engine/control/openapi.json "$fresh/openapi.json" | head -n 60; then
	echo "pkg/miniapitest/engine/control/openapi.json is not current: run 'make update'" >&2
	exit 1
fi
