package resource

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestResourceClaimTemplateErrors(t *testing.T) {
	t.Parallel()
	template := func(request string) *resourcev1.ResourceClaimTemplate {
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: registrytest.Stored("t")}
		template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: request, Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeAll}}}
		return template
	}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "update", Reason: "the errors about the new spec come before the error about its change",
			Object: template("-"), Old: template("r"),
			Want: []string{
				`spec.spec.devices.requests[0].name: Invalid value: "-": ` + notLabel,
				`spec: Invalid value: {"Spec":{"Devices":{"Requests":[{"Name":"-","Exactly":{"DeviceClassName":"c","Selectors":null,"AllocationMode":"All",` +
					`"Count":0,"AdminAccess":null,"Tolerations":null,"Capacity":null,"DerivedAttributes":null},"FirstAvailable":null}],` +
					`"Constraints":null,"Config":null}}}: field is immutable`,
			},
		},
	})
}
