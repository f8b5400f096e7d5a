package registry_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// TestGatedFieldsOnUpdate checks updates of a field whose gate is off: an update can't add the field, but the field
// stays if the stored object has it.
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
		{"begun", "coordination.k8s.io", "leases", "no component reads the field while its gate is off",
			lease(ptr.To("a"), oldest), lease(nil, nil), lease(nil, nil)},
		{"kept", "coordination.k8s.io", "leases", "the gate was on before", lease(ptr.To("b"), oldest),
			lease(ptr.To("a"), oldest), lease(ptr.To("b"), oldest)},
		{"kept in part", "coordination.k8s.io", "leases", "the stored object has only one of the two fields",
			lease(ptr.To("b"), oldest), lease(nil, oldest), lease(nil, oldest)},
		{"claim", "", "persistentvolumeclaims", "no component reads the field while its gate is off", claim("other"),
			claim(""), claim("")},
		{"kept claim", "", "persistentvolumeclaims", "the gate was on before", claim("other"), claim("other"), claim("other")},
		{"node", "", "nodes", "no kubelet looks there any more", node(true), node(false), node(false)},
		{"mount", "apps", "deployments", "no component reads the field while its gate is off", deployment("noexec"),
			deployment(), deployment()},
		{"kept mount", "apps", "deployments", "the gate was on before", deployment("noexec"), deployment("noexec"), deployment("noexec")},
		{"health", "storage.k8s.io", "csinodes", "no controller looks at it", health(sick), health(), health()},
		{"kept health", "storage.k8s.io", "csinodes", "the gate was on before", health(), health(sick), health(sick)},
		{"kept node", "", "nodes", "the node was stored before the feature was removed", node(true), node(true), node(true)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			builtin.Table().Strategy(builtin.Table().Row(schema.GroupResource{Group: test.group, Resource: test.resource}), registry.Dependencies{}).PrepareForUpdate(t.Context(), test.obj, test.old)
			if diff := cmp.Diff(test.want, test.obj); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// setGates are feature gates of which some have other values than their defaults.
type setGates struct {
	featuregate.FeatureGate
	values map[featuregate.Feature]bool
}

func (g setGates) Enabled(feature featuregate.Feature) bool {
	if value, set := g.values[feature]; set {
		return value
	}
	return g.FeatureGate.Enabled(feature)
}

// eachGate calls f with every gate of every kind. The argument "part" of f returns the part of an object that has the
// fields: the object itself, or the part of its Shape.
func eachGate(f func(k *registry.Kind, gate registry.Gate, part func(runtime.Object) any)) {
	for _, g := range builtin.Table().Groups() {
		for i := range g.Kinds {
			k := &g.Kinds[i]
			for _, gate := range k.Gated {
				f(k, gate, func(obj runtime.Object) any { return obj })
			}
			if k.Shape != nil {
				for _, gate := range k.Shape.Gated() {
					f(k, gate, k.Shape.In)
				}
			}
		}
	}
}

// TestGatedFields sets each field that depends on feature gates, in an object of each kind. While a gate is off, a new
// object and an update lose the field. An object that had the field before keeps it. While the gates are on, all have the
// field.
func TestGatedFields(t *testing.T) {
	t.Parallel()
	eachGate(func(k *registry.Kind, gate registry.Gate, part func(runtime.Object) any) {
		strategy := func(gates featuregate.FeatureGate) registry.Strategy {
			return builtin.Table().Strategy(k, registry.Dependencies{Gates: gates})
		}
		for _, path := range gate.Fields() {
			if !gate.Used(part(withField(k, part, path))) {
				t.Errorf("%s: a field behind %s is set, and not seen", k.Resource, gate.Features())
			}
			check := func(reason string, gates featuregate.FeatureGate, old runtime.Object, kept bool) {
				t.Helper()
				obj := withField(k, part, path)
				strategy(gates).DropGated(obj, old)
				if got := reflect.DeepEqual(at(part(obj), path), at(part(withField(k, part, path)), path)); got != kept {
					t.Errorf("%s: %v: %s: want a field kept: %t, got %t", k.Resource, gate.Features(), reason, kept, got)
				}
			}
			// A field may be behind several gates: all are on, but one.
			on := allGates(true)
			check("the gates are on", on, nil, true)
			for _, feature := range gate.Features() {
				off := setGates{on, map[featuregate.Feature]bool{feature: false}}
				check("a gate is off", off, nil, gate.KeptOnCreate())
				check("a gate is off, and the stored object lacks the field", off, withField(k, part, nil), gate.KeptOnUpdate())
				check("a gate is off, and the stored object has the field", off, withField(k, part, path), true)
			}
		}
	})
}

// allGates returns feature gates that all have one value.
func allGates(value bool) featuregate.FeatureGate {
	all := setGates{features.Default(), map[featuregate.Feature]bool{}}
	for feature := range features.Of(version.MajorMinor(1, 37)).GetAllVersioned() {
		all.values[feature] = value
	}
	return all
}

// at returns the value of the field at a path, or nil if the value lacks it.
func at(value any, path []int) any {
	v := reflect.ValueOf(value)
	for len(path) > 0 {
		switch v.Kind() {
		case reflect.Pointer:
			v = v.Elem()
		case reflect.Slice:
			if v.Len() == 0 {
				return nil
			}
			v = v.Index(0)
		case reflect.Map:
			keys := v.MapKeys()
			if len(keys) == 0 {
				return nil
			}
			v = v.MapIndex(keys[0])
		case reflect.Invalid:
			return nil
		default:
			v, path = v.Field(path[0]), path[1:]
		}
	}
	return v.Interface()
}

// withField returns an object in which the field at a path is set. Without a path, the object has only the parts that
// every object of the kind has.
func withField(k *registry.Kind, part func(runtime.Object) any, path []int) runtime.Object {
	obj := registry.NewOf(k.Object)()
	if rc, ok := obj.(*corev1.ReplicationController); ok {
		rc.Spec.Template = &corev1.PodTemplateSpec{} // of all pod templates, only this one is a pointer
	}
	if path != nil {
		fill(reflect.ValueOf(part(obj)), path)
	}
	return obj
}

// TestGatedNodes checks writes of a node while the gates are off. kube-apiserver drops what the kubelet declares only from
// new nodes, and what the kubelet reports about its namespace only from updates.
func TestGatedNodes(t *testing.T) {
	t.Parallel()
	node := builtin.Table().Strategy(builtin.Table().Row(corev1.Resource("nodes")), registry.Dependencies{Gates: allGates(false)})
	for _, test := range []struct {
		name, reason       string
		old                *corev1.Node
		declared, reported bool
	}{
		{"new", "a new node has a status", nil, false, true},
		{"old", "the kubelet updates the status", &corev1.Node{}, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := &corev1.Node{Status: corev1.NodeStatus{DeclaredFeatures: []string{"f"}, Features: &corev1.NodeFeatures{},
				NodeInfo: corev1.NodeSystemInfo{RunningInUserNamespace: ptr.To(true)}}}
			if test.old == nil {
				node.PrepareForCreate(t.Context(), n)
			} else {
				registry.StatusStrategy{Strategy: node}.PrepareForUpdate(t.Context(), n, test.old)
			}
			s := n.Status
			if s.DeclaredFeatures != nil != test.declared || s.Features != nil != test.declared || s.NodeInfo.RunningInUserNamespace != nil != test.reported {
				t.Errorf("%s: want what the kubelet declares: %t, and reports: %t; got %+v", test.reason, test.declared, test.reported, s)
			}
		})
	}
}

