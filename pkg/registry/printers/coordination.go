package printers

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	"k8s.io/utils/ptr"
)

// Lease is shown by who holds it.
var Lease = of(
	[]column{nameColumn, text("Holder", doc(coordinationv1.LeaseSpec{}, "holderIdentity")), ageColumn},
	func(l *coordinationv1.Lease) []any {
		return []any{l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), since(l.CreationTimestamp)}
	})

// LeaseCandidate is shown by what it contends for, and by its versions.
var LeaseCandidate = of(
	[]column{
		nameColumn,
		text("LeaseName", doc(coordinationv1beta1.LeaseCandidateSpec{}, "leaseName")),
		text("BinaryVersion", doc(coordinationv1beta1.LeaseCandidateSpec{}, "binaryVersion")),
		text("EmulationVersion", doc(coordinationv1beta1.LeaseCandidateSpec{}, "emulationVersion")),
		ageColumn,
	},
	func(c *coordinationv1beta1.LeaseCandidate) []any {
		return []any{c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, since(c.CreationTimestamp)}
	})
