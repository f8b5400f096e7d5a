// Package builtin is the table of the kinds that kube-apiserver serves. A server takes its
// scheme, its codecs and its storages from this table.
//
// Custom resources are not of the table, and neither are the kinds of a server that is
// built of other groups: such a server makes a registry.Table of its own.
package builtin

import "github.com/miniapi-dev/miniapi/pkg/registry"

// Table is made once a process, at its first use.
func Table() *registry.Table { return registry.Builtin() }
