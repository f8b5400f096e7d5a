#!/usr/bin/env bash
# Tests what "make release-snapshot" has written: hack/test-release.sh [DIST]. The programs for other systems run under
# emulators, and the image in Podman, where the example for Testcontainers tests it.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=$(realpath "${1:-dist}")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT

echo "=== linux_amd64"
MINIAPI_TEST_PROGRAM=$(echo "$dist"/miniapi_linux_amd64_*/miniapi) go test -count=1 -run '^TestProgram$' ./cmd/miniapi
hack/test-programs.sh "$dist"

if ! command -v podman >/dev/null; then
	echo "=== image is left out, because this machine lacks podman"
else
	echo "=== image"
	image=$(podman load --quiet --input "$(echo "$dist"/miniapi_*_image_amd64.tar)")
	export MINIAPI_IMAGE=${image##* } DOCKER_HOST=unix://$work/podman.sock
	# The containers end with their tests, so the container that removes forgotten ones isn't needed.
	export TESTCONTAINERS_RYUK_DISABLED=true TESTCONTAINERS_CONNECTION_MODE=docker_host
	podman system service --time=0 "$DOCKER_HOST" &
	python3 -m venv "$work/venv"
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check --requirement examples/testcontainers/requirements.txt
	PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/pytest" --quiet -p no:cacheprovider examples/testcontainers
	container=$(podman run --detach "$MINIAPI_IMAGE")
	until podman healthcheck run "$container"; do :; done
	podman stop --time 60 "$container" >/dev/null
	[[ $(podman inspect --format '{{.State.ExitCode}}' "$container") == 0 ]]
	podman rm "$container" >/dev/null
fi
