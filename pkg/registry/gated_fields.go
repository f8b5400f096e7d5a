package registry

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// gate is a feature gate of kube-apiserver that is off by default, and the fields behind it.
type gate struct {
	name   string
	fields []fieldPath
}

// fieldPath leads from a struct to a field, through pointers, the items of lists and embedded structs: which field of
// its struct each on the way is.
type fieldPath []int

// podGates are what a pod's spec has behind feature gates that are off.
var podGates = []gate{
	gateOf[corev1.PodSpec]("AtomicWriteVolumeUserFields",
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
	gateOf[corev1.PodSpec]("EmptyDirVolumeMode", "Volumes.EmptyDir.Mode"),
	gateOf[corev1.PodSpec]("VolumeBindMountOptions", ofContainers("VolumeMounts.BindMountOptions")...),
	gateOf[corev1.PodSpec]("H2CContainerProbe", ofContainers(
		"LivenessProbe.HTTPGet.Protocol", "ReadinessProbe.HTTPGet.Protocol", "StartupProbe.HTTPGet.Protocol",
		"Lifecycle.PostStart.HTTPGet.Protocol", "Lifecycle.PreStop.HTTPGet.Protocol")...),
	gateOf[corev1.PodSpec]("GRPCContainerProbeTLS", ofContainers(
		"LivenessProbe.GRPC.Mode", "ReadinessProbe.GRPC.Mode", "StartupProbe.GRPC.Mode")...),
	gateOf[corev1.PodSpec]("EvictionRequestAPI", "EvictionResponders"),
}

// podStatusGates are the same of a pod's status, claimStatusGates of a claim's.
var (
	podStatusGates = []gate{
		gateOf[corev1.PodStatus]("DRANodeAllocatableResources", "NodeAllocatableResourceClaimStatuses"),
		gateOf[corev1.PodStatus]("CSIVolumeHealth", "VolumeHealth"),
		gateOf[corev1.PodStatus]("ImageVolumeWithDigest",
			"InitContainerStatuses.VolumeMounts.VolumeStatus", "ContainerStatuses.VolumeMounts.VolumeStatus",
			"EphemeralContainerStatuses.VolumeMounts.VolumeStatus"),
	}
	claimStatusGates = []gate{gateOf[corev1.PersistentVolumeClaimStatus]("CSIVolumeHealth", "HealthStatus")}
)

// gateOf has fields of a T by their Go names.
func gateOf[T any](name string, paths ...string) gate {
	g := gate{name: name}
	for _, path := range paths {
		var fields fieldPath
		t := reflect.TypeFor[T]()
		for name := range strings.SplitSeq(path, ".") {
			for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
				t = t.Elem()
			}
			field, ok := t.FieldByName(name)
			if !ok {
				utilruntime.Must(fmt.Errorf("%s has no %s", t, name))
			}
			fields, t = append(fields, field.Index...), field.Type
		}
		g.fields = append(g.fields, fields)
	}
	return g
}

// ofContainers are fields of a pod's containers of every type.
func ofContainers(paths ...string) []string {
	var fields []string
	for _, list := range []string{"InitContainers", "Containers", "EphemeralContainers"} {
		for _, path := range paths {
			fields = append(fields, list+"."+path)
		}
	}
	return fields
}

// dropGated drops what is behind gates, unless the old value uses the same gate.
func dropGated[T any](now, was *T, gates []gate) {
	for _, gate := range gates {
		if gate.used(was) {
			continue
		}
		gate.each(now, func(v reflect.Value) { v.SetZero() })
	}
}

func (g gate) used(value any) bool {
	used := false
	g.each(value, func(v reflect.Value) { used = used || !v.IsZero() })
	return used
}

// each calls f with every field of the gate that a value has.
func (g gate) each(value any, f func(reflect.Value)) {
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
	default:
		p[1:].each(v.Field(p[0]), f)
	}
}
