#!/usr/bin/env bash
# Runs the suites of the clients for other languages, or of those that are named.
# Usage: hack/test-clients.sh [LANGUAGE...]
set -euo pipefail
cd "$(dirname "$0")/.."

languages=("$@")
if ((${#languages[@]} == 0)); then
	for suite in clients/*/test; do
		languages+=("$(basename "$(dirname "$suite")")")
	done
fi
if [[ -z ${MINIAPI:-} ]]; then
	go build -o bin/miniapi ./cmd/miniapi
	export MINIAPI=$PWD/bin/miniapi
fi
for language in "${languages[@]}"; do
	echo "=== $language"
	"clients/$language/test"
done
