package denyserviceexternalips

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	service := func(ips ...string) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: ips}}
	}
	const refused = "Use of external IPs is denied by admission control"
	tests := []struct {
		name, reason, refusal string
		request               plugintest.Request
	}{
		{name: "none", reason: "nothing to deny", request: plugintest.Create(service())},
		{name: "new", reason: "a new service must not have external IPs",
			request: plugintest.Create(service("192.0.2.1")), refusal: refused},
		{name: "added", reason: "an update must not add external IPs",
			request: plugintest.Update(service("192.0.2.1"), service("192.0.2.1", "192.0.2.2")), refusal: refused},
		{name: "removed", reason: "an update may remove external IPs",
			request: plugintest.Update(service("192.0.2.1", "192.0.2.2"), service("192.0.2.2"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, New(), test.request, test.refusal)
		})
	}
}
