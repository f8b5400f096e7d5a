// Package always has the AlwaysAdmit and AlwaysDeny plugins. Both exist for tests of a server's
// chain, and for tools that name them out of habit.
//
// Both are off, and no server needs them: without AlwaysAdmit the same is admitted, and with AlwaysDeny
// nobody can write anything.
package always

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
)

// Admit returns the AlwaysAdmit plugin, which has no objections.
func Admit() admission.Interface { return plugin{} }

// Deny returns the AlwaysDeny plugin, which refuses every request.
func Deny() admission.Interface { return plugin{deny: true} }

type plugin struct{ deny bool }

var (
	_ admission.MutationInterface   = plugin{}
	_ admission.ValidationInterface = plugin{}
)

// Handles implements admission.Interface.
func (plugin) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (p plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	return p.judge(a)
}

// Validate implements admission.ValidationInterface.
func (p plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	return p.judge(a)
}

func (p plugin) judge(a admission.Attributes) error {
	if !p.deny {
		return nil
	}
	return admission.NewForbidden(a, errors.New("admission control is denying all modifications"))
}
