package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// TestRoundTrip checks that an ExtensionConfig stays the same if it is converted from v1beta2 to
// v1alpha1 and back.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "quota", Labels: map[string]string{"a": "b"}}
	for _, test := range []struct {
		name, reason string
		config       v1beta2.ExtensionConfig
	}{{
		name:   "url",
		reason: "a url has no service, which v1alpha1 shows as nil",
		config: v1beta2.ExtensionConfig{ObjectMeta: meta, Spec: v1beta2.ExtensionConfigSpec{
			ClientConfig: v1beta2.ClientConfig{URL: "https://a.example", CABundle: []byte("PEM")},
			Settings:     map[string]string{"mode": "dry"},
		}},
	}, {
		name:   "service",
		reason: "each field of a service has its place",
		config: v1beta2.ExtensionConfig{ObjectMeta: meta, Spec: v1beta2.ExtensionConfigSpec{
			ClientConfig:      v1beta2.ClientConfig{Service: v1beta2.ServiceReference{Namespace: "a", Name: "b", Path: "/c", Port: ptr.To[int32](8443)}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "test"}},
		}},
	}, {
		name:   "status",
		reason: "v1alpha1 has the conditions of v1beta2, and the older conditions, in other fields",
		config: v1beta2.ExtensionConfig{ObjectMeta: meta, Status: v1beta2.ExtensionConfigStatus{
			Conditions: []metav1.Condition{{Type: "Discovered", Status: "True", Reason: "Discovered", ObservedGeneration: 2}},
			Handlers: []v1beta2.ExtensionHandler{
				{Name: "x.quota", RequestHook: v1beta2.GroupVersionHook{APIVersion: "g/v1", Hook: "H"},
					TimeoutSeconds: 5, FailurePolicy: "Ignore"},
				{Name: "y.quota"},
			},
			Deprecated: &v1beta2.ExtensionConfigDeprecatedStatus{V1Beta1: &v1beta2.ExtensionConfigV1Beta1DeprecatedStatus{
				Conditions: []v1beta2.LegacyCondition{{Type: "Discovered", Status: "False", Severity: "Error", Reason: "DiscoveryFailed"}},
			}},
		}},
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := test.config.DeepCopy()
			want.APIVersion, want.Kind = "runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig"
			older := v1alpha1.FromV1Beta2(test.config.DeepCopy())
			if older.APIVersion != "runtime.cluster.x-k8s.io/v1alpha1" {
				t.Errorf("apiVersion is %q", older.APIVersion)
			}
			if diff := cmp.Diff(want, v1alpha1.ToV1Beta2(older)); diff != "" {
				t.Errorf("%s (-want +got): %s", test.reason, diff)
			}
		})
	}
}

func TestConditionsStayApart(t *testing.T) {
	t.Parallel()
	older := v1alpha1.FromV1Beta2(&v1beta2.ExtensionConfig{Status: v1beta2.ExtensionConfigStatus{
		Conditions: []metav1.Condition{{Type: "Discovered", Status: "True"}},
	}})
	if len(older.Status.Conditions) > 0 || len(older.Status.V1Beta2.Conditions) != 1 {
		t.Errorf("status is %+v", older.Status)
	}
}
