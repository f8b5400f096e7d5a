package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/registry/features"
)

// Dependencies are the parts and settings of the server that the storages need.
type Dependencies struct {
	// RESTOptions has the storage options of each resource. It is required.
	RESTOptions generic.RESTOptionsGetter

	// Written is called after each stored write, before the server sends the response. Its argument is the stored
	// object or, after a deletion, the last stored state. It is required.
	Written func(schema.GroupResource, runtime.Object)

	// Gates are the feature gates. While a gate is off, writes can't set the fields that depend on the gate. Nil stands
	// for the defaults of the newest version of Kubernetes.
	Gates featuregate.FeatureGate

	// Authorizer answers access reviews. It also authorizes requests that need a further permission.
	Authorizer authorizer.Authorizer

	// AllowPrivileged allows privileged containers (--allow-privileged).
	AllowPrivileged bool

	// CustomResource returns the resource of a kind that isn't in the table, if a CustomResourceDefinition defines
	// it. If CustomResource is nil, there are no custom resources.
	CustomResource func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)

	// Parts are further parts of the server that kinds of some groups need. The package of the group declares the Go type
	// of the part, and gets the value by PartOf. Each type may be in the list once. For the built-in kinds, builtin.Parts
	// makes the list.
	Parts []any

	// StoreOf returns the storage of another resource. Table.Stores sets it.
	StoreOf func(schema.GroupResource) (*Storage, error)
	// ResourceOf returns the resource of a kind, if the table or CustomResource has it. Table.Stores sets it.
	ResourceOf func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)
}

// Enabled reports whether a feature gate is on.
func (d Dependencies) Enabled(feature featuregate.Feature) bool { return d.gates().Enabled(feature) }

func (d Dependencies) gates() featuregate.FeatureGate {
	if d.Gates == nil {
		return features.Default()
	}
	return d.Gates
}

// PartOf returns the value of type T in Parts, or the zero value. T is a type that the package of an API group
// declares, and not an interface.
func PartOf[T any](d Dependencies) T {
	for _, part := range d.Parts {
		if t, ok := part.(T); ok {
			return t
		}
	}
	var none T
	return none
}

// Get reads an object of another resource, which must be cluster-scoped.
func (d Dependencies) Get(ctx context.Context, resource schema.GroupResource, name string) (runtime.Object, error) {
	store, err := d.StoreOf(resource)
	if err != nil {
		return nil, err
	}
	return store.Get(genericapirequest.WithNamespace(ctx, ""), name, &metav1.GetOptions{})
}
