#!/usr/bin/env bash
# Generates code for the types of pkg/runtimehooks/api: functions that copy all types, and OpenAPI definitions for
# hooks.
# Usage: hack/update-runtimehooks.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# The version of openapi-gen is the version of k8s.io/kube-openapi in go.mod. go.mod doesn't require
# k8s.io/code-generator, so the version of deepcopy-gen is the version of k8s.io/apimachinery.
openapi=$(go list -m -f '{{.Version}}' k8s.io/kube-openapi)
machinery=$(go list -m -f '{{.Version}}' k8s.io/apimachinery)
tools=$PWD/bin/kube-openapi-$openapi
if [[ ! -x $tools/openapi-gen ]]; then
	GOBIN=$tools go install "k8s.io/kube-openapi/cmd/openapi-gen@$openapi"
fi
generators=$PWD/bin/code-generator-$machinery
if [[ ! -x $generators/deepcopy-gen ]]; then
	GOBIN=$generators go install "k8s.io/code-generator/cmd/deepcopy-gen@$machinery"
fi

api=./pkg/runtimehooks/api
"$generators/deepcopy-gen" \
	--go-header-file hack/boilerplate.go.txt \
	--output-file zz_generated.deepcopy.go \
	$api/hooks/v1alpha1 $api/clusterapi/v1alpha1 $api/runtime/v1alpha1 $api/runtime/v1beta2

# generate writes the OpenAPI definitions of packages into the folder of the first package.
generate() {
	"$tools/openapi-gen" \
		--go-header-file hack/boilerplate.go.txt \
		--output-dir "$1" \
		--output-file zz_generated.openapi.go \
		--output-pkg "$(go list "$1")" \
		--report-filename /dev/null \
		"$@"
}
generate $api/hooks/v1alpha1
generate $api/clusterapi/v1alpha1 k8s.io/apimachinery/pkg/runtime
