package server

import (
	"sync"

	genericfeatures "k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources/serving"
	"github.com/miniapi-dev/miniapi/pkg/server/featuregates"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
	"github.com/miniapi-dev/miniapi/pkg/server/kept"
	"github.com/miniapi-dev/miniapi/pkg/server/openapi"
	"github.com/miniapi-dev/miniapi/pkg/server/seed"
)

// shared has the state that servers of a process share. The packages below pkg/server have no such state: pkg/server
// passes it to them.
//
// Besides shared, a process has values that are computed once and never change: the table of kinds
// (pkg/registry/builtin), the RBAC objects that every cluster has (bootstrap), the version of the build (version), the
// schemas of the table's types for the type check of policies (pkg/admission/admissionpolicy), and a compiler of CEL expressions
// for each emulated version (pkg/registry/admissionregistration). These values depend on nothing that a server could
// pass. The rows of the table, which the process makes once, use the compilers.
//
// The metrics of the process are in the registry of k8s.io/component-base, which refuses a second registration. So the
// plugin PodSecurity (pkg/admission/plugins/podsecurity) registers its metrics once a process. pkg/inprocess/local has
// the state of its engine. docs/architecture.md lists that state, and the state of k8s.io/apiserver, etcd and klog.
var shared = struct {
	// process guards the feature gates and versions, because in most places k8s.io/apiserver reads the gates and
	// versions of the whole process. Servers that run at the same time must have the same gates and versions. A later
	// server with other gates or versions gets an error.
	process *featuregates.Process
	// schemas returns the OpenAPI definitions of a table's types. Making all definitions takes 140 ms and 25 MB. The
	// definitions depend only on the types and on the feature gate OpenAPIEnums, and no server changes them.
	schemas func(*registry.Table) *openapi.Schemas
	// copies are the objects that every cluster has (namespaces, RBAC roles and so on), as an earlier server has
	// defaulted and validated them. Most servers store the same objects, and copying them saves half of the time of a
	// later start. A server prepares an object itself if the object differs, or if no earlier server had the same
	// feature gates and versions.
	copies *seed.Copies
	// definitions are custom resource definitions in the form in which servers store them. Preparing a definition takes
	// more than ten milliseconds for each 100 kB: it is decoded, validated and encoded, and its CEL expressions are
	// compiled. Servers only read the shared definitions. Each server stores them with its own UIDs and times.
	definitions *customresources.Prepared
	// handlers are the handlers of custom resources of apiextensions-apiserver. At the first request for a custom
	// resource, apiextensions-apiserver compiles the schemas of the definition, which takes several milliseconds for
	// each 100 kB. Without shared handlers, each test with a server of its own would wait for that.
	handlers *serving.Handlers
	// kept are objects that clients have applied to a server right after its start, as they were stored. Later servers
	// with the same options start with copies. Creating one object by a request would take a tenth of the time of a
	// whole start.
	kept *kept.Sets
	// hookMetrics returns the function that records calls of runtime hooks in the metrics of the process. The first
	// server with hooks registers the metrics.
	hookMetrics func() func(hookcalls.Outcome)
}{
	process: featuregates.New(),
	schemas: newSchemas(),
	copies:  &seed.Copies{},

	definitions: &customresources.Prepared{},
	handlers:    &serving.Handlers{},
	kept:        kept.NewSets(),
	hookMetrics: sync.OnceValue(hookcalls.NewMetrics),
}

// newSchemas returns a function that makes the schemas of a table once while the feature gate OpenAPIEnums is on, and
// once while the gate is off.
func newSchemas() func(*registry.Table) *openapi.Schemas {
	type key struct {
		table *registry.Table
		enums bool
	}
	var schemas sync.Map
	return func(table *registry.Table) *openapi.Schemas {
		k := key{table, utilfeature.DefaultFeatureGate.Enabled(genericfeatures.OpenAPIEnums)}
		made, ok := schemas.Load(k)
		if !ok {
			made, _ = schemas.LoadOrStore(k, openapi.New(table)) // the definitions are made at their first use
		}
		return made.(*openapi.Schemas)
	}
}
