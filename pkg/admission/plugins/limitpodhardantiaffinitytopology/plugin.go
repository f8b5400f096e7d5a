// Package limitpodhardantiaffinitytopology has the plugin LimitPodHardAntiAffinityTopology: the required
// anti-affinity of a pod may keep other pods from the pod's node, but not from a whole zone.
//
// The plugin is off by default. With it, required anti-affinity can't spread pods over zones. Preferred
// anti-affinity and topologySpreadConstraints still can.
package limitpodhardantiaffinitytopology

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "LimitPodHardAntiAffinityTopology"

// New returns the plugin.
func New() admission.ValidationInterface {
	return plugin{admission.NewHandler(admission.Create, admission.Update)}
}

type plugin struct{ *admission.Handler }

// Validate implements admission.ValidationInterface.
func (plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest("Resource was marked with kind Pod but was unable to be converted")
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.TopologyKey != corev1.LabelHostname {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), pod.Name, fmt.Errorf(
				"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed", term.TopologyKey, corev1.LabelHostname))
		}
	}
	return nil
}
