package kubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/stages"
)

// listTimeout limits the wait for the Stage objects that exist when their kind is served.
const listTimeout = 10 * time.Second

// others are the kinds of objects other than Pod and Node that the kubelets follow: Stage objects, and the kinds that
// have stages. Each has an informer while it is served.
type others struct {
	update *work.Queue[struct{}]
	work   *work.Queue[objectKey]

	mu       sync.Mutex
	followed map[schema.GroupVersionKind]followed
	unserved sets.Set[schema.GroupVersionKind] // those for which a warning was given since the stages changed
}

// objectKey identifies an object with stages.
type objectKey struct {
	kind schema.GroupVersionKind
	key  string
}

// String implements fmt.Stringer, for the log.
func (o objectKey) String() string { return o.kind.Kind + " " + o.key }

// followed is a kind that is followed.
type followed struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	player   *player // nil for Stage objects
	end      context.CancelFunc
}

// followStages follows the Stage objects, and the kinds that have stages.
func (k *Kubelets) followStages(h *controllers.Host) {
	o := &k.others
	o.followed, o.unserved = map[schema.GroupVersionKind]followed{}, sets.New[schema.GroupVersionKind]()
	o.update = work.NewQueue(h.Runner, work.Options[struct{}]{Name: "stages of the API", Do: k.updateStages})
	o.work = work.NewQueue(h.Runner, work.Options[objectKey]{Name: "objects with stages", Workers: 4, Do: func(ctx context.Context, key objectKey) (time.Duration, error) {
		if f, ok := o.get(key.kind); ok {
			return f.player.advance(ctx, key.key)
		}
		return 0, nil
	}})
	h.OnResourcesChange(func() { o.update.Add(struct{}{}) })
	o.update.Add(struct{}{})
}

func (o *others) get(kind schema.GroupVersionKind) (followed, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok := o.followed[kind]
	return f, ok
}

// updateStages makes the present Stage objects count, and follows the kinds that have stages.
func (k *Kubelets) updateStages(ctx context.Context, _ struct{}) (time.Duration, error) {
	objects, err := k.stageObjects(ctx)
	if err != nil {
		return 0, err
	}
	changed, invalid := k.Stages.Apply(ctx, objects)
	for stage, err := range invalid {
		k.events.Warn(stage, "InvalidStage", "the stage has no effect: %v", err)
	}
	if changed {
		clear(k.others.unserved)
	}
	kinds := sets.New(k.Stages.OtherKinds()...)
	for kind := range kinds {
		served, err := k.follow(ctx, kind)
		if err != nil {
			return 0, err
		}
		if served {
			k.others.unserved.Delete(kind)
		} else {
			k.warnOfUnserved(ctx, kind, objects)
		}
	}
	k.others.keep(kinds.Insert(stages.Object))
	if first := k.knowsStages.CompareAndSwap(false, true); first || changed {
		k.reconsider()
	}
	return 0, nil
}

// stageObjects returns the Stage objects. It returns none if their kind isn't served.
func (k *Kubelets) stageObjects(ctx context.Context) ([]*v1alpha1.Stage, error) {
	served, err := k.follow(ctx, stages.Object)
	if !served || err != nil {
		return nil, err
	}
	f, _ := k.others.get(stages.Object)
	listing, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if !cache.WaitFor(listing, "", f.informer.HasSyncedChecker()) {
		return nil, fmt.Errorf("no list of the Stage objects within %s", listTimeout)
	}
	var all []*v1alpha1.Stage
	for _, obj := range f.informer.GetStore().List() {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		stage := &v1alpha1.Stage{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, stage); err != nil {
			k.events.Warn(u, "InvalidStage", "the stage has no effect: %v", err)
			continue
		}
		all = append(all, stage)
	}
	return all, nil
}

