package objects

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// syncTimeout bounds the wait for the first lists of the informers. A list may fail forever, for example
	// because a conversion webhook doesn't answer.
	syncTimeout = 30 * time.Second

	// retryPeriod is the time after which a failed discovery is repeated.
	retryPeriod = 5 * time.Second
)

// unowned are the resources whose objects have neither owners nor dependents.
var unowned = map[schema.GroupResource]bool{{Resource: "events"}: true, {Group: "events.k8s.io", Resource: "events"}: true}

// Informers is a Source that reads objects through the API. It has an informer for each selected resource that can be
// listed, watched and deleted, except for Events.
type Informers struct {
	Runner    *work.Runner
	Client    metadata.Interface
	Resources *served.Resources
	// Select returns a filter of resources. If Select returns nil, there is no informer and no request for
	// discovery.
	Select func() func(served.Resource) bool

	handler Handler
	synced  func()
	queue   *work.Queue[struct{}]

	mu      sync.Mutex
	running map[schema.GroupVersionResource]running
}

type running struct {
	informer cache.SharedIndexInformer
	end      context.CancelFunc
}

var _ Source = &Informers{}

// Follow implements Source. It must be called only once.
func (i *Informers) Follow(_ context.Context, handler Handler, synced func()) {
	i.handler, i.synced = handler, sync.OnceFunc(synced)
	i.running = map[schema.GroupVersionResource]running{}
	i.queue = work.NewQueue(i.Runner, work.Options[struct{}]{Name: "informers of metadata", Do: i.update})
	i.Resources.OnChange(func() { i.queue.Add(struct{}{}) })
	i.queue.Add(struct{}{})
}

// Settle implements Source. It returns at once, because an informer can't tell which events are still on their way.
func (i *Informers) Settle(context.Context) error { return nil }

// update starts informers for new resources, and stops the informers of resources that are removed or that Select no
// longer selects.
func (i *Informers) update(ctx context.Context, _ struct{}) (again time.Duration, err error) {
	selects := i.Select()
	if selects == nil {
		i.keep(nil)
		i.synced()
		return 0, nil
	}
	resources, err := i.Resources.List()
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "the discovery of some resources failed, and is tried again")
		again = retryPeriod
	}
	if err == nil {
		i.keep(func(gvr schema.GroupVersionResource) bool {
			return slices.ContainsFunc(resources, func(r served.Resource) bool { return r.GroupVersionResource == gvr && selects(r) })
		})
	}
	started := map[schema.GroupVersionResource]cache.DoneChecker{}
	for _, r := range resources {
		if r.Can("delete", "list", "watch") && !unowned[r.GroupResource()] && selects(r) {
			started[r.GroupVersionResource] = i.start(r)
		}
	}
	waiting, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if !cache.WaitFor(waiting, "", slices.Collect(maps.Values(started))...) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		utilruntime.HandleErrorWithContext(ctx, fmt.Errorf("no list within %s", syncTimeout), "some resources can't be listed, and controllers begin without their objects", "resources", unlisted(started))
	}
	i.synced()
	return again, nil
}

// unlisted returns the resources whose first list isn't complete.
func unlisted(started map[schema.GroupVersionResource]cache.DoneChecker) []string {
	var names []string
	for resource, listed := range started {
		select {
		case <-listed.Done():
		default:
			names = append(names, resource.GroupResource().String())
		}
	}
	slices.Sort(names)
	return names
}

// keep stops the informer of each resource for which the argument keep returns false. A nil argument stops all
// informers.
func (i *Informers) keep(keep func(schema.GroupVersionResource) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for gvr, r := range i.running {
		if keep == nil || !keep(gvr) {
			r.end()
			delete(i.running, gvr)
		}
	}
}

func (i *Informers) start(r served.Resource) cache.DoneChecker {
	i.mu.Lock()
	defer i.mu.Unlock()
	if started, ok := i.running[r.GroupVersionResource]; ok {
		return started.informer.HasSyncedChecker()
	}
	informer := metadatainformer.NewFilteredMetadataInformer(i.Client, r.GroupVersionResource, metav1.NamespaceAll, 0, nil, nil).Informer()
	// SetTransform and AddEventHandler fail only if an informer has started or stopped. This informer hasn't started.
	_ = informer.SetTransform(strip)
	_, _ = informer.AddEventHandler(i.handlerOf(r))
	life, end := context.WithCancel(i.Runner.Life())
	i.running[r.GroupVersionResource] = running{informer, end}
	i.Runner.Go(func() { informer.RunWithContext(life) })
	return informer.HasSyncedChecker()
}

// strip drops the large fields of an object's metadata that Object doesn't have.
func strip(obj any) (any, error) {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		o.ManagedFields, o.Labels, o.Annotations = nil, nil, nil
	}
	return obj, nil
}

func (i *Informers) handlerOf(r served.Resource) cache.ResourceEventHandler {
	kind := r.GroupVersion().WithKind(r.Kind)
	stored := func(obj any) {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			i.handler.Stored(New(kind, o))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    stored,
		UpdateFunc: func(_, changed any) { stored(changed) },
		DeleteFunc: func(obj any) {
			if unseen, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unseen.Obj
			}
			if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
				i.handler.Deleted(New(kind, o))
			}
		},
	}
}
