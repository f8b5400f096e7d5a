package registry_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// otherEffects are feature gates that kube-apiserver's strategies read for another purpose than to drop fields, and
// gates that miniapi lacks, with the reasons.
var otherEffects = map[featuregate.Feature]string{
	"HPAGeneration": "the strategy counts generations",
	"InPlacePodVerticalScalingMemoryBackedVolumes": "an update through pods/resize takes more fields from the request",
	"PodLevelResourcesFixDefaulting":               "the strategy sets defaults",
	"ServiceCIDRStatusFieldWiping":                 "the strategy clears the status",
}

// keptFields are fields that have the marker of a feature gate, and that kube-apiserver doesn't drop.
var keptFields = map[string]string{
	"apps/v1.StatefulSetUpdateStrategy.Type":                                                          "validation refuses the value",
	"core/v1.ContainerStatus.StopSignal":                                                              "no strategy drops the field",
	"core/v1.PodStatus.Resize":                                                                        "no strategy drops the field",
	"core/v1.VolumeStatus.Image":                                                                      "the whole status of the volume is dropped",
	"core/v1.EphemeralContainerCommon.RestartPolicyRules":                                             "the policy is dropped, too",
	"core/v1.PodSpec.Resources":                                                                       "empty resources are dropped, too",
	"resource/v1.AllocationResult.AllocationTimestamp":                                                "no strategy drops the field",
	"resource/v1.DeviceRequestAllocationResult.Tolerations":                                           "no strategy drops the field",
	"storage/v1.CSINodeStatus.StorageHealth":                                                          "no request can change the status",
	"resource/v1.DeviceRequestAllocationResult.BindingConditions DRAResourceClaimDeviceStatus":        "only DRADeviceBindingConditions drops the field of a claim",
	"resource/v1.DeviceRequestAllocationResult.BindingFailureConditions DRAResourceClaimDeviceStatus": "only DRADeviceBindingConditions drops the field of a claim",
}

// TestGatesThatDrop checks that the table of kinds has every feature gate with which kube-apiserver drops fields, if any
// version of Kubernetes that can be emulated can have the gate off.
func TestGatesThatDrop(t *testing.T) {
	t.Parallel()
	inTable := map[featuregate.Feature]bool{}
	eachGate(func(_ *registry.Kind, gate registry.Gate, _ func(runtime.Object) any) {
		for _, feature := range gate.Features() {
			inTable[feature] = true
		}
	})
	inKubernetes := map[featuregate.Feature]bool{}
	for _, line := range lines(t, "testdata/gates_that_drop.txt") {
		feature := featuregate.Feature(line)
		inKubernetes[feature] = true
		if want := canBeOff(feature) && otherEffects[feature] == ""; inTable[feature] != want {
			t.Errorf("%s: in the table of kinds: want %t, got %t", feature, want, inTable[feature])
		}
	}
	for feature := range inTable {
		if !inKubernetes[feature] {
			t.Errorf("%s: in the table of kinds, but kube-apiserver drops no fields with it", feature)
		}
	}
}

// TestMarkedFields checks that each field that k8s.io/api marks with a feature gate is behind this gate in the table of
// kinds. Only the versions of the hub count: fields of other versions are converted before they are dropped.
func TestMarkedFields(t *testing.T) {
	t.Parallel()
	behind, ofHub := map[string]bool{}, map[string]bool{}
	eachGate(func(k *registry.Kind, gate registry.Gate, part func(runtime.Object) any) {
		addTypes(ofHub, reflect.TypeOf(k.Object))
		for _, path := range gate.Fields() {
			name := fieldName(reflect.TypeOf(part(withField(k, part, path))), path)
			for _, feature := range gate.Features() {
				behind[name+" "+string(feature)] = true
			}
		}
	})
	for _, line := range lines(t, "testdata/marked_fields.txt") {
		name, gate, _ := strings.Cut(line, " ")
		if !ofHub[name[:strings.LastIndex(name, ".")]] || keptFields[name] != "" || keptFields[line] != "" {
			continue
		}
		feature := featuregate.Feature(gate)
		if gate == "PodCertificateProjection" {
			feature = "PodCertificateRequest" // the marker has an earlier name of the gate
		}
		if canBeOff(feature) && !behind[name+" "+string(feature)] {
			t.Errorf("%s isn't behind %s in the table of kinds", name, feature)
		}
	}
}

// addTypes adds the names of a struct type, and of all struct types of its fields.
func addTypes(names map[string]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		addTypes(names, t.Elem())
	case reflect.Struct:
		if name := typeName(t); !names[name] {
			names[name] = true
			for i := range t.NumField() {
				addTypes(names, t.Field(i).Type)
			}
		}
	}
}

// typeName returns the name of a type of k8s.io/api, such as core/v1.PodSpec.
func typeName(t reflect.Type) string {
	return strings.TrimPrefix(t.PkgPath(), "k8s.io/api/") + "." + t.Name()
}

// fieldName returns the name of the field at a path, such as core/v1.PodSpec.Resources.
func fieldName(t reflect.Type, path []int) string {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			t = t.Elem()
		default:
			field := t.Field(path[0])
			if len(path) == 1 {
				return typeName(t) + "." + field.Name
			}
			t, path = field.Type, path[1:]
		}
	}
}

// canBeOff reports whether the feature gate can be off in a version of Kubernetes that can be emulated.
func canBeOff(feature featuregate.Feature) bool {
	if _, known := features.Of(version.MajorMinor(1, 37)).GetAll()[feature]; !known {
		return false // the gate was removed, and its feature is always on
	}
	for minor := uint(34); minor <= 37; minor++ {
		// A gate that is newer than the version isn't in GetAll.
		spec := features.Of(version.MajorMinor(1, minor)).GetAll()[feature]
		if !spec.Default || !spec.LockToDefault {
			return true
		}
	}
	return false
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}
