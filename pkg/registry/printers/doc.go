// Package printers shows objects as tables, as `kubectl get` asks for them (KEP-0515,
// "application/json;as=Table"): the convertor, and the columns and cells that several kinds have.
//
// A kind that shows more than its name and its age has a Printer in its file. Custom
// resources bring their columns in their definition, and k8s.io/apiextensions-apiserver shows them.
package printers
