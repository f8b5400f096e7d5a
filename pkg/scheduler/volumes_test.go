package scheduler_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
)

func claiming(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

func newClass(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
}

func newClaim(name, class string, changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name)},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, change := range changes {
		change(claim)
	}
	return claim
}

func boundTo(name string) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) {
		claim.Spec.VolumeName = name
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	}
}

func exclusive(claim *corev1.PersistentVolumeClaim) {
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
}

// newVolume returns a volume that only nodes of a zone can have.
func newVolume(name, class, of string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{of}}},
			}}}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
}

// zonedVolume returns a volume whose label has its zones.
func zonedVolume(name, zones string) *corev1.PersistentVolume {
	v := newVolume(name, "", "")
	v.Labels, v.Spec.NodeAffinity = map[string]string{zone: zones}, nil
	return v
}

// A pod gets a node on which it can have its volumes.
func TestVolumes(t *testing.T) {
	t.Parallel()
	n1, n2 := newNode("n1", inZone("a")), newNode("n2", inZone("b"))
	immediate := newClass("immediate", "example.com/disks", storagev1.VolumeBindingImmediate)
	static := newClass("static", volume.NotSupportedProvisioner, storagev1.VolumeBindingWaitForFirstConsumer)
	for _, test := range []struct {
		name, reason string
		objects      []runtime.Object
		node, want   string
	}{
		{"no claim", "the claim may come later", nil, "", `0/2 nodes are available: persistentvolumeclaim "c" not found. not found`},
		{"unbound", "the provisioner hasn't made the volume yet", []runtime.Object{immediate, newClaim("c", "immediate")},
			"", "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"},
		{"lost", "the volume is gone", []runtime.Object{newClaim("c", "", boundTo("v"), func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost })},
			"", `0/2 nodes are available: persistentvolumeclaim "c" bound to non-existent persistentvolume "v". not found`},
		{"bound to nothing", "the volume is gone, and nothing has noticed yet", []runtime.Object{newClaim("c", "", boundTo("v"))},
			"", `0/2 nodes are available: persistentvolume "v" not found. not found`},
		{"bound", "the volume is in zone b", []runtime.Object{newClaim("c", "", boundTo("v")), newVolume("v", "", "b")}, "n2", ""},
		{"bound elsewhere", "no node is in the volume's zone", []runtime.Object{newClaim("c", "", boundTo("v")), newVolume("v", "", "c")}, "",
			"0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"in use", "the claim is for one pod", []runtime.Object{newClaim("c", "", boundTo("v"), exclusive), newVolume("v", "", "b"), newPod("q", claiming("c"), on("n2"))}, "",
			"0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod. " +
				"preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."},
		{"in use by several", "the claim is for one node", []runtime.Object{newClaim("c", "", boundTo("v")), newVolume("v", "", "b"), newPod("q", claiming("c"), on("n2"))}, "n2", ""},
		{"nothing to bind", "no volume has the class", []runtime.Object{static, newClaim("c", "static"), newVolume("v", "other", "b")}, "",
			"0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"bound in a zone", "the label of the volume says zone b", []runtime.Object{newClaim("c", "", boundTo("v")), zonedVolume("v", "b")}, "n2", ""},
		{"bound in two zones", "the label of the volume has both", []runtime.Object{newClaim("c", "", boundTo("v")), zonedVolume("v", "c__b")}, "n2", ""},
		{"bound in another zone", "no node is in the zone", []runtime.Object{newClaim("c", "", boundTo("v")), zonedVolume("v", "c")}, "",
			"0/2 nodes are available: 2 node(s) had no available volume zone. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"exclusive", "no other pod uses the claim", []runtime.Object{newClaim("c", "", boundTo("v"), exclusive), newVolume("v", "", "b")}, "n2", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append(test.objects, n1, n2, newPod("p", claiming("c")))...)
			node, condition := w.decided(t.Context(), t, "p")
			if node != test.node || test.node == "" && (condition == nil || condition.Message != test.want) {
				t.Errorf("%s: want node %q or the message %q, got %q, %v", test.reason, test.node, test.want, node, condition)
			}
		})
	}
}

// until waits until a condition holds. It looks again at each event of claims and volumes.
func (w *world) until(ctx context.Context, t *testing.T, holds func(context.Context, *world) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	claims, err := w.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Stop()
	volumes, err := w.CoreV1().PersistentVolumes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer volumes.Stop()
	for {
		if ok, err := holds(ctx, w); err != nil {
			t.Fatal(err)
		} else if ok {
			return
		}
		select {
		case <-claims.ResultChan():
		case <-volumes.ResultChan():
		case <-ctx.Done():
			t.Fatal("the scheduler doesn't begin to bind the claim")
		}
	}
}

