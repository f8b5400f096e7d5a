// Package extendedresourcetoleration has the plugin ExtendedResourceToleration: a pod that requests an extended
// resource, such as a GPU, gets a toleration of the taint with the resource's name and the effect NoSchedule.
//
// The plugin is off by default. If the nodes with extended resources have taints with other keys or effects, the
// tolerations have no effect. Use the plugin PodTolerationRestriction then, which adds the tolerations of a namespace.
package extendedresourcetoleration

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "ExtendedResourceToleration"

// New returns the plugin.
func New() admission.MutationInterface {
	return plugin{admission.NewHandler(admission.Create, admission.Update)}
}

type plugin struct{ *admission.Handler }

// Admit implements admission.MutationInterface.
func (plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("expected *core.Pod but got %T", a.GetObject()))
	}
	requested := sets.New[string]()
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if podspec.IsExtendedResource(name) {
					requested.Insert(string(name))
				}
			}
		}
	}
	for _, name := range sets.List(requested) {
		added := corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&added) }) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, added)
		}
	}
	return nil
}
