#!/usr/bin/env bash
# Generates the code for the types of examples/aggregated: functions that copy the types, and OpenAPI definitions.
# Usage: hack/update-aggregated.sh
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

types=(./examples/aggregated/wardle/v1alpha1 ./examples/aggregated/wardle/v1beta1)
"$generators/deepcopy-gen" --go-header-file hack/boilerplate.go.txt --output-file zz_generated.deepcopy.go "${types[@]}"
"$tools/openapi-gen" \
	--go-header-file hack/boilerplate.go.txt \
	--output-dir examples/aggregated/wardle \
	--output-file zz_generated.openapi.go \
	--output-model-name-file zz_generated.model_name.go \
	--output-pkg github.com/miniapi-dev/miniapi/examples/aggregated/wardle \
	--report-filename /dev/null \
	"${types[@]}" k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime
