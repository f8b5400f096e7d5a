#!/usr/bin/env bash
# Runs a program for Windows, which sees the files below $TMPDIR: hack/wine.sh PROGRAM [ARGUMENT...]. Debian 12's Wine lacks
# functions that every program of Go calls, so the first call makes a root folder of Debian 13 below bin/. The script needs
# root and mmdebstrap.
set -euo pipefail

export TMPDIR=${TMPDIR:-/tmp}
root=$(realpath "$(dirname "$0")/..")/bin/wine-trixie
if [[ ! -d $root ]]; then
	rm -rf "$root.partial"
	mkdir -p "${root%/*}"
	mmdebstrap --quiet --variant=minbase --include=wine64 trixie "$root.partial"
	mv "$root.partial" "$root"
fi >&2
mkdir -p "$root$TMPDIR"
# The mounts end with the last process of Wine.
export HOME=/root WINEDEBUG=-all
# shellcheck disable=SC2016 # the inner shell expands its own arguments
exec unshare --mount sh -ec '
	mount --bind "$TMPDIR" "$0$TMPDIR"
	mount -t proc proc "$0/proc"
	unset TMPDIR # with it, Wine 10 ends at once
	exec chroot "$0" /usr/lib/wine/wine64 "$@"' "$root" "$@"
