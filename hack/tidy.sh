#!/usr/bin/env bash
# Tidies go.mod and go.sum of all modules in go.work. With the argument "check", the script fails if they aren't tidy. The
# main module doesn't require the other modules between releases (see CONTRIBUTING.md). So the script tidies a copy of
# the main module's go.mod, in which the checkout's folders replace them.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cp go.mod go.sum "$copy"
mapfile -t folders < <(hack/modules.sh)
for folder in "${folders[@]}"; do
	go mod edit -replace "github.com/miniapi-dev/miniapi/$folder=./$folder" "$copy/go.mod"
done
go mod tidy -modfile "$copy/go.mod"
for folder in "${folders[@]}"; do
	module=github.com/miniapi-dev/miniapi/$folder
	go mod edit -dropreplace "$module" -droprequire "$module" "$copy/go.mod"
done

if [[ ${1:-} != check ]]; then
	cp "$copy/go.mod" "$copy/go.sum" .
	for folder in "${folders[@]}"; do (cd "$folder" && go mod tidy); done
	exit
fi
tidy=yes
diff -u go.mod "$copy/go.mod" && diff -u go.sum "$copy/go.sum" || tidy=
for folder in "${folders[@]}"; do (cd "$folder" && go mod tidy -diff) || tidy=; done
[[ $tidy ]] || {
	echo "a go.mod or go.sum isn't tidy: run 'make update'" >&2
	exit 1
}
