package resource

import (
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestDeclarations checks that kinds call the validation that k8s.io/api generates, and that the errors of this
// validation come last.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	claim := func(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("claim"),
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}}
	}
	wanted := resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c"}}
	intolerant := resourcev1.DeviceRequest{Name: "-", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c",
		Tolerations: []resourcev1.DeviceToleration{{Key: "k", Operator: "Like"}}}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: registrytest.ClusterStored("slice"), Spec: resourcev1.ResourceSliceSpec{
		Driver: "d.e", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}, AllNodes: ptr.To(true),
		Devices: []resourcev1.Device{{Name: "a", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"size": {}}}},
	}}
	for _, test := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{{
		name: "claim", reason: "an operator is one of a declared set", errs: validateResourceClaim(claim(intolerant)),
		want: []string{
			`spec.devices.requests[0].name: Invalid value: "-": ` + notLabel,
			`spec.devices.requests[0].exactly.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"`,
		},
	}, {
		name: "template", reason: "a template has the spec of a claim",
		errs: validateResourceClaimTemplate(&resourcev1.ResourceClaimTemplate{ObjectMeta: registrytest.Stored("template"),
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claim(wanted, wanted).Spec}}),
		want: []string{`spec.spec.devices.requests[1]: Duplicate value: {"name":"r","exactly":{"deviceClassName":"c"}}`},
	}, {
		name: "long list", reason: "the requests aren't checked one by one", errs: validateResourceClaim(claim(slices.Repeat([]resourcev1.DeviceRequest{intolerant}, 33)...)),
		want: []string{"spec.devices.requests: Too many: 33: must have at most 32 items"},
	}, {
		name: "another spec", reason: "devices are allocated by the old spec", errs: validateResourceClaimUpdate(claim(), claim(wanted)),
		want: []string{"spec: Invalid value: null: field is immutable"},
	}, {
		name: "class", reason: "the driver of a configuration has a declared format",
		errs: validateDeviceClass(&resourcev1.DeviceClass{ObjectMeta: registrytest.ClusterStored("class"), Spec: resourcev1.DeviceClassSpec{
			Config: []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{}}}},
		}}),
		want: []string{"spec.config[0].opaque.parameters: Required value", "spec.config[0].opaque.driver: Required value"},
	}, {
		name: "slice", reason: "an attribute has one value", errs: validateResourceSlice(slice),
		want: []string{"spec.devices[0].attributes[size]: Invalid value: \"\": must specify one of: `int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`"},
	}, {
		name: "stored slice", reason: "an update doesn't check the fields that stay", errs: validateResourceSliceUpdate(slice, slice),
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, test.reason, test.errs, test.want...)
		})
	}
}
