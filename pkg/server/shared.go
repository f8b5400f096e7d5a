package server

import (
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/process"
	"github.com/miniapi-dev/miniapi/pkg/server/runtimehooks"
	"github.com/miniapi-dev/miniapi/pkg/server/seed"
)

// shared is the state that the servers of a process share. The packages below this one have no such state: this
// package passes it to them. In addition, a process has constants that are computed at their first use: the table
// of kinds (pkg/registry/builtin), the RBAC objects of every cluster (bootstrap), the version of the build
// (version), and the state of k8s.io/apiserver, etcd and klog (see docs/architecture.md).
var shared = struct {
	// process guards the feature gates and versions, because k8s.io/apiserver reads those of the process in most
	// places. Servers that run at the same time must agree on them: a later one that differs gets an error.
	process *process.Process
	// schemas describe the types of the table. They depend only on the types, and take 25 MB and 140 ms if all of
	// them are needed. No server changes them.
	schemas func() *openapi.Schemas
	// copies are the objects of every cluster that one server has prepared and validated. They are the same for
	// most servers, and the copies save half of the time of a later start. A server prepares an object itself if
	// the object differs, or if no earlier server had the same feature gates and versions.
	copies *seed.Copies
	// definitions are custom resource definitions as servers store them, by what was given. To prepare one takes some ten
	// milliseconds and more for each 100 kB of it: it is decoded, validated and encoded, and its expressions are compiled.
	// Servers read what they share, and have their own UIDs and times.
	definitions *customresources.Prepared
	// hookMetrics tells the metrics of the process of calls of runtime hooks. The first server that has hooks registers
	// them.
	hookMetrics func() func(runtimehooks.Outcome)
}{
	process: process.New(),
	schemas: sync.OnceValue(func() *openapi.Schemas { return openapi.New(builtin.Table()) }),
	copies:  &seed.Copies{},

	definitions: &customresources.Prepared{},
	hookMetrics: sync.OnceValue(runtimehooks.NewMetrics),
}
