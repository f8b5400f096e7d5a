package admissionpolicy

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

// paramsSyncTimeout bounds the time for which the activation of a policy waits for the first list of the policy's
// parameter objects.
const paramsSyncTimeout = 2 * time.Second

// paramKind identifies the kind of a policy's parameter objects.
type paramKind struct{ apiVersion, kind string }

// params has the informers of parameter objects, for all policies of one source. It is used under the source's
// lock.
type params struct {
	informers informers.SharedInformerFactory
	client    dynamic.Interface
	mapper    meta.RESTMapper
	// observe makes writes wait for an informer of a custom resource. If observe is nil, writes don't wait for
	// informers of custom resources.
	observe func(schema.GroupResource, cache.SharedIndexInformer) cache.SharedIndexInformer
	// definition returns the CustomResourceDefinition of a kind, or nil if there is none. The function itself may
	// be nil.
	definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition

	running map[paramKind]paramInformer
}

// paramInformer is an informer of parameter objects that has been started.
type paramInformer struct {
	informer informers.GenericInformer
	resource schema.GroupVersionResource
	scope    meta.RESTScope
	// definition is the definition of the kind at the start of the informer. It is nil if the kind had no definition
	// then, or has none any more.
	definition *apiextensionsv1.CustomResourceDefinition
	stop       context.CancelFunc
}

// get returns the informer of a kind. If the informer isn't running, get starts it and waits for its first list, for
// paramsSyncTimeout at most.
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
		// The kind is built in. Its informer is shared, and runs until the server stops.
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

// renew stops and removes the informers of kinds whose CustomResourceDefinition has changed, and reports whether there
// were any.
//
// A changed definition can have another name, scope or schema, so it needs a new informer. The old informer would
// return objects of the old schema until its watch ends, and would retry unreadable objects at growing intervals. If
// the definition of a kind is deleted, renew stops the informer, which keeps its objects. Such an informer doesn't
// make the result true. If the kind has a definition and the RESTMapper doesn't have the kind, the informer stays.
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

// keep removes the informers of kinds that no policy uses. It also stops them, except for the shared informers of
// built-in kinds.
func (p *params) keep(used map[paramKind]bool) {
	for kind, running := range p.running {
		if !used[kind] {
			running.stop()
			delete(p.running, kind)
		}
	}
}
