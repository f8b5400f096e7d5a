#!/usr/bin/env bash
# Fails if a module doesn't build with the versions that its own go.mod requires. In a checkout, go.work selects the
# newest version that any module requires. Users of a module have no go.work.
#
# Between releases, the main module's go.mod doesn't require the other modules (see CONTRIBUTING.md). So the script
# checks the main module with a copy of go.mod, which requires them, and replaces them by the checkout's folders.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

go build -o "$copy/typecheck" ./hack/typecheck
export GOWORK=off

cp go.mod go.sum "$copy"
for folder in $(hack/modules.sh); do
	module=github.com/miniapi-dev/miniapi/$folder
	go mod edit -require "$module@v0.0.0" -replace "$module=./$folder" "$copy/go.mod"
done

# verify-build compiles the same packages with the versions of go.work. With other versions, their types may be wrong.
GOFLAGS="${GOFLAGS:-} -modfile=$copy/go.mod" "$copy/typecheck" ./... "$(go env GOOS)/$(go env GOARCH)"

for folder in $(hack/modules.sh); do
	(cd "$folder" && GOGC=400 go list -export -test ./... >/dev/null)
done
