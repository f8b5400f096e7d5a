package persistentvolume_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/controllertest"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/persistentvolume"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const namespace = metav1.NamespaceDefault

// start starts the controller over a fake server with the objects.
func start(t *testing.T, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	client := fake.NewSimpleClientset(objects...)
	controllertest.Start(t, client, func(runner *work.Runner, factory informers.SharedInformerFactory) error {
		core := factory.Core().V1()
		return persistentvolume.New(persistentvolume.Config{
			Runner: runner, Client: client.CoreV1(), Events: eventrecorder.NewRecorder(t.Context(), client.CoreV1(), persistentvolume.Component),
			Claims: core.PersistentVolumeClaims().Informer(), Volumes: core.PersistentVolumes().Informer(), Pods: core.Pods().Informer(),
			Classes: factory.Storage().V1().StorageClasses().Informer(),
		})
	})
	return client
}

// await waits until a condition holds. It looks again at each event of claims, volumes and Events.
func await(t *testing.T, client *fake.Clientset, what string, holds func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	claims, err := client.CoreV1().PersistentVolumeClaims(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer claims.Stop()
	volumes, err := client.CoreV1().PersistentVolumes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer volumes.Stop()
	events, err := client.CoreV1().Events("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for !holds(ctx) {
		select {
		case <-claims.ResultChan():
		case <-volumes.ResultChan():
		case <-events.ResultChan():
		case <-ctx.Done():
			t.Fatalf("%s: it doesn't happen", what)
		}
	}
}

func claim(name, class string, changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func volumeOf(name, class, size string, changes ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	for _, change := range changes {
		change(v)
	}
	return v
}

func class(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode,
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete),
	}
}

// A claim is bound to the volume that fits best.
func TestBind(t *testing.T) {
	t.Parallel()
	reserved := func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: "c"}
	}
	for _, test := range []struct {
		name, reason string
		claim        *corev1.PersistentVolumeClaim
		objects      []runtime.Object
		want         string
	}{
		{"smallest", "it wastes the least", claim("c", "x"), []runtime.Object{volumeOf("large", "x", "10Gi"), volumeOf("small", "x", "2Gi"), volumeOf("tiny", "x", "1Mi")}, "small"},
		{"class", "the other volume has no class", claim("c", "x"), []runtime.Object{volumeOf("other", "", "1Gi"), volumeOf("v", "x", "1Gi")}, "v"},
		{"access mode", "the smaller volume can't be written by many", claim("c", "x", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		}), []runtime.Object{volumeOf("one", "x", "1Gi"), volumeOf("many", "x", "2Gi", func(v *corev1.PersistentVolume) {
			v.Spec.AccessModes = append(v.Spec.AccessModes, corev1.ReadWriteMany)
		})}, "many"},
		{"selector", "the label differs", claim("c", "x", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "fast"}}
		}), []runtime.Object{volumeOf("slow", "x", "1Gi"), volumeOf("fast", "x", "2Gi", func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"disk": "fast"} })}, "fast"},
		{"reserved", "the volume names the claim", claim("c", "x"), []runtime.Object{volumeOf("small", "x", "1Gi"), volumeOf("reserved", "x", "5Gi", reserved)}, "reserved"},
		{"named", "the claim names the volume", claim("c", "x", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "large" }),
			[]runtime.Object{volumeOf("small", "x", "1Gi"), volumeOf("large", "x", "5Gi")}, "large"},
		{"pretended", "the class has the provisioner", claim("c", "standard"), []runtime.Object{class("standard", persistentvolume.Provisioner, storagev1.VolumeBindingImmediate)}, "pvc-c"},
		{"default class", "the claim names no class", claim("c", "", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }), []runtime.Object{func() runtime.Object {
			standard := persistentvolume.DefaultClass()
			standard.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
			return standard
		}()}, "pvc-c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := start(t, append(test.objects, test.claim)...)
			await(t, client, test.reason, func(ctx context.Context) bool {
				c, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "c", metav1.GetOptions{})
				if err != nil || c.Status.Phase != corev1.ClaimBound {
					return false
				}
				v, err := client.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
				if err != nil || v.Status.Phase != corev1.VolumeBound || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != "c" {
					return false
				}
				if c.Spec.VolumeName != test.want {
					t.Errorf("%s: want volume %s, got %s", test.reason, test.want, c.Spec.VolumeName)
				}
				if size := c.Status.Capacity[corev1.ResourceStorage]; size.Cmp(v.Spec.Capacity[corev1.ResourceStorage]) != 0 {
					t.Errorf("want the capacity of the volume, got %s", size.String())
				}
				return true
			})
		})
	}
}

// The pretended volume of a bound claim grows with what the claim requests.
func TestGrow(t *testing.T) {
	t.Parallel()
	client := start(t, class("standard", persistentvolume.Provisioner, storagev1.VolumeBindingImmediate), claim("c", "standard"))
	claims := client.CoreV1().PersistentVolumeClaims(namespace)
	hasSize := func(want string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			c, err := claims.Get(ctx, "c", metav1.GetOptions{})
			return err == nil && c.Status.Phase == corev1.ClaimBound && c.Status.Capacity.Storage().String() == want
		}
	}
	await(t, client, "the claim is bound", hasSize("1Gi"))
	c, err := claims.Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
	if _, err := claims.Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, client, "the claim has grown", hasSize("3Gi"))
	if v, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-c", metav1.GetOptions{}); err != nil || v.Spec.Capacity.Storage().String() != "3Gi" {
		t.Errorf("want a volume of 3Gi, got %v and %v", v, err)
	}
}

