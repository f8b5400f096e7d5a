#!/usr/bin/env bash
# Fails if a module doesn't build with the versions that its own go.mod requires. In a checkout, go.work selects the
# newest version that either module requires. Users of a module have no go.work.
#
# Between releases, the main module's go.mod doesn't require the fixture's module (see CONTRIBUTING.md). So the script
# builds the main module with a copy of go.mod, which has the requirement, and replaces the fixture's module by the
# checkout's folder.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off

fixture=github.com/miniapi-dev/miniapi/pkg/miniapitest
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cp go.mod go.sum "$copy"
go mod edit -require "$fixture@v0.0.0" -replace "$fixture=./pkg/miniapitest" "$copy/go.mod"
go build -modfile "$copy/go.mod" ./...
go vet -modfile "$copy/go.mod" ./...

cd pkg/miniapitest
go build ./...
go vet ./...
