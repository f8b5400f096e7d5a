package networking

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/extensions"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group, extensions.Group), []registrytest.ConversionCase{
		{
			Name:     "ingress to v1",
			Reason:   "v1 has other names for backend, serviceName and servicePort",
			Manifest: `{apiVersion: extensions/v1beta1, kind: Ingress, spec: {backend: {serviceName: a, servicePort: http}, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {serviceName: b, servicePort: 80}}]}}]}}`,
			To:       &networkingv1.Ingress{},
			Path:     "spec",
			Want:     `{defaultBackend: {service: {name: a, port: {name: http}}}, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: b, port: {number: 80}}}}]}}]}`,
		},
		{
			Name:     "ingress to a resource",
			Reason:   "a backend that is a resource has no service in any version",
			Manifest: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {resource: {kind: k, name: bucket}}}}`,
			To:       &networkingv1beta1.Ingress{},
			Path:     "spec.backend",
			Want:     `{resource: {apiGroup: null, kind: k, name: bucket}, servicePort: 0}`,
		},
	})
}