// A claim that waits for its first consumer is bound when the node of the pod is chosen, and the pod when the claim is.
func TestDelayedBinding(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		class        *storagev1.StorageClass
		node         string
		begun        func(context.Context, *world) (bool, error) // whether the scheduler has begun to bind the claim
	}{
		{"volume", "there is a volume in zone b", newClass("c", volume.NotSupportedProvisioner, storagev1.VolumeBindingWaitForFirstConsumer), "n2",
			func(ctx context.Context, w *world) (bool, error) {
				v, err := w.CoreV1().PersistentVolumes().Get(ctx, "v", metav1.GetOptions{})
				return err == nil && v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID == "c", err
			}},
		{"provisioner", "the provisioner makes volumes for zone b", func() *storagev1.StorageClass {
			class := newClass("c", "example.com/disks", storagev1.VolumeBindingWaitForFirstConsumer)
			class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zone, Values: []string{"b"}}}}}
			return class
		}(), "n2", func(ctx context.Context, w *world) (bool, error) {
			claim, err := w.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Get(ctx, "c", metav1.GetOptions{})
			return err == nil && claim.Annotations[volume.AnnSelectedNode] == "n2", err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects := []runtime.Object{test.class, newNode("n1", inZone("a")), newNode("n2", inZone("b")), newClaim("c", "c"), newPod("p", claiming("c"))}
			if test.name == "volume" {
				objects = append(objects, newVolume("v", "c", "b"))
			}
			w := newWorld(t, objects...)
			w.await(t.Context(), t, "p", func(pod *corev1.Pod) bool { return pod.Status.NominatedNodeName == test.node })
			w.until(t.Context(), t, test.begun)
			if pod := w.await(t.Context(), t, "p", func(*corev1.Pod) bool { return true }); pod.Spec.NodeName != "" {
				t.Errorf("the pod is bound before its claim, to node %s", pod.Spec.NodeName)
			}
			bound, err := w.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Get(t.Context(), "c", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			boundTo("v")(bound)
			if _, err := w.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Update(t.Context(), bound, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if node := w.bound(t.Context(), t, "p"); node != test.node {
				t.Errorf("%s: want node %s, got %s", test.reason, test.node, node)
			}
		})
	}
}

// A pod whose claim can't be provisioned on its node is scheduled again.
func TestProvisioningFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newClass("c", "example.com/disks", storagev1.VolumeBindingWaitForFirstConsumer), newClaim("c", "c"), newPod("p", claiming("c")))
	claims := w.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault)
	selected := func(ctx context.Context, w *world) (bool, error) {
		claim, err := claims.Get(ctx, "c", metav1.GetOptions{})
		return err == nil && claim.Annotations[volume.AnnSelectedNode] == "n1", err
	}
	w.until(t.Context(), t, selected)
	if _, err := claims.Update(t.Context(), newClaim("c", "c"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, condition := w.decided(t.Context(), t, "p")
	const want = `running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "c"`
	if condition == nil || condition.Reason != corev1.PodReasonSchedulerError || condition.Message != want {
		t.Errorf("want the message %q, got %v", want, condition)
	}
	w.until(t.Context(), t, selected)
}

// A victim that waits for its claims loses its node, and isn't deleted.
func TestPreemptionWhileClaimsAreBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newNode("n1"), newClass("c", "example.com/disks", storagev1.VolumeBindingWaitForFirstConsumer), newClaim("c", "c"),
		newPod("victim", cpu("3"), claiming("c")))
	w.until(t.Context(), t, func(ctx context.Context, w *world) (bool, error) {
		claim, err := w.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Get(ctx, "c", metav1.GetOptions{})
		return err == nil && claim.Annotations[volume.AnnSelectedNode] == "n1", err
	})
	if _, err := w.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), newPod("p", cpu("3"), priority(1)), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound(t.Context(), t, "p")
	w.tells(t.Context(), t, map[string]bool{
		"victim Normal Preempted Preempting Preempted by pod p on node n1 (in kube-scheduler memory).":                      true,
		`victim Warning FailedScheduling Scheduling running PreBind plugin "VolumeBinding": preempted by DefaultPreemption`: true,
	})
	victim, err := w.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "victim", metav1.GetOptions{})
	if err != nil || len(victim.Status.Conditions) != 1 || victim.Spec.NodeName != "" {
		t.Errorf("want the victim to wait for a node, got %+v, %v", victim, err)
	}
}
