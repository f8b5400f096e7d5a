// Package pod has the kinds Pod and Binding. A Binding assigns a pod to a node.
package pod

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
)

// Kind is the row of pods in the server's table of kinds.
var Kind = registry.Kind{
	Resource:   "pods",
	ShortNames: []string{"po"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &corev1.Pod{}, List: &corev1.PodList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultPod)},
	Shape:         podrules.ShapeOf("spec", func(p *corev1.Pod) *corev1.PodSpec { return &p.Spec }),
	Status:        true,
	Generation:    true,
	ReturnDeleted: true,
	Subresources: []registry.Subresource{
		sessionSubresource("attach", attachSession),
		{Name: "binding", Storage: newBinding},
		{Name: "ephemeralcontainers", Update: podEphemeralContainers.update},
		{Name: "eviction", Storage: newEviction},
		sessionSubresource("exec", execSession),
		{Name: "log", Options: &corev1.PodLogOptions{}, Storage: newLog},
		sessionSubresource("portforward", portForwardSession),
		connect.ProxySubresource(func(o *corev1.PodProxyOptions) string { return o.Path }, connect.LocatePods),
		{Name: "resize", Feature: "InPlacePodVerticalScaling", Update: podResize.update},
	},
	StatusResets: []string{"metadata.deletionTimestamp", "metadata.ownerReferences"},
	Printer:      &podColumns,
	Hooks: registry.HooksOf[*corev1.Pod]{
		PrepareForCreate:       preparePod,
		PrepareForUpdate:       func(_ context.Context, pod, old *corev1.Pod) { keepPodLevelResources(&pod.Spec, &old.Spec) },
		PrepareForStatusUpdate: preparePodStatus,
		Validate:               validatePod,
		ValidateUpdate:         validatePodUpdate,
		ValidateStatusUpdate:   validatePodStatusUpdate,
		Warnings:               podWarnings,
		StatusWarnings:         podStatusWarnings,
		GracefulDelete:         gracefulPodDelete,
	},
	Fields: podFields,
	Gated: []registry.Gate{
		registry.GateOf[corev1.Pod]("DynamicResourceAllocation", "Status.ResourceClaimStatuses").
			InUse(registry.GateOf[corev1.Pod]("DynamicResourceAllocation", "Spec.ResourceClaims")),
		registry.GateOf[corev1.Pod]("InPlacePodVerticalScaling", append(ofStatuses("Resources"), ofStatuses("AllocatedResources")...)...).
			InUse(registry.GateOf[corev1.Pod]("InPlacePodVerticalScaling", "Spec.InitContainers.ResizePolicy", "Spec.Containers.ResizePolicy")),
		registry.GateOf[corev1.Pod]("PodObservedGenerationTracking", "Status.ObservedGeneration", "Status.Conditions.ObservedGeneration"),
		registry.GateOf[corev1.Pod]("ResourceHealthStatusMessage", ofStatuses("AllocatedResourcesStatus.Resources.Message")...),
		registry.GateOf[corev1.Pod]("SupplementalGroupsPolicy", ofStatuses("User")...).
			InUse(registry.GateOf[corev1.Pod]("SupplementalGroupsPolicy", "Spec.SecurityContext.SupplementalGroupsPolicy")),
		registry.GateOf[corev1.Pod]("DRANodeAllocatableResources", "Status.NodeAllocatableResourceClaimStatuses"),
		registry.GateOf[corev1.Pod]("CSIVolumeHealth", "Status.VolumeHealth"),
		registry.GateOf[corev1.Pod]("ImageVolumeWithDigest", ofStatuses("VolumeMounts.VolumeStatus")...),
		registry.GateOf[corev1.Pod]("InPlacePodLevelResourcesVerticalScaling", "Status.Resources", "Status.AllocatedResources"),
		registry.GateOf[corev1.Pod]("DRAExtendedResource", "Status.ExtendedResourceClaimStatus"),
		registry.GateOf[corev1.Pod]("ResourceHealthStatus", ofStatuses("AllocatedResourcesStatus")...),
	},
}

// ofStatuses returns the paths of fields in all container statuses of a pod.
func ofStatuses(path string) []string {
	return []string{
		"Status.InitContainerStatuses." + path, "Status.ContainerStatuses." + path, "Status.EphemeralContainerStatuses." + path,
	}
}

var podFields = registry.FieldsOf[*corev1.Pod]{
	Values: func(pod *corev1.Pod) fields.Set {
		var ip string
		if len(pod.Status.PodIPs) > 0 {
			ip = pod.Status.PodIPs[0].IP
		}
		return fields.Set{
			"spec.nodeName":            pod.Spec.NodeName,
			"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
			"spec.schedulerName":       pod.Spec.SchedulerName,
			"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
			"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
			"status.phase":             string(pod.Status.Phase),
			"status.podIP":             ip,
			"status.nominatedNodeName": pod.Status.NominatedNodeName,
		}
	},
	// kube-apiserver accepts the field selector status.podIPs too, although no object has a value for it.
	Names: []string{
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
	},
	Aliases: map[string]string{"spec.host": "spec.nodeName"},
}
