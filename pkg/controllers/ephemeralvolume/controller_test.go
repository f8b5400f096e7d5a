package ephemeralvolume

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
)

func TestSync(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{
			{Name: "plain", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: new("standard")},
			}}}},
		}},
	}
	deleted := pod.DeepCopy()
	deleted.DeletionTimestamp = new(metav1.Now())
	claimOf := func(owner *corev1.Pod) *corev1.PersistentVolumeClaim {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-scratch"}}
		if owner != nil {
			claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("Pod"))}
		}
		return claim
	}
	for _, test := range []struct {
		name, reason string
		pod          *corev1.Pod
		claim        *corev1.PersistentVolumeClaim
		writes       []string
		err          string
	}{
		{"new", "the claim doesn't exist", pod, nil, []string{"create persistentvolumeclaims ns/p-scratch"}, ""},
		{"exists", "the claim is the pod's", pod, claimOf(pod), nil, ""},
		{"foreign", "the claim has another owner", pod, claimOf(nil), nil,
			"pod ns/p, ephemeral volume scratch: PVC ns/p-scratch was not created for pod ns/p (pod is not owner)"},
		{"deleted", "the pod ends", deleted, nil, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pods, err := controllertest.Informer(test.pod)
			if err != nil {
				t.Fatal(err)
			}
			claims, err := controllertest.Informer[*corev1.PersistentVolumeClaim]()
			if err != nil {
				t.Fatal(err)
			}
			if test.claim != nil {
				_ = claims.GetStore().Add(test.claim)
			}
			client := fake.NewSimpleClientset()
			c := &controller{Config{Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), fake.NewSimpleClientset().CoreV1(), Component), Pods: pods, Claims: claims}}
			_, err = c.sync(t.Context(), "ns/p")
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: want the error %q, got %v", test.reason, test.err, err)
			}
			if diff := cmp.Diff(test.writes, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
			if test.name != "new" {
				return
			}
			made, err := client.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "p-scratch", metav1.GetOptions{})
			if err != nil || !metav1.IsControlledBy(made, pod) || made.Labels["a"] != "b" || *made.Spec.StorageClassName != "standard" {
				t.Errorf("want the claim of the template, owned by the pod, got %+v and %v", made, err)
			}
		})
	}
}
