// Package printers shows objects as tables, which `kubectl get` asks for (KEP-0515, "application/json;as=Table"). The
// package has the convertor, and the columns and cells that several kinds share.
//
// A kind that shows more than its name and its age has a Printer in its file. Don't use the package for custom
// resources: their definitions have the columns, and k8s.io/apiextensions-apiserver shows them.
package printers
