// Package printers shows the served kinds as tables, as `kubectl get` asks for them
// (KEP-0515, "application/json;as=Table"): one Printer for each kind that shows more
// than its name and when it was created, and the convertor that applies it.
//
// It is for the rows of the registry. Custom resources bring their columns in their
// definition, and k8s.io/apiextensions-apiserver shows them.
package printers