// follow starts the informer of a kind if the kind is served, and stops it otherwise.
func (k *Kubelets) follow(ctx context.Context, kind schema.GroupVersionKind) (served bool, err error) {
	resource, served, err := k.resourceOf(kind)
	if err != nil {
		return false, err
	}
	o := &k.others
	o.mu.Lock()
	defer o.mu.Unlock()
	if running, ok := o.followed[kind]; ok {
		if served && running.resource == resource {
			return true, nil
		}
		running.end()
		delete(o.followed, kind)
	}
	if !served {
		return false, nil
	}
	f := followed{resource: resource}
	f.informer = dynamicinformer.NewFilteredDynamicInformer(k.objects, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if kind == stages.Object {
		changed := func(metav1.Object) { o.update.Add(struct{}{}) }
		err = work.Enqueue(work.Events{Informer: f.informer, Changed: changed, Deleted: changed})
	} else {
		f.player, err = k.playerOf(kind, f)
	}
	if err != nil {
		return false, err
	}
	var life context.Context
	life, f.end = context.WithCancel(k.runner.Life())
	o.followed[kind] = f
	k.runner.Go(func() { f.informer.RunWithContext(life) })
	klog.FromContext(ctx).V(1).Info("following the objects of a kind", "kind", kind)
	return true, nil
}

// playerOf returns a player of the stages of a kind.
func (k *Kubelets) playerOf(kind schema.GroupVersionKind, f followed) (*player, error) {
	client, err := k.clientFor(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	p := newPlayer(k, kind, f.resource.Resource, client, f.informer.GetStore(), func(metav1.Object) (string, bool) { return "", true })
	return p, work.Enqueue(work.Events{
		Informer: f.informer,
		Changed:  func(o metav1.Object) { k.others.work.Add(objectKey{kind, cache.MetaObjectToName(o).String()}) },
		Deleted:  func(o metav1.Object) { p.drop(cache.MetaObjectToName(o).String()) },
	})
}

// resourceOf returns the resource of a kind, or false if the kind can't be followed.
func (k *Kubelets) resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	list, err := k.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return schema.GroupVersionResource{}, false, nil
	}
	if err != nil {
		return schema.GroupVersionResource{}, false, err
	}
	for _, r := range list.APIResources {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "watch") {
			return kind.GroupVersion().WithResource(r.Name), true, nil
		}
	}
	return schema.GroupVersionResource{}, false, nil
}

// warnOfUnserved warns of a kind that isn't served.
func (k *Kubelets) warnOfUnserved(ctx context.Context, kind schema.GroupVersionKind, objects []*v1alpha1.Stage) {
	if k.others.unserved.Has(kind) {
		return
	}
	k.others.unserved.Insert(kind)
	klog.FromContext(ctx).Info("stages have no effect until their kind is served", "kind", kind)
	for _, stage := range objects {
		if stages.KindOf(stage) == kind {
			k.events.Warn(stage, "UnservedKind", "the stage has no effect until %s %s is served", kind.GroupVersion(), kind.Kind)
		}
	}
}

// keep stops the informers of the kinds that are no longer followed.
func (o *others) keep(kinds sets.Set[schema.GroupVersionKind]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for kind, f := range o.followed {
		if !kinds.Has(kind) {
			f.end()
			delete(o.followed, kind)
		}
	}
}

// all returns the kinds with stages that are followed.
func (o *others) all() map[schema.GroupVersionKind]followed {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := maps.Clone(o.followed)
	delete(all, stages.Object)
	return all
}

// addAll adds all objects to the work.
func (o *others) addAll() {
	for kind, f := range o.all() {
		for _, key := range f.informer.GetStore().ListKeys() {
			o.work.Add(objectKey{kind, key})
		}
	}
}

// forget makes the players forget their objects, after a restore of a snapshot.
func (o *others) forget() {
	for _, f := range o.all() {
		f.player.forget()
	}
	o.addAll()
	o.update.Add(struct{}{})
}

// reconsider chooses the stages of all objects again.
func (k *Kubelets) reconsider() {
	k.pods.reconsider()
	k.nodePlayer.reconsider()
	for _, f := range k.others.all() {
		f.player.reconsider()
	}
	k.others.addAll()
	for _, key := range k.podInformer.GetStore().ListKeys() {
		k.podQueue.Add(key)
	}
	for _, name := range k.nodes.GetStore().ListKeys() {
		k.nodeQueue.Add(name)
	}
}
