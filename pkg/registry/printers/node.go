package printers

import (
	nodev1 "k8s.io/api/node/v1"
)

// RuntimeClass is shown by its handler. The column has no description, in
// kube-apiserver neither.
var RuntimeClass = Of(
	[]Column{NameColumn, Text("Handler", ""), AgeColumn},
	func(c *nodev1.RuntimeClass) []any { return []any{c.Name, c.Handler, Since(c.CreationTimestamp)} })
