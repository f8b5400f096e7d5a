package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
)

// Dependencies are the parts of the server that storages need.
type Dependencies struct {
	// RESTOptions has the storage options of each resource. Required.
	RESTOptions generic.RESTOptionsGetter

	// Written is called after each stored write, before the response. Its argument is the stored object or, for a
	// deletion, the last stored one. Required.
	Written func(schema.GroupResource, runtime.Object)

	// Kubernetes is the emulated version of Kubernetes. Writes drop fields that are newer. Nil stands for the newest
	// version.
	Kubernetes *version.Version

	// Authorizer answers access reviews, and whether users may make the writes that need further permissions.
	Authorizer authorizer.Authorizer

	// AllowPrivileged lets containers be privileged (--allow-privileged).
	AllowPrivileged bool

	// CustomResource returns the resource of a kind that isn't in the table, if a definition serves it. If
	// CustomResource is nil, there are no custom resources.
	CustomResource func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)

	// Parts are further parts of the server. A group declares a type for each part that its kinds need, and gets the
	// part from PartOf. All types differ.
	Parts []any

	// StoreOf returns the storage of another row. The table sets it.
	StoreOf func(schema.GroupResource) (*Storage, error)
	// ResourceOf returns the resource of a kind, if the kind is known. The table sets it.
	ResourceOf func(schema.GroupVersionKind) (schema.GroupVersionResource, bool)
}

// PartOf returns the part of type T, or the zero value. T is a type of the group that needs the part, and no interface.
func PartOf[T any](d Dependencies) T {
	for _, part := range d.Parts {
		if t, ok := part.(T); ok {
			return t
		}
	}
	var none T
	return none
}

// Get reads an object of another row. The row's kind must be cluster-scoped.
func (d Dependencies) Get(ctx context.Context, resource schema.GroupResource, name string) (runtime.Object, error) {
	store, err := d.StoreOf(resource)
	if err != nil {
		return nil, err
	}
	return store.Get(genericapirequest.WithNamespace(ctx, ""), name, &metav1.GetOptions{})
}
