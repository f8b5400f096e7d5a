#!/usr/bin/env bash
# Commits and tags a release of all modules: hack/release.sh VERSION [DIST], such as v1.2.3, in a clean checkout. DIST is
# the folder with the release's archives, which GoReleaser has built of the same commit. The script pushes nothing.
#
# The script first commits the checksums of the archives, by which the fixture knows the program of its version. Without
# DIST, the fixture builds the program. The program doesn't contain the checksums, so the archives stay those of this
# commit's sources.
#
# The script then tags the modules that go.work ties to the main module. It commits the main module's go.mod and go.sum
# with the versions and hashes of these modules, and tags this commit for the main module, so that "go install" of the
# program finds the modules. The section *Unreleased* of CHANGELOG.md becomes the section of the version in this commit.
# The next commit removes the versions from go.mod again, because go.work connects the modules between releases.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:-}
dist=${2:-}
main=github.com/miniapi-dev/miniapi
[[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$ ]] || {
	echo "usage: hack/release.sh VERSION [DIST], such as hack/release.sh v1.2.3 dist" >&2
	exit 2
}
[[ -z $(git status --porcelain) ]] || {
	echo "commit or remove what 'git status' shows first" >&2
	exit 1
}

grep -qx '## \[Unreleased\]' CHANGELOG.md || {
	echo "CHANGELOG.md must have the section '## [Unreleased]', which the script gives the version" >&2
	exit 1
}

checksums=pkg/miniapitest/engine/program/checksums.txt
if [[ -n $dist ]]; then
	grep -q "\"commit\":\"$(git rev-parse HEAD)\"" "$dist/metadata.json" || {
		echo "the archives in $dist must be of the commit $(git rev-parse HEAD): run 'make release VERSION=$version' first" >&2
		exit 1
	}
	archive="miniapi_${version#v}_(linux|darwin|windows)_(amd64|arm64)\.tar\.gz"
	grep -E "^[0-9a-f]{64}  $archive\$" "$dist/checksums.txt" >$checksums || true
	(($(wc -l <$checksums) == 6)) || {
		echo "$dist/checksums.txt must have the archives of $version for six systems" >&2
		git checkout -q -- $checksums
		exit 1
	}
else
	: >$checksums
fi
git diff --quiet -- $checksums || git commit -q -m "release: the checksums of $version" $checksums

module_cache=$(mktemp -d)
trap 'rm -rf "$module_cache"' EXIT
tags=()
for folder in $(hack/modules.sh); do
	tags+=("$folder/$version")
	git tag -a "$folder/$version" -m "$folder of miniapi $version"

	# The go command downloads the module from this repository, as it does for users, and prints the hashes.
	sums=$(cd "$module_cache" &&
		GOWORK=off GOFLAGS=-modcacherw GOMODCACHE=$module_cache GOPRIVATE=$main \
			GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$OLDPWD.insteadOf" GIT_CONFIG_VALUE_0="https://$main" \
			go mod download -json "$main/$folder@$version" | sed -n 's/^\t"\(Sum\|GoModSum\)": "\(.*\)",\{0,1\}$/\2/p')
	{
		read -r sum
		read -r go_mod_sum
	} <<<"$sums"
	go mod edit -require "$main/$folder@$version"
	printf '%s\n' "$main/$folder $version $sum" "$main/$folder $version/go.mod $go_mod_sum" >>go.sum
done

sed -i "s/^## \[Unreleased\]\$/&\n\n## [${version#v}] - $(date -u +%F)/" CHANGELOG.md
git commit -q -m "release: $version" go.mod go.sum CHANGELOG.md
git tag -a "$version" -m "miniapi $version"

git checkout -q HEAD~ -- go.mod go.sum
git commit -q -m "release: go.work ties the modules again"
echo "tagged $version; now: git push --atomic origin HEAD $version ${tags[*]}"
if [[ -n $dist ]]; then
	sed -n "/^## \[${version#v}\]/,/^## \[/{//!p}" CHANGELOG.md >"$dist/notes.md"
	echo "then: gh release create $version --verify-tag --notes-file $dist/notes.md devcontainer/src/miniapi/install.sh $dist/checksums.txt $dist/miniapi_${version#v}_*.*"
fi
