#!/usr/bin/env bash
# Prints the linker flags with the version of a build: hack/ldflags.sh [VERSION]. By default, the version is that of the
# nearest tag. The date is the commit's, so a commit always has the same flags.
set -euo pipefail
cd "$(dirname "$0")/.."

# k8s.io/api v0.37.2 belongs to Kubernetes v1.37.2.
kubernetes=$(go list -m -f '{{.Version}}' k8s.io/api)
kubernetes=v1.${kubernetes#v0.}
minor=${kubernetes#v1.}
minor=${minor%%.*}

if commit=$(git rev-parse HEAD 2>/dev/null); then
	described=$(git describe --tags --always)
	date=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
	state=clean
	[[ -z $(git status --porcelain) ]] || state=dirty
else
	# A source archive has no git repository.
	commit=unknown described=archive date=1970-01-01T00:00:00Z state=archive
fi
suffix=miniapi-${1:-$described}
[[ $state != dirty ]] || suffix+=-dirty

package=k8s.io/component-base/version
printf -- '-X %s.%s ' \
	$package "gitVersion=$kubernetes+$suffix" \
	$package "gitMajor=1" \
	$package "gitMinor=$minor" \
	$package "gitCommit=$commit" \
	$package "gitTreeState=$state" \
	$package "buildDate=$date"
