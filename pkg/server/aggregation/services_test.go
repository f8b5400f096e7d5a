package aggregation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// A change of a Service or its endpoints starts a check of the server at once.
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
		{"its service", "it may be new, or lead elsewhere", &corev1.Service{ObjectMeta: meta("tools", "hammer")}, true},
		{"another service", "it isn't there", &corev1.Service{ObjectMeta: meta("tools", "saw")}, false},
		{"another namespace", "the name alone says nothing", &corev1.Service{ObjectMeta: meta("toys", "hammer")}, false},
		{"its slice", "the label says whose it is, not the name", sliceOf("hammer"), true},
		{"another's slice", "it says where the other is", sliceOf("saw"), false},
		{"its endpoints", "they have the service's name", &corev1.Endpoints{ObjectMeta: meta("tools", "hammer")}, true},
		{"a deletion that was missed", "the last known object says whose it was", cache.DeletedFinalStateUnknown{Obj: sliceOf("hammer")}, true},
	} {
		a, r := with(t, nil)
		r.service.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "tools", Name: "hammer"}
		a.serviceChanged(test.object)
		if got := len(r.again) > 0; got != test.want {
			t.Errorf("%s: asked %v, want %v: %s", test.name, got, test.want, test.reason)
		}
	}
}
