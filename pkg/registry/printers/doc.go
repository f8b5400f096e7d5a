// Package printers shows objects as tables for `kubectl get` (KEP-0515, "application/json;as=Table"). The package
// has the convertor from objects to tables, and the columns and cells that several kinds share.
//
// A kind whose table has other columns than those of Default has a Printer in its file.
//
// Don't use the package for custom resources: their CustomResourceDefinitions list the columns, and
// k8s.io/apiextensions-apiserver makes the tables.
package printers
