package resource

import (
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func selects(expressions ...string) []resourcev1.DeviceSelector {
	var selectors []resourcev1.DeviceSelector
	for _, e := range expressions {
		selectors = append(selectors, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return selectors
}

func TestDeviceSelectors(t *testing.T) {
	t.Parallel()
	class := func(expressions ...string) *resourcev1.DeviceClass {
		return &resourcev1.DeviceClass{ObjectMeta: registrytest.ClusterStored("c"), Spec: resourcev1.DeviceClassSpec{Selectors: selects(expressions...)}}
	}
	claim := func(request resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
		request.Name = "r"
		return &resourcev1.ResourceClaim{ObjectMeta: registrytest.Stored("c"), Spec: resourcev1.ResourceClaimSpec{
			Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}}
	}
	exactly := func(expressions ...string) *resourcev1.ResourceClaim {
		return claim(resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll, Selectors: selects(expressions...)}})
	}
	alternative := claim(resourcev1.DeviceRequest{FirstAvailable: []resourcev1.DeviceSubRequest{{
		Name: "s", DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll, Selectors: selects("device.driver")}}})
	unknown := "compilation failed: ERROR: <input>:1:1: undeclared reference to 'machine' (in container '')\n | machine\n | ^"
	for _, tc := range []struct {
		name, reason string
		errs         field.ErrorList
		want         []string
	}{
		{
			name: "valid", reason: "an expression can use driver, attributes, capacities and sharing of a device",
			errs: validateDeviceClass(class(`device.driver == "d.e" && device.attributes["d.e"].model == "a"`,
				`device.capacity["d.e"].memory.isGreaterThan(quantity("1Gi")) && device.allowMultipleAllocations`)),
		},
		{
			name: "unknown name", reason: "an expression that doesn't compile selects nothing, and its author gets the error at once",
			errs: validateDeviceClass(class("machine")),
			want: []string{`spec.selectors[0].cel.expression: Invalid value: "machine": ` + unknown},
		},
		{
			name: "not a decision", reason: "an expression yields a boolean", errs: validateResourceClaim(exactly("device.driver")),
			want: []string{`spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string`},
		},
		{
			name: "alternative that isn't a decision", reason: "an alternative has selectors too",
			errs: validateResourceClaim(alternative),
			want: []string{`spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string`},
		},
		{
			name: "too long", reason: "compilation of a long expression takes long",
			errs: validateDeviceClass(class(strings.Repeat("x", resourcev1.CELSelectorExpressionMaxLength+1))),
			want: []string{"spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"},
		},
		{
			name: "too expensive", reason: "the scheduler evaluates the expression for each device of a cluster",
			errs: validateDeviceClass(class(`device.attributes["d.e"].all(a, device.attributes["d.e"].all(b, device.attributes["d.e"].all(c, device.attributes["d.e"].all(d, a < b && c < d))))`)),
			want: []string{"spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"},
		},
		{
			name: "list attribute", reason: "a new class can't use features that are off by default",
			errs: validateDeviceClassUpdate(class(`device.attributes["d.e"].models.includes("a")`), class()),
			want: []string{"spec.selectors[0].cel.expression: Invalid value: \"device.attributes[\\\"d.e\\\"].models.includes(\\\"a\\\")\": " +
				"compilation failed: ERROR: <input>:1:41: undeclared reference to 'includes' (in container '')\n" +
				" | device.attributes[\"d.e\"].models.includes(\"a\")\n | ........................................^"},
		},
		{
			name: "stored list attribute", reason: "a class that already uses the feature can still change",
			errs: validateDeviceClassUpdate(class(`device.attributes["d.e"].models.includes("a")`),
				class(`device.attributes["d.e"].models.includes("a")`)),
		},
		{
			name:   "stored list attribute of a claim",
			reason: "a claim that already uses the feature can still change, since its selectors never change",
			errs: validateResourceClaimUpdate(exactly(`device.attributes["d.e"].models.includes("a")`),
				exactly(`device.attributes["d.e"].models.includes("a")`)),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			registrytest.WantErrors(t, tc.reason, tc.errs, tc.want...)
		})
	}
}
