package integration_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The response to an invalid object has the error of the validation, even if a step before the validation fails because
// of the same field.
func TestInvalidObjects(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	service := func(name string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			return err
		}
	}
	for _, tc := range []struct {
		name, reason string
		create       func(kubernetes.Interface) error
		want         string
	}{
		{"service without a name", "an IPAddress needs the name of its service", service(""),
			`metadata.name: Required value: name or generateName is required`},
		{"name of a service", "the IPAddress of the service can't have this name", service("a/b"), `metadata.name: Invalid value: "a/b"`},
		{"node of a pod", "a plugin needs the labels of a node with an invalid name", func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "a"},
				Spec:       corev1.PodSpec{NodeName: "a/b", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, metav1.CreateOptions{})
			return err
		}, `spec.nodeName: Invalid value: "a/b"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := tc.create(srv.Client()); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it refused as invalid with %q: %s", err, tc.want, tc.reason)
			}
		})
	}
}
