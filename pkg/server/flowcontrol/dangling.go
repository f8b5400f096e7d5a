// Package flowcontrol keeps the conditions of FlowSchemas. Don't use it for API priority and fairness itself, which
// k8s.io/apiserver has.
package flowcontrol

import (
	"context"
	"fmt"
	"sync"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/util/apihelpers"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	applyv1 "k8s.io/client-go/applyconfigurations/flowcontrol/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
)

// Conditions keeps condition Dangling of each FlowSchema true: whether the priority level that the schema refers to
// exists. In kube-apiserver the controller of API priority and fairness writes the condition, and that controller
// doesn't run here. A write of a schema or of a level starts a pass over all of them. Without such writes, and at
// a start, there is no work.
type Conditions struct {
	client typedv1.FlowcontrolV1Interface
	// ctx ends the passes, and bootstrapped, when it is closed, lets them begin: what every cluster has comes with its
	// conditions.
	ctx          context.Context
	bootstrapped <-chan struct{}

	mu sync.Mutex
	// stale says that there was a write since the last pass began; passing, that one is under way.
	stale, passing bool
	running        sync.WaitGroup
}

// Resources are those that the condition is about. A server that lacks one of them needs no conditions.
var Resources = []schema.GroupVersionResource{
	flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas"),
	flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations"),
}

// New returns conditions that are written by a client, until following ends. No pass begins before bootstrapped is
// closed.
func New(following context.Context, client typedv1.FlowcontrolV1Interface, bootstrapped <-chan struct{}) *Conditions {
	return &Conditions{client: client, ctx: following, bootstrapped: bootstrapped}
}

// passes is how long a pass waits at first, because a schema and its level often come together, and then each time
// that it fails: admission may refuse what the server writes.
var passes = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Cap: 30 * time.Second, Steps: 12}

// Written starts a pass after a write of a schema or of a level. It doesn't wait for the pass.
func (f *Conditions) Written(resource schema.GroupResource) {
	if f == nil || resource.Group != flowcontrolv1.GroupName {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stale = true
	if f.passing || f.ctx.Err() != nil {
		return
	}
	f.passing = true
	f.running.Go(f.pass)
}

// pass repeats passes until one has seen every write.
func (f *Conditions) pass() {
	select {
	case <-f.bootstrapped:
	case <-f.ctx.Done():
	}
	for f.next() {
		_ = passes.DelayFunc().Until(f.ctx, false, false, func(ctx context.Context) (bool, error) {
			err := f.reconcile(ctx)
			if err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "the conditions of FlowSchemas aren't up to date, and are written again")
			}
			return err == nil, nil
		})
	}
}

// next says whether another pass is due.
func (f *Conditions) next() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passing = f.stale && f.ctx.Err() == nil
	f.stale = false
	return f.passing
}

// Wait returns when the last pass has ended, after ctx has.
func (f *Conditions) Wait() {
	if f == nil {
		return
	}
	f.mu.Lock()
	running := &f.running // a write that found ctx alive has added its pass
	f.mu.Unlock()
	running.Wait()
}

// reconcile writes the conditions that aren't true.
func (f *Conditions) reconcile(ctx context.Context) error {
	levels, err := f.client.PriorityLevelConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list priority level configurations: %w", err)
	}
	schemas, err := f.client.FlowSchemas().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list flow schemas: %w", err)
	}
	exist := sets.New[string]()
	for i := range levels.Items {
		exist.Insert(levels.Items[i].Name)
	}
	var errs []error
	for i := range schemas.Items {
		s := &schemas.Items[i]
		level := s.Spec.PriorityLevelConfiguration.Name
		if err := f.setDangling(ctx, s, bootstrap.Dangling(level, exist.Has(level))); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("status of flow schema %s: %w", s.Name, err))
		}
	}
	return utilerrors.NewAggregate(errs)
}

// setDangling writes a condition of a schema, unless the schema has it.
func (f *Conditions) setDangling(ctx context.Context, s *flowcontrolv1.FlowSchema, want flowcontrolv1.FlowSchemaCondition) error {
	if have := apihelpers.GetFlowSchemaConditionByType(s, want.Type); have != nil {
		want.LastTransitionTime = have.LastTransitionTime
		if *have == want {
			return nil
		}
	}
	condition := applyv1.FlowSchemaCondition().WithType(want.Type).WithStatus(want.Status).
		WithReason(want.Reason).WithMessage(want.Message).WithLastTransitionTime(metav1.Now())
	_, err := f.client.FlowSchemas().ApplyStatus(ctx, applyv1.FlowSchema(s.Name).WithStatus(applyv1.FlowSchemaStatus().WithConditions(condition)),
		metav1.ApplyOptions{FieldManager: utilflowcontrol.ConfigConsumerAsFieldManager, Force: true})
	return err
}
