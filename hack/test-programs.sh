#!/usr/bin/env bash
# Tests the programs for other systems under qemu-user and Wine: hack/test-programs.sh [DIST]. Without DIST, which "make
# release-snapshot" writes, the script builds the programs. It leaves out, and names, the systems whose emulator doesn't run.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -vet=off -c -o "$work/test" ./cmd/miniapi
export TMPDIR=$work

# Without optimizations and debug information, and with fewer collections of garbage, the compiler takes little more than half
# of its processor time.
build() { CGO_ENABLED=0 GOGC=400 go build -gcflags "all=-N -l -dwarf=false" -ldflags "-s -w" "$@" ./cmd/miniapi; }

while read -r system emulator; do
	if ! $emulator --version >/dev/null; then
		echo "=== $system is left out, because $emulator doesn't run"
		continue
	fi
	echo "=== $system"
	program=$work/$system
	if [[ $dist ]]; then
		cp "$dist/miniapi_$system"_*/miniapi* "$program"
	else
		GOOS=${system%_*} GOARCH=${system#*_} build -o "$program"
	fi
	MINIAPI_TEST_PROGRAM="$emulator $program" "$work/test" -test.run '^TestProgram$' -test.v
done <<END
linux_arm64 qemu-aarch64
windows_amd64 $PWD/hack/wine.sh
END
