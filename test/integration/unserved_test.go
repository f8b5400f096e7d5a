package integration_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If a group isn't served, the server still becomes ready, and clients can create pods. This also holds if admission
// or authorization reads objects of the group, or if the server creates such objects at its start.
func TestUnservedGroups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ gv, reason string }{
		{"admissionregistration.k8s.io/v1", "there are no webhooks and policies then"},
		{"apiextensions.k8s.io/v1", "there are no custom resources then"},
		{"discovery.k8s.io/v1", "services have no slices then"},
		{"flowcontrol.apiserver.k8s.io/v1", "there are no default flow schemas then"},
		{"networking.k8s.io/v1", "there are no default ingress classes, and no ranges of services' addresses, then"},
		{"node.k8s.io/v1", "there are no runtime classes then"},
		{"rbac.authorization.k8s.io/v1", "there are no roles then, and system:masters needs none"},
		{"scheduling.k8s.io/v1", "every pod has priority 0 then"},
		{"storage.k8s.io/v1", "there is no default storage class then"},
	} {
		t.Run(test.gv, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithAPIs(test.gv+"=false"))
			client, err := kubernetes.NewForConfig(srv.Config())
			ok(t, err)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
			if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Errorf("%s: %v", test.reason, err)
			}
			if _, err := client.Discovery().ServerResourcesForGroupVersion(test.gv); !apierrors.IsNotFound(err) {
				t.Errorf("%s is discovered, or not, with %v", test.gv, err)
			}
		})
	}
}
