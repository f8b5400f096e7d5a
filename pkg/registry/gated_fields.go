package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/version"
)

// Gate is a feature gate of kube-apiserver with the fields of a kind that depend on it. If the gate is off, a write
// can't set the fields, unless the old object uses them. GateOf makes a Gate.
type Gate struct {
	name string
	// since is the first version of Kubernetes with the gate on by default. It is nil if no version has the gate on by
	// default.
	since *version.Version
	// used tells whether a value uses the gate. The function drop removes the fields of the gate from a value. Both
	// take a pointer.
	used func(value any) bool
	drop func(value any)
	// fields are the paths that GateOf parsed.
	fields []fieldPath
}

// fieldPath is the path from a struct to a field, as the index of the field in each struct on the way. The path leads
// through pointers, items of lists and embedded structs.
type fieldPath []int

// podGates are the gates of fields in a pod's spec.
var podGates = []Gate{
	GateOf[corev1.PodSpec](OffByDefault, "AtomicWriteVolumeUserFields",
		"Volumes.Secret.DefaultUser", "Volumes.Secret.Items.User",
		"Volumes.ConfigMap.DefaultUser", "Volumes.ConfigMap.Items.User",
		"Volumes.DownwardAPI.DefaultUser", "Volumes.DownwardAPI.Items.User",
		"Volumes.Projected.DefaultUser",
		"Volumes.Projected.Sources.Secret.Items.User",
		"Volumes.Projected.Sources.ConfigMap.Items.User",
		"Volumes.Projected.Sources.DownwardAPI.Items.User",
		"Volumes.Projected.Sources.ServiceAccountToken.User",
		"Volumes.Projected.Sources.ClusterTrustBundle.User",
		"Volumes.Projected.Sources.PodCertificate.User"),
	GateOf[corev1.PodSpec](OffByDefault, "EmptyDirVolumeMode", "Volumes.EmptyDir.Mode"),
	GateOf[corev1.PodSpec](OffByDefault, "VolumeBindMountOptions", ofContainers("VolumeMounts.BindMountOptions")...),
	GateOf[corev1.PodSpec](OffByDefault, "H2CContainerProbe", ofContainers(
		"LivenessProbe.HTTPGet.Protocol", "ReadinessProbe.HTTPGet.Protocol", "StartupProbe.HTTPGet.Protocol",
		"Lifecycle.PostStart.HTTPGet.Protocol", "Lifecycle.PreStop.HTTPGet.Protocol")...),
	GateOf[corev1.PodSpec](OffByDefault, "GRPCContainerProbeTLS", ofContainers(
		"LivenessProbe.GRPC.Mode", "ReadinessProbe.GRPC.Mode", "StartupProbe.GRPC.Mode")...),
	GateOf[corev1.PodSpec](OffByDefault, "EvictionRequestAPI", "EvictionResponders"),
	restartRules,
	GateOf[corev1.PodSpec]("1.35", "EnvFiles", ofContainers("Env.ValueFrom.FileKeyRef")...),
	GateOf[corev1.PodSpec]("1.35", "HostnameOverride", "HostnameOverride"),
	imageVolumes,
	GateOf[corev1.PodSpec]("1.37", "ClusterTrustBundleProjection", "Volumes.Projected.Sources.ClusterTrustBundle"),
	GateOf[corev1.PodSpec]("1.37", "PodCertificateRequest", "Volumes.Projected.Sources.PodCertificate"),
}

// OffByDefault stands for the version in GateOf if no version has the gate on by default.
const OffByDefault = ""

// GateOf returns a gate of type T with fields given as dotted paths of Go names. Since is the first version of
// Kubernetes with the gate on by default, such as "1.36", or OffByDefault.
func GateOf[T any](since, name string, paths ...string) Gate {
	g := Gate{name: name, since: parseSince(since)}
	for _, path := range paths {
		g.fields = append(g.fields, fieldPathOf[T](path))
	}
	g.used = func(value any) bool {
		used := false
		g.each(value, func(v reflect.Value) { used = used || !v.IsZero() })
		return used
	}
	g.drop = func(value any) { g.each(value, func(v reflect.Value) { v.SetZero() }) }
	return g
}

// gateBy returns a gate for which setting fields to zero isn't enough.
func gateBy[T any](since, name string, used func(*T) bool, drop func(*T)) Gate {
	return Gate{
		name: name, since: parseSince(since),
		used: func(value any) bool { return used(value.(*T)) },
		drop: func(value any) { drop(value.(*T)) },
	}
}

func parseSince(since string) *version.Version {
	if since == OffByDefault {
		return nil
	}
	return version.MustParse(since)
}

