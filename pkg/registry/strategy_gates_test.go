package registry

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// TestGatedFieldsOnUpdate checks that a field whose gate is off can't be begun to be used,
// and that objects which use it keep it.
func TestGatedFieldsOnUpdate(t *testing.T) {
	t.Parallel()
	lease := func(holder *string, strategy *coordinationv1.CoordinatedLeaseStrategy) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{PreferredHolder: holder, Strategy: strategy}}
	}
	claim := func(namespace string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		if namespace != "" {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "c", Namespace: &namespace}
		}
		return c
	}
	node := func(configured bool) *corev1.Node {
		n := &corev1.Node{}
		if configured {
			n.Spec.ConfigSource = &corev1.NodeConfigSource{}
		}
		return n
	}
	mounted := func(d *corev1.PodSpec, options ...string) {
		d.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		d.Containers = []corev1.Container{{Name: "c", VolumeMounts: []corev1.VolumeMount{{Name: "v", BindMountOptions: options}}}}
	}
	deployment := func(options ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		mounted(&d.Spec.Template.Spec, options...)
		return d
	}
	health := func(drivers ...storagev1.StorageHealth) *storagev1.CSINode {
		return &storagev1.CSINode{Status: storagev1.CSINodeStatus{StorageHealth: drivers}}
	}
	sick := storagev1.StorageHealth{Name: "d.e"}
	oldest := ptr.To(coordinationv1.OldestEmulationVersion)
	for _, test := range []struct {
		name, group, resource, reason string
		obj, old, want                runtime.Object
	}{
		{"begun", "coordination.k8s.io", "leases", "it would not be understood", lease(ptr.To("a"), oldest), lease(nil, nil), lease(nil, nil)},
		{"kept", "coordination.k8s.io", "leases", "the gate was on before", lease(ptr.To("b"), oldest), lease(ptr.To("a"), oldest), lease(ptr.To("b"), oldest)},
		{"kept in part", "coordination.k8s.io", "leases", "each field counts for itself", lease(ptr.To("b"), oldest), lease(nil, oldest), lease(nil, oldest)},
		{"claim", "", "persistentvolumeclaims", "it would not be understood", claim("other"), claim(""), claim("")},
		{"kept claim", "", "persistentvolumeclaims", "the gate was on before", claim("other"), claim("other"), claim("other")},
		{"node", "", "nodes", "no kubelet looks there any more", node(true), node(false), node(false)},
		{"mount", "apps", "deployments", "it would not be understood", deployment("noexec"), deployment(), deployment()},
		{"kept mount", "apps", "deployments", "the gate was on before", deployment("noexec"), deployment("noexec"), deployment("noexec")},
		{"health", "storage.k8s.io", "csinodes", "no controller looks at it", health(sick), health(), health()},
		{"kept health", "storage.k8s.io", "csinodes", "the gate was on before", health(), health(sick), health(sick)},
		{"kept node", "", "nodes", "it is from before the feature went", node(true), node(true), node(true)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			Builtin().Strategy(row(t, test.group, test.resource), Dependencies{}).PrepareForUpdate(t.Context(), test.obj, test.old)
			if diff := cmp.Diff(test.want, test.obj); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestGatedFields checks that nothing is left of any field of pods and claims whose gate is
// off.
func TestGatedFields(t *testing.T) {
	t.Parallel()
	pod, reported, claim := &corev1.Pod{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	pods, claims := Builtin().Strategy(row(t, "", "pods"), Dependencies{}), Builtin().Strategy(row(t, "", "persistentvolumeclaims"), Dependencies{})
	for _, test := range []struct {
		name, reason string
		part         any
		gates        []gate
		send         func()
	}{
		{"pod", "no kubelet would understand it", &pod.Spec, podGates, func() { pods.PrepareForCreate(t.Context(), pod) }},
		{"status of pod", "nobody else reports it", &reported.Status, podStatusGates, func() {
			StatusStrategy{pods}.PrepareForUpdate(t.Context(), reported, &corev1.Pod{})
		}},
		{"status of claim", "so it is with volumes", &claim.Status, claimStatusGates, func() {
			StatusStrategy{claims}.PrepareForUpdate(t.Context(), claim, &corev1.PersistentVolumeClaim{})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, gate := range test.gates {
				for _, path := range gate.fields {
					fill(reflect.ValueOf(test.part), path)
				}
				if !gate.used(test.part) {
					t.Errorf("what is behind %s is set, and not seen", gate.name)
				}
			}
			test.send()
			for _, gate := range test.gates {
				if gate.used(test.part) {
					t.Errorf("what is behind %s is kept: %s", gate.name, test.reason)
				}
			}
		})
	}
}

// fill makes a value at the end of a path, and what is on the way there.
func fill(v reflect.Value, path fieldPath) {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if len(path) > 0 {
			fill(v.Elem(), path)
		}
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		if len(path) > 0 {
			fill(v.Index(0), path)
		}
	case len(path) > 0:
		fill(v.Field(path[0]), path[1:])
	}
}
