#!/usr/bin/env bash
# Tidies go.mod and go.sum of both modules. With the argument "check", the script fails if they aren't tidy. The main
# module doesn't require the fixture's module between releases (see CONTRIBUTING.md). So the script tidies a copy of the
# main module's go.mod, in which the fixture's module is replaced by the checkout's folder.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off

fixture=github.com/miniapi-dev/miniapi/pkg/miniapitest
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cp go.mod go.sum "$copy"
go mod edit -replace "$fixture=./pkg/miniapitest" "$copy/go.mod"
go mod tidy -modfile "$copy/go.mod"
go mod edit -dropreplace "$fixture" -droprequire "$fixture" "$copy/go.mod"

if [[ ${1:-} != check ]]; then
	cp "$copy/go.mod" "$copy/go.sum" .
	cd pkg/miniapitest
	go mod tidy
	exit
fi
diff -u go.mod "$copy/go.mod" && diff -u go.sum "$copy/go.sum" && (cd pkg/miniapitest && go mod tidy -diff) || {
	echo "go.mod or go.sum isn't tidy: run 'make update'" >&2
	exit 1
}
