// Package defaulttolerationseconds has the plugin DefaultTolerationSeconds: a pod stays for some time on a node that is
// not ready or unreachable, five minutes by default. The plugin adds a toleration of each of these two states to a pod
// that has none.
//
// A pod that must leave at once, or never, needs a toleration of its own. Two flags of the server change the time for
// all pods. The plugin PodTolerationRestriction adds tolerations of other taints.
package defaulttolerationseconds

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "DefaultTolerationSeconds"

// DefaultSeconds is the default time for which a pod stays on a node that is not ready or unreachable.
const DefaultSeconds = 300

// New returns the plugin. The arguments are the tolerationSeconds of the tolerations that the plugin adds.
func New(notReadySeconds, unreachableSeconds int64) admission.MutationInterface {
	return &plugin{
		Handler: admission.NewHandler(admission.Create, admission.Update),
		added: []corev1.Toleration{
			toleration(corev1.TaintNodeNotReady, notReadySeconds),
			toleration(corev1.TaintNodeUnreachable, unreachableSeconds),
		},
	}
}

type plugin struct {
	*admission.Handler
	added []corev1.Toleration
}

func toleration(key string, seconds int64) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

// Admit implements admission.MutationInterface.
func (p *plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("expected *api.Pod but got %T", a.GetObject()))
	}
	// The loop compares each taint with the user's list only: a toleration that the plugin has added must not count as
	// one of the user's.
	given := pod.Spec.Tolerations
	for _, added := range p.added {
		if !mentioned(given, added.Key) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, *added.DeepCopy())
		}
	}
	return nil
}

// mentioned reports whether a toleration is for the taint with the key or for all taints, and for the effect NoExecute
// or for all effects.
func mentioned(tolerations []corev1.Toleration, key string) bool {
	for _, t := range tolerations {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
