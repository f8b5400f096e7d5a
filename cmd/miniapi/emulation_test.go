package main

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// With --emulated-version, the servers of "miniapi serve" and "miniapi kube-apiserver" lack the APIs and fields that
// are newer than that version.
func TestEmulatedVersion(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name  string
		start func(t *testing.T, args ...string) kubernetes.Interface
	}{
		{"serve", func(t *testing.T, args ...string) kubernetes.Interface {
			_, config := serve(t, args...)
			return client(t, config)
		}},
		{"kube-apiserver", func(t *testing.T, args ...string) kubernetes.Interface {
			return startKubeAPIServer(t, append(args, "--etcd-servers="+startEtcd(t))...)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := test.start(t, "--emulated-version=1.35")
			version, err := c.Discovery().ServerVersion()
			if err != nil {
				t.Fatal(err)
			}
			if got := version.EmulationMajor + "." + version.EmulationMinor; got != "1.35" {
				t.Errorf("want it to say that it emulates 1.35, got %s", got)
			}
			if _, err := c.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("want no mutating policies in v1, which 1.36 brought, got %v", err)
			}
			if _, err := c.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("want validating policies, which were there before: %v", err)
			}
			class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To("example.com/gpu")}}
			created, err := c.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if created.Spec.ExtendedResourceName != nil {
				t.Errorf("want no extendedResourceName, which 1.36 brought, got %s", *created.Spec.ExtendedResourceName)
			}
		})
	}
}
