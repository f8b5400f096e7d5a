package server

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// newInformer is the server's own informer for objects of the type, nil to use client-go's.
// Of what --runtime-config has turned off there is nothing, and nobody who asks need wait.
func (c *Config) newInformer(obj runtime.Object, resource schema.GroupResource) cache.SharedIndexInformer {
	if kinds, _, err := builtin.Table().Scheme().ObjectKinds(obj); err == nil && !c.serves(resource, kinds) {
		return cache.NewSharedIndexInformer(nothing{}, obj, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	return c.directInformer(obj, resource)
}

// serves says whether there is anything to inform of: a version that is served, and for
// an etcd elsewhere, which a client reads through this server, the version of the kinds.
func (c *Config) serves(resource schema.GroupResource, kinds []schema.GroupVersionKind) bool {
	return slices.ContainsFunc(builtin.Table().Scheme().PrioritizedVersionsForGroup(resource.Group), func(gv schema.GroupVersion) bool {
		readable := c.start != nil || slices.ContainsFunc(kinds, func(kind schema.GroupVersionKind) bool { return kind.GroupVersion() == gv })
		return readable && c.options.apis.ResourceEnabled(gv.WithResource(resource.Resource))
	})
}

// nothing lists and watches no objects.
type nothing struct{}

func (nothing) List(metav1.ListOptions) (runtime.Object, error) { return &metav1.List{}, nil }

func (nothing) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported makes a reflector list before it watches.
func (nothing) IsWatchListSemanticsUnSupported() bool { return true }
