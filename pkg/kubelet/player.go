package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/stages"
)

// player plays the stages of the objects of one kind.
type player struct {
	kubelets       *Kubelets
	kind, resource string
	store          cache.Store
	// nodeOf returns the node whose kubelet plays the stages of an object, or false if it doesn't.
	nodeOf   func(metav1.Object) (node string, ok bool)
	renderer gotpl.Renderer
	objects  dynamic.Interface
	mapper   meta.RESTMapper
	clock    clock

	playing sync.RWMutex // locked for reading while a stage is played because its time has come

	mu    sync.Mutex
	plans map[string]plan // by the key of the object
}

// plan is what a player knows about an object.
type plan struct {
	uid types.UID
	// version is the resource version for which stage was chosen. Of the stages that match, one is chosen at random.
	version string
	stage   *lifecycle.Stage
	due     time.Time
	step    int // of the stage, the step that failed
	// written is the resource version of the last write of a stage. Earlier versions of the object don't count.
	written string
}

func newPlayer(k *Kubelets, kind, resource string, store cache.Store, nodeOf func(metav1.Object) (string, bool)) *player {
	return &player{
		kubelets: k, kind: kind, resource: resource, store: store, nodeOf: nodeOf,
		renderer: gotpl.NewRenderer(k.functions()), plans: map[string]plan{},
	}
}

// object is a pod or a node.
type object interface {
	metav1.Object
	runtime.Object
}

// drop forgets a deleted object.
func (p *player) drop(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.plans, key)
}

// forget forgets all objects.
func (p *player) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.plans)
}

// advance plays the next stage of an object if its time has come. again is the time until then.
func (p *player) advance(ctx context.Context, key string) (again time.Duration, err error) {
	p.playing.RLock()
	defer p.playing.RUnlock()
	o, next, err := p.next(ctx, key)
	if next.stage == nil || err != nil || p.clock.isHeld() {
		return 0, err
	}
	if left := next.due.Sub(p.clock.now()); left > 0 {
		return left, nil
	}
	return 0, p.play(ctx, key, o, next)
}

// next returns an object and the plan for it. The stage of the plan is nil if no stage comes next.
func (p *player) next(ctx context.Context, key string) (object, plan, error) {
	found, exists, err := p.store.GetByKey(key)
	o, ok := found.(object)
	if err != nil || !exists || !ok {
		return nil, plan{}, err
	}
	if _, ok := p.nodeOf(o); !ok {
		return nil, plan{}, nil
	}
	p.mu.Lock()
	old := p.plans[key]
	p.mu.Unlock()
	if old.uid != o.GetUID() {
		old = plan{uid: o.GetUID()}
	}
	if old.version == o.GetResourceVersion() {
		return o, old, nil
	}
	if order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), old.written); err == nil && order < 0 {
		return o, plan{}, nil // the informer hasn't seen the last write yet
	}
	set, err := p.kubelets.Stages.Of(ctx, p.kind, o)
	if err != nil {
		p.kubelets.events.Warn(o, "UnknownStages", "%v", err)
		return o, plan{}, nil
	}
	event := &lifecycle.Event{Labels: o.GetLabels(), Annotations: o.GetAnnotations(), Data: o}
	stage, err := set.Next(ctx, p.kind, event)
	if err != nil {
		return nil, plan{}, fmt.Errorf("%s %s: %w", p.kind, key, err)
	}
	next := plan{uid: old.uid, version: o.GetResourceVersion(), written: old.written, stage: stage}
	switch {
	case stage == nil:
	case old.stage == stage:
		next.due, next.step = old.due, old.step
	default:
		now := p.clock.now()
		delay, err := stages.Delay(ctx, stage, event, now)
		if err != nil {
			return nil, plan{}, fmt.Errorf("%s %s: the delay of stage %s: %w", p.kind, key, stage.Name(), err)
		}
		next.due = now.Add(delay)
	}
	p.keep(key, next)
	return o, next, nil
}

func (p *player) keep(key string, next plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plans[key] = next
}

// play plays the stage of a plan.
func (p *player) play(ctx context.Context, key string, o object, next plan) error {
	node, _ := p.nodeOf(o)
	failed, err := next.stage.DoSteps(next.step, o.GetFinalizers(), o, p.renderer,
		func(event *internalversion.StageEvent) error {
			if event.Type == corev1.EventTypeWarning {
				p.kubelets.events.Warn(o, event.Reason, "%s", event.Message)
			} else {
				p.kubelets.events.Tell(o, event.Reason, "%s", event.Message)
			}
			return nil
		},
		func() error {
			uid := o.GetUID()
			return p.kubelets.as(node, p.request(p.kubelets.core.Delete(), o)).
				Body(&metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &uid}}).Do(ctx).Error()
		},
		func(patch *lifecycle.Patch) error {
			version, err := p.patch(ctx, node, o, patch)
			next.written = cmp.Or(version, next.written)
			return err
		},
		func(apply *lifecycle.Apply) error {
			_, err := lifecycle.ApplyResource(ctx, p.objects, p.mapper, o.GetNamespace(), apply)
			return err
		},
	)
	if err = work.IgnoreStale(err); err != nil && !isReplaced(err) {
		if ctx.Err() != nil {
			return err
		}
		if next.step = failed; failsAgain(err) {
			p.kubelets.events.Warn(o, "FailedStage", "stage %s: %v", next.stage.Name(), err)
			next.stage, err = nil, nil
		}
		p.keep(key, next)
		if err != nil {
			return fmt.Errorf("%s %s: stage %s: %w", p.kind, key, next.stage.Name(), err)
		}
		return nil
	}
	next.stage, next.step = nil, 0
	p.keep(key, next)
	return nil
}

// isReplaced reports whether a patch has failed because its object was deleted, and another one has the name now.
func isReplaced(err error) bool {
	cause, invalid := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return invalid && cause.Field == "metadata.uid"
}

// failsAgain reports whether a stage that has failed would fail in the same way again: a template can't be executed, or
// the result is invalid.
func failsAgain(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// request completes a request for an object.
func (p *player) request(r *rest.Request, o object) *rest.Request {
	return r.NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").Resource(p.resource).Name(o.GetName())
}

// patch sends a patch, and returns the resource version of the patched object. A patch that changes nothing isn't sent.
func (p *player) patch(ctx context.Context, node string, o object, patch *lifecycle.Patch) (version string, err error) {
	data := string(patch.Data)
	if data == `{"status":{}}` {
		return "", nil
	}
	if patch.Type != types.JSONPatchType {
		// The patch isn't for another object of this name.
		data = fmt.Sprintf(`{"metadata":{"uid":%q},%s`, o.GetUID(), data[1:])
	}
	r := p.kubelets.as(node, p.request(p.kubelets.core.Patch(patch.Type), o)).Body([]byte(data))
	if patch.Subresource != "" {
		r.SubResource(patch.Subresource)
	}
	if patch.Impersonation != nil {
		r.SetHeader("Impersonate-User", patch.Impersonation.Username)
	}
	result, err := r.Do(ctx).Get()
	if err != nil {
		return "", err
	}
	patched, err := meta.Accessor(result)
	if err != nil {
		return "", err
	}
	return patched.GetResourceVersion(), nil
}
