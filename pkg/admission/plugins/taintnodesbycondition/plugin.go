// Package taintnodesbycondition has the plugin TaintNodesByCondition: a new node gets the taint "not ready", so that a
// scheduler places no pod on it before its conditions are known.
//
// The node lifecycle controller of a cluster removes the taint. Disable the plugin if a scheduler runs without that
// controller. Otherwise the scheduler places no pod on a new node.
package taintnodesbycondition

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "TaintNodesByCondition"

// New returns the plugin.
func New() admission.MutationInterface {
	return plugin{admission.NewHandler(admission.Create)}
}

type plugin struct{ *admission.Handler }

// Admit implements admission.MutationInterface.
func (plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("nodes") || a.GetSubresource() != "" {
		return nil
	}
	node, ok := a.GetObject().(*corev1.Node)
	if !ok {
		return admission.NewForbidden(a, fmt.Errorf("unexpected type %T", a.GetObject()))
	}
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&notReady) }) {
		node.Spec.Taints = append(node.Spec.Taints, notReady)
	}
	return nil
}
