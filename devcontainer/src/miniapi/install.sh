#!/bin/sh
# Installs a released miniapi, for this user, for a container, or as a feature of a dev container.
#
# The environment has the options:
#   MINIAPI_VERSION      the version, such as v1.2.3; the newest by default
#   MINIAPI_RELEASES     the place of the releases: a URL, or the absolute path of a folder, with VERSION/ARCHIVE below it;
#                        or the folder of one release
#   MINIAPI_INSTALL_DIR  the folder of the program; /usr/local/bin for root, and else ~/.local/bin
#
# The script needs tar, gzip, sha256sum or shasum, and curl or wget unless the releases are in a folder. It runs nothing
# that it has downloaded, and replaces a program only by one whose checksum is right.
set -eu

releases=${MINIAPI_RELEASES:-https://github.com/miniapi-dev/miniapi/releases/download}
version=${MINIAPI_VERSION:-}
# A dev container runs the script with the options of its feature.
[ -z "${_REMOTE_USER:-}" ] || version=${VERSION:-}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# get PATH FILE writes what the releases have at a path into a file.
get() {
	case $releases in
	/*) cp "$releases/$1" "$2" 2>/dev/null ;;
	http://* | https://*)
		if command -v curl >/dev/null; then
			curl -fsSL --retry 3 -o "$2" "$releases/$1"
		elif command -v wget >/dev/null; then
			wget -qO "$2" "$releases/$1"
		else
			fail "curl or wget must be installed, or MINIAPI_RELEASES must be the path of a folder"
		fi
		;;
	*) fail "MINIAPI_RELEASES is \"$releases\": it must be an http or https URL, or the absolute path of a folder" ;;
	esac || fail "$releases/$1 can't be read: check MINIAPI_VERSION (\"$version\") and MINIAPI_RELEASES"
}

# version_in prints the version whose archives a file with checksums names.
version_in() { sed -n 's/.*  miniapi_\(.*\)_linux_amd64\.tar\.gz$/v\1/p' "$1"; }

# newest prints the newest version. GitHub has the files of the newest release at a path of its own, and any other place
# has the version in a file.
newest() {
	case $releases in
	https://github.com/*/releases/download)
		place=$releases releases=${releases%/download}
		get latest/download/checksums.txt "$work/newest"
		releases=$place
		version_in "$work/newest"
		;;
	*)
		get latest "$work/newest"
		cat "$work/newest"
		;;
	esac
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "the system $(uname -s) has no archive for this script: https://github.com/miniapi-dev/miniapi/releases has those for Windows" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "the machine $(uname -m) has no archive: there are archives for amd64 and arm64" ;;
esac

if [ -n "${MINIAPI_INSTALL_DIR:-}" ]; then
	folder=$MINIAPI_INSTALL_DIR
elif [ "$(id -u)" = 0 ]; then
	folder=/usr/local/bin
else
	folder=$HOME/.local/bin
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
below=
if [ -f "$releases/checksums.txt" ]; then
	version=$(version_in "$releases/checksums.txt")
else
	[ -n "$version" ] || version=$(newest)
	below=$version/
fi
[ -n "$version" ] || fail "$releases doesn't say which version is the newest: set MINIAPI_VERSION"

archive=miniapi_${version#v}_${os}_$arch.tar.gz
get "${below}checksums.txt" "$work/checksums.txt"
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/checksums.txt")
[ -n "$want" ] || fail "$releases/${below}checksums.txt has no line for $archive"
get "$below$archive" "$work/$archive"
if command -v sha256sum >/dev/null; then
	got=$(sha256sum "$work/$archive")
else
	got=$(shasum -a 256 "$work/$archive")
fi
got=${got%% *}
[ "$got" = "$want" ] || fail "$releases/$below$archive has the SHA-256 sum $got, and checksums.txt has $want: the archive isn't the released one"

tar -xzf "$work/$archive" -C "$work" miniapi
mkdir -p "$folder"
# The last step is a rename, so that no one runs half a program.
cp "$work/miniapi" "$folder/.miniapi.$$"
chmod 755 "$folder/.miniapi.$$"
mv "$folder/.miniapi.$$" "$folder/miniapi"
echo "installed miniapi $version as $folder/miniapi"
case :$PATH: in
*:"$folder":*) ;;
*) echo "add $folder to PATH, to call it as miniapi" ;;
esac
