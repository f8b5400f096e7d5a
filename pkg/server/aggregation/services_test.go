package aggregation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// TestServiceChanged checks that a change of a Service or of its endpoints starts a check of the
// server at once.
func TestServiceChanged(t *testing.T) {
	t.Parallel()
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	sliceOf := func(service string) *discoveryv1.EndpointSlice {
		slice := &discoveryv1.EndpointSlice{ObjectMeta: meta("tools", "slice")}
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: service}
		return slice
	}
	for _, test := range []struct {
		name, reason string
		object       any
		want         bool
	}{
		{"its service", "the Service of the server may have another address now",
			&corev1.Service{ObjectMeta: meta("tools", "hammer")}, true},
		{"another service", "the server has another Service", &corev1.Service{ObjectMeta: meta("tools", "saw")}, false},
		{"another namespace", "a Service in another namespace is another Service",
			&corev1.Service{ObjectMeta: meta("toys", "hammer")}, false},
		{"its slice", "the label names the Service of an EndpointSlice", sliceOf("hammer"), true},
		{"another's slice", "the EndpointSlice belongs to another Service", sliceOf("saw"), false},
		{"its endpoints", "Endpoints have the name of their Service", &corev1.Endpoints{ObjectMeta: meta("tools", "hammer")}, true},
		{"a deletion that was missed", "the last known object names its Service",
			cache.DeletedFinalStateUnknown{Obj: sliceOf("hammer")}, true},
	} {
		a, r := with(t, nil)
		r.service.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "tools", Name: "hammer"}
		a.serviceChanged(test.object)
		if got := len(r.again) > 0; got != test.want {
			t.Errorf("%s: asked %v, want %v: %s", test.name, got, test.want, test.reason)
		}
	}
}
