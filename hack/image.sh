#!/usr/bin/env bash
# Builds the container images of a release from the programs in GoReleaser's folder: hack/image.sh DIST. The script needs
# buildah, and no daemon. It writes one archive for each architecture, which "docker load" and "podman load" read. The
# format is Docker's, because an image in the format of the OCI has no health check.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=${1:?usage: hack/image.sh DIST}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dist/metadata.json"; }
version=$(field version)
commit=$(field commit)
timestamp=$(git log -1 --format=%ct "$commit")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
buildah=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)

mkdir -p "$work/context/empty/kube" "$work/context/empty/tmp"
for arch in amd64 arm64; do
	cp "$dist"/miniapi_linux_"$arch"*/miniapi "$work/context"
	"${buildah[@]}" build --quiet --isolation chroot --format docker --platform "linux/$arch" --timestamp "$timestamp" \
		--label org.opencontainers.image.title=miniapi \
		--label org.opencontainers.image.source=https://github.com/miniapi-dev/miniapi \
		--label org.opencontainers.image.licenses=Apache-2.0 \
		--label "org.opencontainers.image.version=$version" \
		--label "org.opencontainers.image.revision=$commit" \
		--label "org.opencontainers.image.created=$(date -u -d "@$timestamp" +%FT%TZ)" \
		--tag "ghcr.io/miniapi-dev/miniapi:$version" --file Dockerfile "$work/context" >/dev/null
	archive=$dist/miniapi_${version}_image_$arch.tar
	rm -f "$archive"
	"${buildah[@]}" push --quiet "ghcr.io/miniapi-dev/miniapi:$version" "docker-archive:$archive:ghcr.io/miniapi-dev/miniapi:$version"
done
