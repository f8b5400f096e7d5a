package volumeprotection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
)

func claimOf(deleted bool, finalizers ...string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "c", Finalizers: finalizers}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
	if deleted {
		claim.DeletionTimestamp = new(metav1.Now())
	}
	return claim
}

func podOf(node string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p"}, Status: corev1.PodStatus{Phase: phase},
		Spec: corev1.PodSpec{NodeName: node, Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}},
	}
}

// A deleted claim stays while a pod may use it. A claim says whether a pod refers to it.
func TestClaims(t *testing.T) {
	t.Parallel()
	released, status := []string{"update persistentvolumeclaims ns/c"}, []string{"update persistentvolumeclaims/status ns/c"}
	for _, test := range []struct {
		name, reason string
		claim        *corev1.PersistentVolumeClaim
		pod          *corev1.Pod
		informed     bool // whether the informer has the pod
		want         []string
		unused       corev1.ConditionStatus
	}{
		{"deleted, unused", "no pod uses it", claimOf(true, claimFinalizer), nil, true, released, ""},
		{"deleted, used", "the pod runs", claimOf(true, claimFinalizer), podOf("n", corev1.PodRunning), true, nil, ""},
		{"deleted, used by a new pod", "the informer is behind", claimOf(true, claimFinalizer), podOf("n", corev1.PodRunning), false, nil, ""},
		{"deleted, used by a waiting pod", "no kubelet starts the pod with a deleted claim", claimOf(true, claimFinalizer), podOf("", corev1.PodPending), true, released, ""},
		{"deleted, used by an ended pod", "the kubelet may not have unmounted it", claimOf(true, claimFinalizer), podOf("n", corev1.PodSucceeded), true, nil, ""},
		{"unprotected", "it is older than the admission plugin", claimOf(false), nil, true, released, ""},
		{"unused", "no pod refers to it", claimOf(false, claimFinalizer), nil, true, status, corev1.ConditionTrue},
		{"referred to by a waiting pod", "the pod will use it", claimOf(false, claimFinalizer), podOf("", corev1.PodPending), true, status, corev1.ConditionFalse},
		{"referred to by an ended pod", "the pod used it", claimOf(false, claimFinalizer), podOf("n", corev1.PodSucceeded), true, status, corev1.ConditionTrue},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects, known := []runtime.Object{test.claim}, []*corev1.Pod{}
			if test.pod != nil {
				objects = append(objects, test.pod)
				if test.informed {
					known = append(known, test.pod)
				}
			}
			client := fake.NewSimpleClientset(objects...)
			claimInformer, err := controllertest.Informer(test.claim)
			if err != nil {
				t.Fatal(err)
			}
			pods, err := controllertest.Informer(known...)
			if err != nil {
				t.Fatal(err)
			}
			if err := pods.AddIndexers(cache.Indexers{byClaim: claimsOf}); err != nil {
				t.Fatal(err)
			}
			c := &claims{ClaimConfig: ClaimConfig{Client: client.CoreV1(), Claims: claimInformer, Pods: pods}}
			if again, err := c.sync(t.Context(), "ns/c"); again != 0 || err != nil {
				t.Errorf("again after %s, %v", again, err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
			if test.unused == "" {
				return
			}
			got, err := client.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "c", metav1.GetOptions{})
			if err != nil || len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != corev1.PersistentVolumeClaimUnused || got.Status.Conditions[0].Status != test.unused {
				t.Errorf("%s: want the condition Unused with %s, got %v, %v", test.reason, test.unused, got.Status.Conditions, err)
			}
		})
	}
}

// A deleted volume stays while a claim is bound to it.
func TestVolumes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		deleted      bool
		phase        corev1.PersistentVolumePhase
		want         []string
	}{
		{"bound", "the claim needs it", true, corev1.VolumeBound, nil},
		{"released", "no claim needs it", true, corev1.VolumeReleased, []string{"update persistentvolumes v"}},
		{"in use", "it isn't deleted", false, corev1.VolumeBound, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Finalizers: []string{volumeFinalizer}}, Status: corev1.PersistentVolumeStatus{Phase: test.phase}}
			if test.deleted {
				volume.DeletionTimestamp = new(metav1.Now())
			}
			client := fake.NewSimpleClientset(volume)
			informer, err := controllertest.Informer(volume)
			if err != nil {
				t.Fatal(err)
			}
			v := &volumes{VolumeConfig{Client: client.CoreV1(), Volumes: informer}}
			if _, err := v.sync(t.Context(), "v"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, controllertest.Writes(client.Actions())); diff != "" {
				t.Errorf("%s: the writes differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
