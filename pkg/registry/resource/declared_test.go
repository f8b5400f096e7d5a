package resource

import (
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestDeclarations checks the rules that the Go types declare. Their errors come last.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	claim := func(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"),
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}}
	}
	wanted := resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: "All"}}
	intolerant := resourcev1.DeviceRequest{Name: "-", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: "All",
		Tolerations: []resourcev1.DeviceToleration{{Key: "k", Operator: "Like"}}}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: registrytest.ClusterStored("slice"), Spec: resourcev1.ResourceSliceSpec{
		Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
		Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"size": {}}}},
	}}
	partitioned := func(attribute resourcev1.FullyQualifiedName) *resourcev1.ResourceSlice {
		s := slice.DeepCopy()
		s.Spec.PartitionTypeAttribute = &attribute
		return s
	}
	named := slice.DeepCopy()
	named.Spec.Devices[0].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{resourcev1.QualifiedName(strings.Repeat("a", 97)): {}}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{{
		Name: "claim", Reason: "an operator is one of a declared set", Object: claim(intolerant),
		Want: []string{
			`spec.devices.requests[0].name: Invalid value: "-": ` + notLabel,
			`spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"`,
		},
	}, {
		Name: "claim of an older version", Reason: "in v1beta1, the fields of a single device are those of the request",
		Object:  claim(intolerant),
		Through: resourcev1beta1.SchemeGroupVersion,
		Want: []string{
			`spec.devices.requests[0].name: Invalid value: "-": ` + notLabel,
			`spec.devices.requests[0].tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"`,
		},
	}, {
		Name: "request without a class", Reason: "in v1beta1, only a request with a class has the default mode", Object: claim(resourcev1.DeviceRequest{Name: "r",
			Exactly: &resourcev1.ExactDeviceRequest{Tolerations: []resourcev1.DeviceToleration{{Key: "k", Operator: "Exists"}}}}),
		Through: resourcev1beta1.SchemeGroupVersion,
		Want: []string{
			"spec.devices.requests[0].exactly.deviceClassName: Required value",
			`spec.devices.requests[0].exactly.allocationMode: Unsupported value: "": supported values: "All", "ExactCount"`,
		},
	}, {
		Name: "template", Reason: "a template has the spec of a claim",
		Object: &resourcev1.ResourceClaimTemplate{ObjectMeta: registrytest.Stored("template"),
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claim(wanted, wanted).Spec}},
		Want: []string{`spec.spec.devices.requests[1]: Duplicate value: {"name":"r","exactly":{"deviceClassName":"c","allocationMode":"All"}}`},
	}, {
		Name: "long list", Reason: "the requests aren't checked one by one",
		Object: claim(slices.Repeat([]resourcev1.DeviceRequest{intolerant}, 33)...),
		Want:   []string{"spec.devices.requests: Too many: 33: must have at most 32 items"},
	}, {
		Name: "another spec", Reason: "devices are allocated by the old spec", Object: claim(), Old: claim(wanted),
		Want: []string{"spec: Invalid value: null: field is immutable"},
	}, {
		Name: "class", Reason: "the driver of a configuration has a declared format",
		Object: &resourcev1.DeviceClass{ObjectMeta: registrytest.ClusterStored("class"), Spec: resourcev1.DeviceClassSpec{
			Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{}}}},
		}},
		Want: []string{"spec.config[0].opaque.parameters: Required value", "spec.config[0].opaque.driver: Required value"},
	}, {
		Name: "slice", Reason: "an attribute has one value", Object: slice,
		Want: []string{"spec.devices[0].attributes[size]: Invalid value: \"\": must specify one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
	}, {
		Name: "changed type of partitions", Reason: "the field's gate is off, and the stored slice has the field nevertheless",
		Object: partitioned("a.e/b"), Old: partitioned("a.e/c"), Want: []string{
			`spec.partitionTypeAttribute: Invalid value: "a.e/b": may only be set on a slice which declares devices that consume counters`,
			"spec.partitionTypeAttribute: Forbidden",
		},
	}, {
		Name: "long name", Reason: "the names in errors that no Go type declares are cut", Object: named,
		Want: []string{
			"spec.devices[0].attributes: Too long: may not be more than 32 bytes",
			"spec.devices[0].attributes[" + strings.Repeat("a", 47) + "..." + strings.Repeat("a", 46) + `]: Invalid value: "": exactly one value must be specified`,
			"spec.devices[0].attributes[" + strings.Repeat("a", 97) + "]: Invalid value: \"\": must specify one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`",
		},
	}, {
		Name: "stored slice", Reason: "an update doesn't check the fields that stay", Object: slice, Old: slice,
	}})
}
