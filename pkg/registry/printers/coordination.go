package printers

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	"k8s.io/utils/ptr"
)

// Lease is shown by who holds it.
var Lease = Of(
	[]Column{NameColumn, Text("Holder", Doc(coordinationv1.LeaseSpec{}, "holderIdentity")), AgeColumn},
	func(l *coordinationv1.Lease) []any {
		return []any{l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), Since(l.CreationTimestamp)}
	})

// LeaseCandidate is shown by what it contends for, and by its versions.
var LeaseCandidate = Of(
	[]Column{
		NameColumn,
		Text("LeaseName", Doc(coordinationv1beta1.LeaseCandidateSpec{}, "leaseName")),
		Text("BinaryVersion", Doc(coordinationv1beta1.LeaseCandidateSpec{}, "binaryVersion")),
		Text("EmulationVersion", Doc(coordinationv1beta1.LeaseCandidateSpec{}, "emulationVersion")),
		AgeColumn,
	},
	func(c *coordinationv1beta1.LeaseCandidate) []any {
		return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, Since(c.CreationTimestamp)}
	})
