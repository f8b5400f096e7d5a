package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	kubelets *Kubelets
	kind     schema.GroupVersionKind
	resource string
	client   rest.Interface
	store    cache.Store
	// nodeOf returns the node whose kubelet plays the stages of an object, or false if it doesn't. Without a node, the
	// requests have the credentials of the client.
	nodeOf   func(metav1.Object) (node string, ok bool)
	renderer gotpl.Renderer
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

func newPlayer(k *Kubelets, kind schema.GroupVersionKind, resource string, client rest.Interface, store cache.Store, nodeOf func(metav1.Object) (string, bool)) *player {
	return &player{
		kubelets: k, kind: kind, resource: resource, client: client, store: store, nodeOf: nodeOf,
		renderer: newRenderer(k.functions()), plans: map[string]plan{},
	}
}

// object is an object with stages.
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

// reconsider makes the player choose the stages of all objects again. An object that keeps its stage keeps the time of it.
func (p *player) reconsider() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, plan := range p.plans {
		plan.version = ""
		p.plans[key] = plan
	}
}

// advance plays the next stage of an object if its time has come. again is the time until then.
func (p *player) advance(ctx context.Context, key string) (again time.Duration, err error) {
	if !p.kubelets.knowsStages.Load() {
		return 0, nil
	}
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
	stage := set.Next(ctx, p.kind, event)
	next := plan{uid: old.uid, version: o.GetResourceVersion(), written: old.written, stage: stage}
	switch {
	case stage == nil:
	case old.stage == stage:
		next.due, next.step = old.due, old.step
	default:
		now := p.clock.now()
		delay, err := stages.Delay(ctx, stage, event, now)
		if err != nil {
			return nil, plan{}, fmt.Errorf("%s %s: the delay of stage %s: %w", p.kind.Kind, key, stage.Name(), err)
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
	var data any = o
	if u, ok := o.(*unstructured.Unstructured); ok {
		data = u.Object
	}
	failed, err := next.stage.DoSteps(next.step, o.GetFinalizers(), data, p.renderer,
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
			options, err := json.Marshal(&metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &uid}})
			if err != nil {
				return err
			}
			return p.request(node, p.client.Delete(), o).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(options).Do(ctx).Error()
		},
		func(patch *lifecycle.Patch) error {
			version, err := p.patch(ctx, node, o, patch)
			next.written = cmp.Or(version, next.written)
			return err
		},
		func(apply *lifecycle.Apply) error {
			_, err := lifecycle.ApplyResource(ctx, p.kubelets.objects, p.kubelets.mapper, o.GetNamespace(), apply)
			return err
		},
	)
	if err != nil && !isStale(err) {
		if ctx.Err() != nil {
			return err
		}
		if next.step = failed; failsAgain(err) {
			p.kubelets.events.Warn(o, "FailedStage", "stage %s: %v", next.stage.Name(), err)
			next.stage, err = nil, nil
		}
		p.keep(key, next)
		if err != nil {
			return fmt.Errorf("%s %s: stage %s: %w", p.kind.Kind, key, next.stage.Name(), err)
		}
		return nil
	}
	next.stage, next.step = nil, 0
	p.keep(key, next)
	return nil
}

// isStale reports whether a stage has failed because its object has changed or was deleted, or because another object has
// the name now.
func isStale(err error) bool {
	cause, invalid := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return work.IgnoreStale(err) == nil && !isUnserved(err) || invalid && cause.Field == "metadata.uid"
}

// isUnserved reports whether a stage has failed because its subresource doesn't exist.
func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// failsAgain reports whether a stage that has failed would fail in the same way again: a template can't be executed, or
// the request is invalid.
func failsAgain(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || isUnserved(err)
}

// request completes a request for an object, with the credentials of a node's kubelet.
func (p *player) request(node string, r *rest.Request, o object) *rest.Request {
	if node != "" {
		p.kubelets.as(node, r)
	}
	return r.NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").Resource(p.resource).Name(o.GetName())
}

// onlyMetadata is the media type of answers that have only the metadata of an object.
const onlyMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// withUID makes a merge patch fail for another object of the name. It returns nil if the patch changes nothing.
func withUID(patch []byte, uid types.UID) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	if len(fields) == 0 || len(fields) == 1 && string(fields["status"]) == "{}" {
		return nil, nil
	}
	metadata := map[string]any{}
	if written, ok := fields["metadata"]; ok {
		if err := json.Unmarshal(written, &metadata); err != nil {
			return nil, err
		}
	}
	metadata["uid"] = uid
	var err error
	if fields["metadata"], err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// patch sends a patch, and returns the resource version of the patched object. A patch that changes nothing isn't sent.
func (p *player) patch(ctx context.Context, node string, o object, patch *lifecycle.Patch) (version string, err error) {
	data := patch.Data
	if patch.Type != types.JSONPatchType {
		if data, err = withUID(data, o.GetUID()); data == nil || err != nil {
			return "", err
		}
	}
	r := p.request(node, p.client.Patch(patch.Type), o).SetHeader("Accept", onlyMetadata).Body(data)
	if patch.Subresource != "" {
		r.SubResource(patch.Subresource)
	}
	if patch.Impersonation != nil {
		r.SetHeader("Impersonate-User", patch.Impersonation.Username)
	}
	result := r.Do(ctx)
	answer, err := result.Raw()
	if err != nil {
		return "", result.Error() // which has the server's Status
	}
	var patched metav1.PartialObjectMetadata
	if err := json.Unmarshal(answer, &patched); err != nil {
		return "", err
	}
	return patched.ResourceVersion, nil
}
