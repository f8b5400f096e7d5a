#!/usr/bin/env bash
# Fails if the committed declarative validation differs from what hack/update-validations.sh generates.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

hack/update-validations.sh "$fresh"
if ! diff -ur --exclude='[!z]*.go' pkg/registry/declarative "$fresh" | head -n 60; then
	echo "pkg/registry/declarative is not current: run 'make update'" >&2
	exit 1
fi
