#!/usr/bin/env bash
# Generates the OpenAPI definitions of all kinds that can be served, from the Go types of the modules in go.mod.
# Usage: hack/update-openapi.sh [DIRECTORY]
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-pkg/registry/generatedopenapi}

# The version of the generator is the version of k8s.io/kube-openapi in go.mod.
version=$(go list -m -f '{{.Version}}' k8s.io/kube-openapi)
tools=$PWD/bin/kube-openapi-$version
if [[ ! -x $tools/openapi-gen ]]; then
	GOBIN=$tools go install "k8s.io/kube-openapi/cmd/openapi-gen@$version"
fi

# The groups are all packages of k8s.io/api that have resources. Reviews of webhooks and discovery documents aren't
# resources.
mapfile -t groups < <(go list k8s.io/api/... | grep -E '/v[0-9]+((alpha|beta)[0-9]+)?$' |
	grep -vE '^k8s.io/api/(admission|apidiscovery|imagepolicy)/')

# The packages of pkg/registry with the marker have Go types of their own.
marker='+k8s:openapi-gen=true'
mapfile -t own < <(grep -rlE --include='*.go' --exclude='*_test.go' "^\s*// ?\\$marker" pkg/registry |
	xargs -r -n 1 dirname | sort -u | sed 's|^|github.com/miniapi-dev/miniapi/|')

# These packages have types with the marker that aren't in k8s.io/api.
others=(
	k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1
	k8s.io/apimachinery/pkg/api/resource
	k8s.io/apimachinery/pkg/apis/meta/v1
	k8s.io/apimachinery/pkg/apis/meta/v1beta1
	k8s.io/apimachinery/pkg/runtime
	k8s.io/apimachinery/pkg/util/intstr
	k8s.io/apimachinery/pkg/version
	k8s.io/kube-aggregator/pkg/apis/apiregistration/v1
)

mkdir -p "$out"
"$tools/openapi-gen" \
	--go-header-file hack/boilerplate.go.txt \
	--output-dir "$out" \
	--output-file zz_generated.openapi.go \
	--output-pkg github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi \
	--report-filename /dev/null \
	"${groups[@]}" "${own[@]}" "${others[@]}"

# The generated code makes all definitions at once. Change it so that each definition is made at its first use (see
# openapi.go).
sed -i -E \
	-e 's/^func GetOpenAPIDefinitions\(ref common\.ReferenceCallback\) map\[string\]common\.OpenAPIDefinition \{/func makers() map[string]func(common.ReferenceCallback) common.OpenAPIDefinition {/' \
	-e 's/^(\treturn map\[string\])common\.OpenAPIDefinition\{/\1func(common.ReferenceCallback) common.OpenAPIDefinition{/' \
	-e 's/^(\t\t.*: *schema_\w+)\(ref\),/\1,/' \
	"$out/zz_generated.openapi.go"

# The generator ignores a package without the marker, and exits with 0.
for package in "${groups[@]}" "${own[@]}" "${others[@]}"; do
	if ! grep -qF -e "\"$package\"" -e "\"$package." "$out/zz_generated.openapi.go"; then
		echo "$package has no type with the marker \"// $marker\", so it gets no OpenAPI definitions" >&2
		exit 1
	fi
done

if [[ $out == pkg/registry/generatedopenapi ]]; then
	go build ./pkg/registry/generatedopenapi
fi
