#!/usr/bin/env bash
# Tests that users could use a release of this checkout: hack/test-compat.sh [all | MINOR...], for Kubernetes 1.MINOR. By
# default, the minor versions are the oldest, which the fixture's go.mod requires, and the newest, which the main module's
# go.mod requires; "all" adds those between. The script releases the modules at a made-up version in a copy of the
# checkout. The go command uses this copy in place of the repository. The script then tests that:
#
# - "go install" installs the program;
# - an operator with each minor version gets the fixture by "go get", which changes no other line of the operator's
#   go.mod;
# - the fixture builds the program, and the operator's tests pass with this program;
# - the fixture also builds the program without the network, from a full module cache;
# - a runtime extension with the oldest minor version that pkg/runtimehooks/go.mod requires, and one with the newest, get
#   pkg/runtimehooks by "go get", which brings no API server and no etcd, and their tests pass.
#
# The script needs a module proxy for the modules of other projects. It has its own module cache and its own user cache
# folder.
set -euo pipefail
cd "$(dirname "$0")/.."

# minor prints the minor version of Kubernetes that a go.mod requires.
minor() { sed -n 's/^\tk8s.io\/client-go v0\.\([0-9]*\)\..*/\1/p' "$1"; }
oldest=$(minor pkg/miniapitest/go.mod)
oldest_of_extensions=$(minor pkg/runtimehooks/go.mod)
newest=$(minor go.mod)
case $* in
"") minors=("$oldest" "$newest") ;;
all) mapfile -t minors < <(seq "$oldest" "$newest") ;;
*) minors=("$@") ;;
esac
version=v0.99.0
main=github.com/miniapi-dev/miniapi
fixture=$main/pkg/miniapitest
checkout=$PWD

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/repository" "$work/cache"

git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	[[ -e $file ]] && printf '%s\0' "$file"
done | tar --null --files-from - --create | tar --extract --directory "$work/repository"
(
	cd "$work/repository"
	export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test@example.com GIT_COMMITTER_NAME=test GIT_COMMITTER_EMAIL=test@example.com
	git init -q -b main
	git add -A
	git commit -q -m "the checkout"
	hack/release.sh "$version" >/dev/null
)

# Modules in the machine's module cache aren't downloaded again. Only the network has the newest versions.
network=$(go env GOPROXY)
GOPROXY=file://$(go env GOMODCACHE)/cache/download,$network
export GOPROXY GOWORK=off GOFLAGS="-trimpath -buildvcs=false -modcacherw" GOMODCACHE=$work/modules GOPRIVATE=$main
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$work/repository.insteadOf" GIT_CONFIG_VALUE_0="https://$main"
export XDG_CACHE_HOME=$work/cache GOCACHE=${GOCACHE:-$(go env GOCACHE)}
unset MINIAPI

# quietly runs a command. It shows the output only if the command fails.
quietly() {
	"$@" >"$work/output" 2>&1 || {
		cat "$work/output" >&2
		echo "failed: $*" >&2
		return 1
	}
}

cd "$work"
GOBIN=$work/bin GOGC=400 quietly go install "$main/cmd/miniapi@$version"
bin/miniapi version >/dev/null
echo "ok	go install $main/cmd/miniapi@VERSION"

# controller-runtime 0.18 uses Kubernetes 1.30, controller-runtime 0.19 uses Kubernetes 1.31, and so on.
for minor in "${minors[@]}"; do
	mkdir "$work/$minor"
	cd "$work/$minor"
	cp "$checkout/hack/compat/operator/operator.go" .
	quietly go mod init example.com/operator
	go mod edit -go=1.22.0
	kubernetes=$(GOPROXY=$network go list -m -f '{{.Version}}' "k8s.io/client-go@v0.$minor")
	controller_runtime=$(GOPROXY=$network go list -m -f '{{.Version}}' "sigs.k8s.io/controller-runtime@v0.$((minor - 12))")
	quietly go get "k8s.io/api@$kubernetes" "k8s.io/apimachinery@$kubernetes" "k8s.io/client-go@$kubernetes" \
		"sigs.k8s.io/controller-runtime@$controller_runtime"
	quietly go mod tidy
	cp go.mod go.mod.before

	cp "$checkout/hack/compat/operator/operator_test.go" .
	for change in "go get -t $fixture@$version" "go mod tidy"; do
		quietly $change
		diff -u go.mod.before <(grep -v "$fixture" go.mod) || {
			echo "$change has changed more of the go.mod than the fixture's line" >&2
			exit 1
		}
	done
	go test -vet=off ./...
	echo "ok	k8s.io $kubernetes, controller-runtime $controller_runtime, $(grep '^go ' go.mod)"
done

rm -rf "$work/cache"
GOPROXY=off GIT_CONFIG_COUNT=0 go test -vet=off -count 1 ./...
[[ -x $work/cache/miniapi/fixture/$version/miniapi ]]
echo "ok	without the network"

for minor in "$oldest_of_extensions" "$newest"; do
	mkdir "$work/extension-$minor"
	cd "$work/extension-$minor"
	cp "$checkout"/examples/runtime-extension/{main,quota,quota_test}.go .
	quietly go mod init example.com/extension
	kubernetes=$(GOPROXY=$network go list -m -f '{{.Version}}' "k8s.io/client-go@v0.$minor")
	quietly go get "k8s.io/api@$kubernetes" "k8s.io/apimachinery@$kubernetes" "k8s.io/client-go@$kubernetes" \
		"$main/pkg/runtimehooks@$version"
	quietly go mod tidy
	if grep -E "$main v|k8s.io/apiserver|go.etcd.io" go.mod; then
		echo "go get $main/pkg/runtimehooks brings these modules" >&2
		exit 1
	fi
	go test -vet=off ./...
	echo "ok	runtime extension, k8s.io $kubernetes"
done
