package policy

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// paramsSyncTimeout bounds the wait of a policy's activation for the first list of its parameters.
const paramsSyncTimeout = 2 * time.Second

// paramKind is the kind of a policy's parameters.
type paramKind struct{ apiVersion, kind string }

// params are the informers of the kinds of policies' parameters. They belong to one source, under its lock.
type params struct {
	informers informers.SharedInformerFactory
	client    dynamic.Interface
	mapper    meta.RESTMapper
	// observe passes an informer that isn't of the factory to the barrier. Nil does nothing.
	observe func(schema.GroupResource, cache.SharedIndexInformer) cache.SharedIndexInformer
	// definition finds the definition of a custom resource's kind, or returns nil. Without definitions, the function
	// itself is nil.
	definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition

	running map[paramKind]paramInformer
}

// paramInformer is a running informer.
type paramInformer struct {
	informer   informers.GenericInformer
	resource   schema.GroupVersionResource
	scope      meta.RESTScope
	definition *apiextensionsv1.CustomResourceDefinition // nil without a definition
	stop       context.CancelFunc
}

// get returns the informer of a kind. The informer is started, and synced unless that takes too long.
func (p *params) get(ctx context.Context, kind paramKind) (informers.GenericInformer, meta.RESTScope, error) {
	if running, ok := p.running[kind]; ok {
		return running.informer, running.scope, nil
	}
	gv, err := schema.ParseGroupVersion(kind.apiVersion)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to parse paramKind APIVersion: %w", err)
	}
	gvk := gv.WithKind(kind.kind)
	definition := p.defined(gvk)
	mapping, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
	}

	started := paramInformer{resource: mapping.Resource, scope: mapping.Scope, definition: definition, stop: func() {}}
	if started.informer, err = p.informers.ForResource(mapping.Resource); err == nil {
		// A built-in type: the informer is shared and runs as long as the server.
		p.informers.StartWithContext(ctx)
	} else {
		var running context.Context
		running, started.stop = context.WithCancel(ctx)
		informer := dynamicinformer.NewFilteredDynamicInformer(p.client, mapping.Resource, metav1.NamespaceAll, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, nil)
		started.informer = informer
		run := informer.Informer()
		if p.observe != nil {
			run = p.observe(mapping.Resource.GroupResource(), run)
		}
		go run.RunWithContext(running)
	}
	if p.running == nil {
		p.running = map[paramKind]paramInformer{}
	}
	p.running[kind] = started

	syncing, cancel := context.WithTimeout(ctx, paramsSyncTimeout)
	defer cancel()
	cache.WaitFor(syncing, "", started.informer.Informer().HasSyncedChecker())
	return started.informer, started.scope, nil
}

// renew stops the informers of kinds whose definitions have changed, and reports whether new ones must start: the
// resource may have another name, scope or schema. The informer of a resource that is no longer served stays. The old
// informer of a changed definition would not do: its watch returns objects of the old schema until the watch ends, and
// it lists unreadable objects at growing intervals.
func (p *params) renew() (renewed bool) {
	for kind, running := range p.running {
		gvk := schema.FromAPIVersionAndKind(kind.apiVersion, kind.kind)
		definition := p.defined(gvk)
		if definition == nil {
			if running.definition != nil {
				running.stop()
				running.definition = nil
				p.running[kind] = running
			}
			continue
		}
		mapping, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil || sameDefinition(definition, running.definition) && mapping.Resource == running.resource && mapping.Scope.Name() == running.scope.Name() {
			continue
		}
		running.stop()
		delete(p.running, kind)
		renewed = true
	}
	return renewed
}

func (p *params) defined(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	if p.definition == nil {
		return nil
	}
	return p.definition(kind)
}

func sameDefinition(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return a == b || a != nil && b != nil && a.UID == b.UID && apiequality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// keep stops the informers of kinds that no policy uses any more.
func (p *params) keep(used map[paramKind]bool) {
	for kind, running := range p.running {
		if !used[kind] {
			running.stop()
			delete(p.running, kind)
		}
	}
}
