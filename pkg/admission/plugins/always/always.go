// Package always has the plugins AlwaysAdmit and AlwaysDeny. They are for tests of an admission chain, and for
// scripts that name them in a flag.
//
// Both are off by default, and no server needs them: AlwaysAdmit has no effect, and AlwaysDeny refuses all writes and
// connections.
package always

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
)

// Admit returns the plugin AlwaysAdmit, which admits every request.
func Admit() admission.Interface { return plugin{} }

// Deny returns the plugin AlwaysDeny, which refuses every request that passes through admission.
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
