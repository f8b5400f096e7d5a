package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestResourceNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             corev1.ResourceName
		reason           string
		native, extended bool
	}{
		{name: "cpu", reason: "names without a domain are native", native: true},
		{name: "alpha.kubernetes.io/gpu", reason: "the domain belongs to Kubernetes", native: true},
		{name: "example.com/gpu", reason: "the domain doesn't belong to Kubernetes", extended: true},
		{name: "requests.example.com/gpu", reason: "only quotas use this prefix"},
		{name: "example.com/not qualified", reason: "the name is malformed"},
	}
	for _, test := range tests {
		t.Run(string(test.name), func(t *testing.T) {
			t.Parallel()
			if native, extended := IsNativeResource(test.name), IsExtendedResource(test.name); native != test.native || extended != test.extended {
				t.Errorf("%s: native %t, extended %t", test.reason, native, extended)
			}
		})
	}
}
