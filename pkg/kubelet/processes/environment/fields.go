package environment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Pod is what a container can know about its pod.
type Pod struct {
	*corev1.Pod
	// IPs are the addresses of the pod, and HostIPs those of its node.
	IPs, HostIPs []string
	// Allocatable are the resources of the node. They are the limits of a container without limits.
	Allocatable corev1.ResourceList
}

// fields are the values of fieldRef.
var fields = map[string]func(Pod) string{
	"metadata.name":           func(p Pod) string { return p.Name },
	"metadata.namespace":      func(p Pod) string { return p.Namespace },
	"metadata.uid":            func(p Pod) string { return string(p.UID) },
	"metadata.labels":         func(p Pod) string { return lines(p.Labels) },
	"metadata.annotations":    func(p Pod) string { return lines(p.Annotations) },
	"spec.nodeName":           func(p Pod) string { return p.Spec.NodeName },
	"spec.serviceAccountName": func(p Pod) string { return p.Spec.ServiceAccountName },
	"status.hostIP":           func(p Pod) string { return first(p.HostIPs) },
	"status.hostIPs":          func(p Pod) string { return strings.Join(p.HostIPs, ",") },
	"status.podIP":            func(p Pod) string { return first(p.IPs) },
	"status.podIPs":           func(p Pod) string { return strings.Join(p.IPs, ",") },
}

func first(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return of[0]
}

// lines returns labels or annotations in the form of a file.
func lines(of map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s=%q", key, of[key]))
	}
	return strings.Join(all, "\n")
}

// Field returns the value of a field of the pod.
func (p Pod) Field(path string) (string, error) {
	if value, ok := fields[path]; ok {
		return value(p), nil
	}
	for prefix, values := range map[string]map[string]string{"metadata.labels": p.Labels, "metadata.annotations": p.Annotations} {
		if key, ok := strings.CutPrefix(path, prefix+"['"); ok {
			return values[strings.TrimSuffix(key, "']")], nil
		}
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", path)
}

// Resource returns a resource of a container, as a number of units of the divisor.
func (p Pod) Resource(ref *corev1.ResourceFieldSelector, container *corev1.Container) (string, error) {
	if ref.ContainerName != "" && ref.ContainerName != container.Name {
		all := slices.Concat(p.Spec.InitContainers, p.Spec.Containers)
		i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == ref.ContainerName })
		if i < 0 {
			return "", fmt.Errorf("container %s not found", ref.ContainerName)
		}
		container = &all[i]
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = container.Resources.Requests[corev1.ResourceName(name)]
	case "limits":
		limit, ok := container.Resources.Limits[corev1.ResourceName(name)]
		if !ok || limit.IsZero() {
			limit = p.Allocatable[corev1.ResourceName(name)]
		}
		quantity = limit
	default:
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return units(quantity.MilliValue(), divisor.MilliValue()), nil
	}
	return units(quantity.Value(), divisor.Value()), nil
}

// units divides, and rounds up.
func units(value, divisor int64) string {
	return strconv.FormatInt(int64(math.Ceil(float64(value)/float64(divisor))), 10)
}
