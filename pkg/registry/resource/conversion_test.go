package resource

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "device request",
			Reason:   "v1 moves the fields of a single request into the field exactly",
			Manifest: `{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, spec: {devices: {requests: [{name: r, deviceClassName: c, count: 2}, {name: s, firstAvailable: [{name: t, deviceClassName: d}]}]}}}`,
			To:       &resourcev1.ResourceClaim{},
			Path:     "spec.devices.requests",
			Want:     `[{name: r, exactly: {deviceClassName: c, count: 2}}, {name: s, firstAvailable: [{name: t, deviceClassName: d}]}]`,
		},
	})
}