// TestGatedPods checks gates of pod specs that remove more than one field: ImageVolume removes volumes together with
// their mounts, and ContainerRestartRules removes the rules together with the restart policies of all containers that
// aren't sidecars.
func TestGatedPods(t *testing.T) {
	t.Parallel()
	always, never := ptr.To(corev1.ContainerRestartPolicyAlways), ptr.To(corev1.ContainerRestartPolicyNever)
	rules := []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}
	image := corev1.Volume{Name: "image", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "r"}}}
	empty := corev1.Volume{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	mounts := func(names ...string) (m []corev1.VolumeMount) {
		for _, name := range names {
			m = append(m, corev1.VolumeMount{Name: name})
		}
		return m
	}
	ephemeral := func(c corev1.EphemeralContainerCommon) []corev1.EphemeralContainer {
		return []corev1.EphemeralContainer{{EphemeralContainerCommon: c}}
	}
	for _, test := range []struct {
		name, reason string
		old          *corev1.PodSpec
		spec, in1_34 corev1.PodSpec
	}{
		{
			name: "rules for restarts", reason: "a kubelet of 1.34 ignores the rules",
			spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "sidecar", RestartPolicy: always},
					{Name: "init", RestartPolicy: never, RestartPolicyRules: rules}},
				Containers:          []corev1.Container{{RestartPolicy: always, RestartPolicyRules: rules}},
				EphemeralContainers: ephemeral(corev1.EphemeralContainerCommon{RestartPolicy: never, RestartPolicyRules: rules}),
			},
			in1_34: corev1.PodSpec{
				InitContainers:      []corev1.Container{{Name: "sidecar", RestartPolicy: always}, {Name: "init"}},
				Containers:          []corev1.Container{{}},
				EphemeralContainers: ephemeral(corev1.EphemeralContainerCommon{}),
			},
		},
		{
			name: "rules that were there", reason: "a newer server stored the pod",
			old:    &corev1.PodSpec{Containers: []corev1.Container{{RestartPolicy: never}}},
			spec:   corev1.PodSpec{Containers: []corev1.Container{{RestartPolicy: always, RestartPolicyRules: rules}}},
			in1_34: corev1.PodSpec{Containers: []corev1.Container{{RestartPolicy: always, RestartPolicyRules: rules}}},
		},
		{
			name: "container that always restarts", reason: "the pod is from a later version: an older container has no restart policy",
			old:    &corev1.PodSpec{Containers: []corev1.Container{{RestartPolicy: always}}},
			spec:   corev1.PodSpec{Containers: []corev1.Container{{RestartPolicy: always}}},
			in1_34: corev1.PodSpec{Containers: []corev1.Container{{RestartPolicy: always}}},
		},
		{
			name: "sidecar", reason: "sidecars are older than the rules",
			old:    &corev1.PodSpec{InitContainers: []corev1.Container{{RestartPolicy: always}}},
			spec:   corev1.PodSpec{InitContainers: []corev1.Container{{RestartPolicy: never}}},
			in1_34: corev1.PodSpec{InitContainers: []corev1.Container{{}}},
		},
		{
			name: "volumes from images", reason: "validation would refuse a mount without its volume",
			spec: corev1.PodSpec{
				Volumes:             []corev1.Volume{image, empty},
				InitContainers:      []corev1.Container{{VolumeMounts: mounts("image", "empty")}},
				Containers:          []corev1.Container{{VolumeMounts: mounts("empty", "image")}},
				EphemeralContainers: ephemeral(corev1.EphemeralContainerCommon{VolumeMounts: mounts("image", "empty")}),
			},
			in1_34: corev1.PodSpec{
				Volumes:             []corev1.Volume{empty},
				InitContainers:      []corev1.Container{{VolumeMounts: mounts("empty")}},
				Containers:          []corev1.Container{{VolumeMounts: mounts("empty")}},
				EphemeralContainers: ephemeral(corev1.EphemeralContainerCommon{VolumeMounts: mounts("empty")}),
			},
		},
		{
			name: "volumes from images that were there", reason: "a newer server stored the pod",
			old:    &corev1.PodSpec{Volumes: []corev1.Volume{image}},
			spec:   corev1.PodSpec{Volumes: []corev1.Volume{image}},
			in1_34: corev1.PodSpec{Volumes: []corev1.Volume{image}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for kubernetes, want := range map[string]corev1.PodSpec{"1.34": test.in1_34, "1.35": test.spec} {
				s := builtin.Table().Strategy(builtin.Table().Row(schema.GroupResource{Group: "", Resource: "pods"}), registry.Dependencies{Gates: features.Of(version.MustParse(kubernetes))})
				now := &corev1.Pod{Spec: *test.spec.DeepCopy()}
				if test.old == nil {
					s.DropGated(now, nil)
				} else {
					s.DropGated(now, &corev1.Pod{Spec: *test.old})
				}
				if diff := cmp.Diff(want, now.Spec); diff != "" {
					t.Errorf("in Kubernetes %s: %s (-want +got):\n%s", kubernetes, test.reason, diff)
				}
			}
		})
	}
}

// fill sets the field at a path. It also makes the pointers, the lists and the maps that contain the field.
func fill(v reflect.Value, path []int) {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), path)
	case v.Kind() == reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		if len(path) > 0 {
			fill(v.Index(0), path)
		}
	case v.Kind() == reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		if len(path) > 0 {
			fill(item, path)
		}
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), item)
	case v.CanInt():
		v.SetInt(1)
	case v.Kind() == reflect.String:
		v.SetString("x")
	case len(path) > 0:
		fill(v.Field(path[0]), path[1:])
	}
}

// TestGatesReadTogether calls Gate.Used for one object from several goroutines, as requests read a cached object. The
// gate's field is inside a map. If Used changed the map, the Go runtime would end the process.
func TestGatesReadTogether(t *testing.T) {
	t.Parallel()
	gate := registry.GateOf[resourcev1.ResourceSlice]("DRAConsumableCapacity", "Spec.Devices.Capacity.RequestPolicy")
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {RequestPolicy: &resourcev1.CapacityRequestPolicy{}}},
	}}}}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for range 10000 {
				if !gate.Used(slice) {
					t.Error("want the gate in use")
					return
				}
			}
		})
	}
	readers.Wait()
}
