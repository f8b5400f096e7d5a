#!/usr/bin/env bash
# Builds the programs for the other systems of a release, and tests those for which there is an emulator, qemu-user or Wine:
# hack/test-programs.sh [DIST]. With DIST, which "make release-snapshot" writes, the script takes the programs in it. It names
# the systems whose emulator doesn't run.
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
	echo "=== $system"
	program=$work/$system
	if [[ $dist ]]; then
		cp "$dist/miniapi_$system"_*/miniapi* "$program"
	else
		GOOS=${system%_*} GOARCH=${system#*_} build -o "$program"
	fi
	if [[ -z $emulator ]]; then
		echo "there is no emulator for $system"
	elif ! $emulator --version >/dev/null; then
		echo "$emulator doesn't run"
	else
		MINIAPI_TEST_PROGRAM="$emulator $program" "$work/test" -test.run '^TestProgram$' -test.v </dev/null
	fi
done <<END
linux_arm64 qemu-aarch64
windows_amd64 $PWD/hack/wine.sh
windows_arm64
darwin_amd64
darwin_arm64
END
