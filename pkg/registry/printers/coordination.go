package printers

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// Lease is shown by who holds it.
var Lease = of(
	[]column{nameColumn, text("Holder", doc(coordinationv1.LeaseSpec{}, "holderIdentity")), ageColumn},
	func(l *coordinationv1.Lease) []any {
		return []any{l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), since(l.CreationTimestamp)}
	})