// A claim that can't be bound says why.
func TestEvents(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		claim   *corev1.PersistentVolumeClaim
		objects []runtime.Object
		want    string
	}{
		{"no volume", claim("c", ""), nil, "FailedBinding no persistent volumes available for this claim and no storage class is set"},
		{"no class", claim("c", "none"), nil, `ProvisioningFailed storageclass.storage.k8s.io "none" not found`},
		{"first consumer", claim("c", "x"), []runtime.Object{class("x", persistentvolume.Provisioner, storagev1.VolumeBindingWaitForFirstConsumer)},
			"WaitForFirstConsumer waiting for first consumer to be created before binding"},
		{"pod", claim("c", "x"), []runtime.Object{class("x", persistentvolume.Provisioner, storagev1.VolumeBindingWaitForFirstConsumer), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"},
			Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}},
		}}, "WaitForPodScheduled waiting for pod p to be scheduled"},
		{"external", claim("c", "x"), []runtime.Object{class("x", "example.com/disks", storagev1.VolumeBindingImmediate)},
			"ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'example.com/disks' or manually by the system administrator. " +
				"If volume creation is delayed, please verify that the provisioner is running and correctly registered."},
		{"migrated", claim("c", "x"), []runtime.Object{class("x", "kubernetes.io/gce-pd", storagev1.VolumeBindingImmediate)},
			"ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'pd.csi.storage.gke.io' or manually by the system administrator. " +
				"If volume creation is delayed, please verify that the provisioner is running and correctly registered."},
		{"no provisioner", claim("c", "x"), []runtime.Object{class("x", "kubernetes.io/no-provisioner", storagev1.VolumeBindingImmediate)},
			"ProvisioningFailed no volume plugin matched name: kubernetes.io/no-provisioner"},
		{"too small", claim("c", "x", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" }), []runtime.Object{volumeOf("v", "x", "1Mi")},
			`VolumeMismatch Cannot bind to requested volume "v": requested PV is too small`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := start(t, append(test.objects, test.claim)...)
			await(t, client, test.want, func(ctx context.Context) bool {
				list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
				for _, e := range list.Items {
					if got := e.Reason + " " + e.Message; got != test.want {
						t.Errorf("want the Event %q, got %q", test.want, got)
					}
				}
				return err == nil && len(list.Items) > 0
			})
		})
	}
}

// A volume that refers to a claim says, and the claim says, if the claim wants files and the volume has blocks.
func TestVolumeMode(t *testing.T) {
	t.Parallel()
	client := start(t, claim("c", "x"), volumeOf("v", "x", "1Gi", func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: "c", UID: "c"}
		v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	}))
	for _, want := range []string{
		`Cannot bind PersistentVolume to requested PersistentVolumeClaim "c" due to incompatible volumeMode.`,
		`Cannot bind PersistentVolume "v" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
	} {
		await(t, client, want, func(ctx context.Context) bool {
			list, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
			return err == nil && slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
				return e.Reason == "VolumeMismatch" && e.Message == want
			})
		})
	}
}

// When a claim is gone, its volume is released, or deleted if its class says so.
func TestReclaim(t *testing.T) {
	t.Parallel()
	pretended := claim("c", "standard")
	kept := claim("kept", "x")
	client := start(t, class("standard", persistentvolume.Provisioner, storagev1.VolumeBindingImmediate), pretended, kept, volumeOf("v", "x", "1Gi"))
	phase := func(ctx context.Context, name string) corev1.PersistentVolumePhase {
		v, err := client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "gone"
		}
		return v.Status.Phase
	}
	await(t, client, "the claims are bound", func(ctx context.Context) bool {
		for _, name := range []string{"c", "kept"} {
			c, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil || c.Status.Phase != corev1.ClaimBound {
				return false
			}
		}
		return true
	})
	for _, name := range []string{"c", "kept"} {
		if err := client.CoreV1().PersistentVolumeClaims(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, client, "the volumes are released", func(ctx context.Context) bool {
		return phase(ctx, "pvc-c") == "gone" && phase(ctx, "v") == corev1.VolumeReleased
	})
}

// A claim whose volume is gone is lost.
func TestLost(t *testing.T) {
	t.Parallel()
	client := start(t, claim("c", "x"), volumeOf("v", "x", "1Gi"))
	phase := func(ctx context.Context) corev1.PersistentVolumeClaimPhase {
		c, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "c", metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return c.Status.Phase
	}
	await(t, client, "the claim is bound", func(ctx context.Context) bool { return phase(ctx) == corev1.ClaimBound })
	if err := client.CoreV1().PersistentVolumes().Delete(t.Context(), "v", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, client, "the claim is lost", func(ctx context.Context) bool { return phase(ctx) == corev1.ClaimLost })
}