func fieldPathOf[T any](path string) fieldPath {
	var fields fieldPath
	t := reflect.TypeFor[T]()
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		field, ok := t.FieldByName(name)
		if !ok {
			utilruntime.Must(fmt.Errorf("%s has no %s", t, name))
		}
		fields, t = append(fields, field.Index...), field.Type
	}
	return fields
}

// ofContainers returns the paths of fields in a pod's containers of every type.
func ofContainers(paths ...string) []string {
	var fields []string
	for _, list := range []string{"InitContainers", "Containers", "EphemeralContainers"} {
		for _, path := range paths {
			fields = append(fields, list+"."+path)
		}
	}
	return fields
}

// gatesOff returns the gates that are off in a version of Kubernetes. Nil stands for the newest version.
func gatesOff(gates []Gate, kubernetes *version.Version) []Gate {
	return slices.DeleteFunc(slices.Clone(gates), func(g Gate) bool {
		return g.since != nil && (kubernetes == nil || kubernetes.AtLeast(g.since))
	})
}

// dropGated removes the fields of gates that are off, unless the old value uses the same gate. The old value may be
// nil.
func dropGated[T any](now, was *T, off []Gate) {
	for _, gate := range off {
		if was == nil || !gate.used(was) {
			gate.drop(now)
		}
	}
}

// each calls f with every field of the gate in a value.
func (g Gate) each(value any, f func(reflect.Value)) {
	for _, path := range g.fields {
		path.each(reflect.ValueOf(value), f)
	}
}

func (p fieldPath) each(v reflect.Value, f func(reflect.Value)) {
	if len(p) == 0 {
		f(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.each(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.each(v.Index(i), f)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			before := v.MapIndex(key)
			item := reflect.New(v.Type().Elem()).Elem() // a value in a map can't be changed in place
			item.Set(before)
			p.each(item, f)
			// Other goroutines may read an old object, so a function that only reads must not write.
			if !reflect.DeepEqual(before.Interface(), item.Interface()) {
				v.SetMapIndex(key, item)
			}
		}
	default:
		p[1:].each(v.Field(p[0]), f)
	}
}

// restartRules is the gate of the restart policies of containers (KEP-5307). Init containers that always restart are
// sidecars. They are older than the gate, so the gate doesn't drop them.
var restartRules = gateBy("1.35", "ContainerRestartRules",
	func(spec *corev1.PodSpec) bool {
		return slices.ContainsFunc(spec.InitContainers, restartsByRule) ||
			slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return c.RestartPolicy != nil })
	},
	func(spec *corev1.PodSpec) {
		for i := range spec.InitContainers {
			c := &spec.InitContainers[i]
			c.RestartPolicyRules = nil
			if restartsByRule(*c) {
				c.RestartPolicy = nil
			}
		}
		for i := range spec.Containers {
			spec.Containers[i].RestartPolicy, spec.Containers[i].RestartPolicyRules = nil, nil
		}
		for i := range spec.EphemeralContainers {
			spec.EphemeralContainers[i].RestartPolicy, spec.EphemeralContainers[i].RestartPolicyRules = nil, nil
		}
	})

func restartsByRule(c corev1.Container) bool {
	return len(c.RestartPolicyRules) > 0 || c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
}

// imageVolumes is the gate of volumes from images (KEP-4639). Dropping a volume drops its mounts too.
var imageVolumes = gateBy("1.35", "ImageVolume",
	func(spec *corev1.PodSpec) bool { return slices.ContainsFunc(spec.Volumes, isImageVolume) },
	func(spec *corev1.PodSpec) {
		images := map[string]bool{}
		for _, v := range spec.Volumes {
			images[v.Name] = isImageVolume(v)
		}
		spec.Volumes = slices.DeleteFunc(spec.Volumes, isImageVolume)
		ofImage := func(m corev1.VolumeMount) bool { return images[m.Name] }
		for i := range spec.InitContainers {
			spec.InitContainers[i].VolumeMounts = slices.DeleteFunc(spec.InitContainers[i].VolumeMounts, ofImage)
		}
		for i := range spec.Containers {
			spec.Containers[i].VolumeMounts = slices.DeleteFunc(spec.Containers[i].VolumeMounts, ofImage)
		}
		for i := range spec.EphemeralContainers {
			spec.EphemeralContainers[i].VolumeMounts = slices.DeleteFunc(spec.EphemeralContainers[i].VolumeMounts, ofImage)
		}
	})

func isImageVolume(v corev1.Volume) bool { return v.Image != nil }
