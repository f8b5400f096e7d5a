// Package flowschemas keeps the conditions of FlowSchemas up to date. [New] is the constructor. Don't use the package for
// API priority and fairness itself, which is in k8s.io/apiserver.
package flowschemas

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

	"github.com/miniapi-dev/miniapi/pkg/ondemand"
	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
)

// Conditions keeps the condition Dangling of each FlowSchema up to date: it is true if the schema's priority level
// doesn't exist. In kube-apiserver, the controller of API priority and fairness writes the condition, and that
// controller doesn't run in miniapi. A write of a schema or a priority level starts a check of all schemas. Without
// such a write, no goroutine runs.
type Conditions struct {
	client typedv1.FlowcontrolV1Interface
	// No check of the schemas begins before the channel bootstrapped is closed, because the default schemas don't exist
	// yet. They are created with their conditions.
	bootstrapped <-chan struct{}
	// The worker makes the checks. A write before the channel bootstrapped is closed starts the worker only the first
	// time: its check begins when the channel is closed, and sees all these writes.
	worker *ondemand.Worker
	first  sync.Once
}

// Resources are FlowSchemas and PriorityLevelConfigurations. A server that lacks one of the two needs no Conditions.
var Resources = []schema.GroupVersionResource{
	flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas"),
	flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations"),
}

// New returns a Conditions, which writes with the client until the context following ends. It writes nothing before the
// channel bootstrapped is closed.
func New(following context.Context, client typedv1.FlowcontrolV1Interface, bootstrapped <-chan struct{}) *Conditions {
	f := &Conditions{client: client, bootstrapped: bootstrapped}
	f.worker = ondemand.New(following, f.pass, nil)
	return f
}

// passes has the pauses between failed checks of the schemas. They become longer, because admission may refuse the writes.
var passes = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Cap: 30 * time.Second, Steps: 12}

// Written starts a check of all schemas after a write of a schema or of a priority level. It returns without waiting
// for the check.
func (f *Conditions) Written(resource schema.GroupResource) {
	if f == nil || resource.Group != flowcontrolv1.GroupName {
		return
	}
	select {
	case <-f.bootstrapped:
		f.worker.Notify()
	default:
		f.first.Do(f.worker.Notify)
	}
}

// pass checks the schemas until a check has succeeded, or until ctx ends.
func (f *Conditions) pass(ctx context.Context) {
	select {
	case <-f.bootstrapped:
	case <-ctx.Done():
	}
	_ = passes.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := f.reconcile(ctx)
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "the conditions of FlowSchemas aren't up to date, and are written again")
		}
		return err == nil, nil
	})
}

// Wait waits for the end of the last check. It must be called after the context of New has ended.
func (f *Conditions) Wait() {
	if f != nil {
		f.worker.Wait()
	}
}

// reconcile checks the condition Dangling of all FlowSchemas, and corrects it where it is wrong.
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

// setDangling writes the condition of a schema, unless the schema already has it.
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
