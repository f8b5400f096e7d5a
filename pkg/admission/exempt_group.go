package admission

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/admission"
)

// exemptGroup is a plugin with webhooks or policies that reviews no request of the users in a group: see
// [Options.ExemptGroup].
type exemptGroup struct {
	admission.Interface
	group string
}

func (e exemptGroup) exempts(a admission.Attributes) bool {
	return a.GetUserInfo() != nil && slices.Contains(a.GetUserInfo().GetGroups(), e.group)
}

// Admit implements admission.MutationInterface.
func (e exemptGroup) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin, mutates := e.Interface.(admission.MutationInterface)
	if !mutates || e.exempts(a) {
		return nil
	}
	return plugin.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (e exemptGroup) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	plugin, validates := e.Interface.(admission.ValidationInterface)
	if !validates || e.exempts(a) {
		return nil
	}
	return plugin.Validate(ctx, a, o)
}
