#!/usr/bin/env bash
# Commits and tags a release of both modules: hack/release.sh VERSION, such as v1.2.3, in a clean checkout. The script
# pushes nothing.
#
# The script first tags the fixture's module. It then commits the main module's go.mod and go.sum with the version and
# the hashes of the fixture's module, and tags this commit for the main module, so that "go install" of the program
# finds the fixture's module. The next commit removes the version again, because go.work connects the modules between
# releases.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:-}
main=github.com/miniapi-dev/miniapi
fixture=$main/pkg/miniapitest
[[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$ ]] || {
	echo "usage: hack/release.sh VERSION, such as v1.2.3" >&2
	exit 2
}
[[ -z $(git status --porcelain) ]] || {
	echo "commit or remove what 'git status' shows first" >&2
	exit 1
}

git tag -a "pkg/miniapitest/$version" -m "the fixture of miniapi $version"

# The go command downloads the fixture's module from this repository, as it does for users, and prints the hashes.
module_cache=$(mktemp -d)
trap 'rm -rf "$module_cache"' EXIT
sums=$(cd "$module_cache" &&
	GOWORK=off GOFLAGS=-modcacherw GOMODCACHE=$module_cache GOPRIVATE=$main \
		GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$OLDPWD.insteadOf" GIT_CONFIG_VALUE_0="https://$main" \
		go mod download -json "$fixture@$version" | sed -n 's/^\t"\(Sum\|GoModSum\)": "\(.*\)",\{0,1\}$/\2/p')
{
	read -r sum
	read -r go_mod_sum
} <<<"$sums"

go mod edit -require "$fixture@$version"
printf '%s\n' "$fixture $version $sum" "$fixture $version/go.mod $go_mod_sum" >>go.sum
git commit -q -m "release: $version" go.mod go.sum
git tag -a "$version" -m "miniapi $version"

git checkout -q HEAD~ -- go.mod go.sum
git commit -q -m "release: go.work ties the modules again"
echo "tagged $version; now: git push --atomic origin HEAD $version pkg/miniapitest/$version"
