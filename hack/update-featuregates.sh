#!/usr/bin/env bash
# Generates the table of kube-apiserver's feature gates, and two lists for tests: the gates that drop fields, and the
# fields of k8s.io/api that have a gate. The sources are of the version of Kubernetes that the modules in go.mod have.
# Usage: hack/update-featuregates.sh [DIRECTORY]
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-pkg/registry}

# Version v0.37.2 of the k8s.io modules is a part of Kubernetes v1.37.2.
version=$(go list -m -f '{{.Version}}' k8s.io/apiserver)

# folder prints the folder of a module that go.mod doesn't require. The download doesn't change go.mod.
folder() {
	(cd / && go mod download -json "$1") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}

mkdir -p "$out/features" "$out/testdata"
go run ./hack/featuregates \
	-kubernetes "$(folder "k8s.io/kubernetes@v1.${version#v0.}")" \
	-controller-manager "$(folder "k8s.io/controller-manager@$version")" \
	-client-go "$(go list -m -f '{{.Dir}}' k8s.io/client-go)" \
	-api "$(go list -m -f '{{.Dir}}' k8s.io/api)" \
	-go-header-file hack/boilerplate.go.txt \
	-gates "$out/features/zz_generated.gates.go" \
	-dropping "$out/testdata/gates_that_drop.txt" \
	-marked "$out/testdata/marked_fields.txt"
