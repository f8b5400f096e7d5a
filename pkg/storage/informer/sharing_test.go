package informer

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// ownedPod returns a pod as decoding makes it: nothing of it is shared with another pod.
func ownedPod(name string, controller types.UID) *corev1.Pod {
	text := func(s string) string { return string([]byte(s)) }
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{UID: controller, Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: text("kubelet"), FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: text("default"), Priority: ptr.To(int32(0)),
			Containers: append(make([]corev1.Container, 0, 4), corev1.Container{
				Image:        text("registry.example/web:1"),
				Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "token-" + name, MountPath: text("/var/run/secrets")}},
			}),
			Tolerations: []corev1.Toleration{{Key: text("node.kubernetes.io/not-ready"), TolerationSeconds: ptr.To(int64(300))}},
		},
	}
}

func TestSharing(t *testing.T) {
	t.Parallel()
	const controller, other = "set", "other"
	for _, test := range []struct {
		name, reason string
		first        *corev1.Pod
		want         bool
	}{
		{"same controller", "pods of one ReplicaSet are alike", ownedPod("a", controller), true},
		{"other controller", "the last pod of another one may have nothing in common", ownedPod("a", other), false},
		{"none", "a pod without a controller has no like", ownedPod("a", ""), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name == "none" {
				test.first.OwnerReferences = nil
			}
			s := sharing{}
			first, second := test.first, ownedPod("b", controller)
			s.join(first)
			s.join(second)
			want := ownedPod("b", controller)
			want.ManagedFields = nil
			if diff := cmp.Diff(want, second); diff != "" {
				t.Errorf("want the pod without managedFields (-want +got):\n%s", diff)
			}
			a, b := first.Spec, second.Spec
			for part, got := range map[string]bool{
				"a string":                      unsafe.StringData(a.ServiceAccountName) == unsafe.StringData(b.ServiceAccountName),
				"a pointer":                     a.Priority == b.Priority,
				"a slice":                       unsafe.SliceData(a.Tolerations) == unsafe.SliceData(b.Tolerations),
				"a string of another container": unsafe.StringData(a.Containers[0].Image) == unsafe.StringData(b.Containers[0].Image),
				"no room in another slice":      cap(b.Containers) == 1,
			} {
				if got != test.want {
					t.Errorf("%s: %s: want %t, got %t", test.reason, part, test.want, got)
				}
			}
			if unsafe.SliceData(a.Containers) == unsafe.SliceData(b.Containers) {
				t.Error("containers that differ are shared")
			}
		})
	}
}

// The last objects of controllers that are gone don't stay for ever.
func TestSharingIsBounded(t *testing.T) {
	t.Parallel()
	s := sharing{}
	for i := range 3 * maxFamilies {
		s.join(ownedPod("a", types.UID(fmt.Sprint(i))))
		if len(s) > maxFamilies {
			t.Fatalf("want at most %d objects, got %d", maxFamilies, len(s))
		}
	}
}
