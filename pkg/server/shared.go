package server

import (
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/process"
	"github.com/miniapi-dev/miniapi/pkg/server/seed"
)

// shared is the state that the servers of a process share. The packages below this one have no such state: they are
// given it. Beside it, a process keeps constants that are computed at their first use: the table of kinds
// (pkg/registry/builtin), the RBAC objects of every cluster (bootstrap), the version of the build (version), and what
// k8s.io/apiserver, etcd and klog keep themselves (see docs/architecture.md).
var shared = struct {
	// process guards the feature gates and versions, because k8s.io/apiserver asks those of the process in most places.
	// Servers that run at the same time agree on them, or the later one is refused with an error.
	process *process.Process
	// schemas describe the types of the table. They depend on the types alone, and take 25 MB and 140 ms if all of them
	// are needed. No server changes them.
	schemas func() *openapi.Schemas
	// copies are the objects of every cluster, as one server has prepared and validated them. They are the same for most
	// servers, and to copy them is half of the time that a later server takes to start. A server prepares its own where
	// the object is different, and if no server had its feature gates and versions before.
	copies *seed.Copies
	// definitions are custom resource definitions as servers store them, by what was given. To prepare one takes some ten
	// milliseconds and more for each 100 kB of it: it is decoded, validated and encoded, and its expressions are compiled.
	// Servers read what they share, and have their own UIDs and times.
	definitions *customresources.Prepared
}{
	process: process.New(),
	schemas: sync.OnceValue(func() *openapi.Schemas { return openapi.New(builtin.Table()) }),
	copies:  &seed.Copies{},

	definitions: &customresources.Prepared{},
}
