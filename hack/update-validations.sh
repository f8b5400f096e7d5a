#!/usr/bin/env bash
# Generates the declarative validation of kinds (KEP-5073) from the markers in the Go types of k8s.io/api.
# Usage: hack/update-validations.sh [DIRECTORY]
set -euo pipefail
cd "$(dirname "$0")/.."

packages=pkg/registry/declarative
out=${1:-$packages}

# The group versions are those to which all other versions convert, as far as they have markers with an effect: the
# markers of the stage alpha have none. core/v1 is in the list for the types that others refer to, and resource/v1beta1
# because its fields have other paths than those of resource/v1.
versions=(
	admissionregistration/v1
	autoscaling/v2
	batch/v1
	certificates/v1
	core/v1
	discovery/v1
	flowcontrol/v1
	lifecycle/v1alpha1
	networking/v1
	node/v1
	rbac/v1
	resource/v1
	resource/v1alpha3
	resource/v1beta1
	scheduling/v1alpha3
	scheduling/v1beta1
	storage/v1
)

# The version of the generator is the version of k8s.io/api in go.mod.
version=$(go list -m -f '{{.Version}}' k8s.io/api)
tools=$PWD/bin/code-generator-$version
if [[ ! -x $tools/validation-gen ]]; then
	GOBIN=$tools go install "k8s.io/code-generator/cmd/validation-gen@$version"
fi

# The generator also writes into the package that validates metadata, so it runs in a module with a copy of
# k8s.io/apimachinery.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp go.mod go.sum "$work"
cp -r --no-preserve=mode "$(go list -m -f '{{.Dir}}' k8s.io/apimachinery)" "$work/apimachinery"
for v in "${versions[@]}"; do
	mkdir -p "$work/$packages/$v"
	find "$packages/$v" -name '*.go' ! -name 'zz_generated.*' -exec cp {} "$work/$packages/$v" \; 2>/dev/null || true
	cat > "$work/$packages/$v/doc.go" <<-END
		// +k8s:validation-gen=TypesWithField=TypeMeta
		// +k8s:validation-gen-input=k8s.io/api/$v

		package ${v#*/}
	END
done
boilerplate=$PWD/hack/boilerplate.go.txt
(
	cd "$work"
	export GOWORK=off GOFLAGS=-mod=mod
	go mod edit -replace k8s.io/apimachinery=./apimachinery
	"$tools/validation-gen" \
		--go-header-file "$boilerplate" \
		--output-file zz_generated.validations.go \
		--readonly-pkg k8s.io/api/scheduling/v1alpha3 \
		--readonly-pkg k8s.io/apimachinery/pkg/api/resource \
		--readonly-pkg k8s.io/apimachinery/pkg/runtime \
		--readonly-pkg k8s.io/apimachinery/pkg/types \
		--readonly-pkg k8s.io/apimachinery/pkg/util/intstr \
		--readonly-pkg time \
		"${versions[@]/#/./$packages/}" k8s.io/apimachinery/pkg/apis/meta/v1/validation
)

# The generated packages register themselves in a scheme when the program starts. Here, the table of kinds registers
# them (registry.Version).
for v in "${versions[@]}"; do
	mkdir -p "$out/$v"
	sed -e '/^func init() { localSchemeBuilder\.Register(RegisterValidations) }$/,+1d' \
		-e "s|^package ${v#*/}\$|// Package ${v#*/} validates the types of k8s.io/api/$v as their markers declare.\n&|" \
		"$work/$packages/$v/zz_generated.validations.go" > "$out/$v/zz_generated.validations.go"
done
