package admissionpolicy

import (
	"context"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	admissionregistrationv1ac "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	informers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// typeCheckManager is the field manager of the results. kube-controller-manager uses the same name.
const typeCheckManager = "validatingadmissionpolicy-status"

// typeChecks checks the expressions of each ValidatingAdmissionPolicy against the types that the policy matches
// (KEP-3488). It writes the errors to status.typeChecking. A policy with type errors is in force too.
//
// If there is no error, an empty status stays empty, as with a kube-apiserver that runs without
// kube-controller-manager.
type typeChecks struct {
	client   kubernetes.Interface
	mapper   meta.RESTMapper
	schemas  resolver.SchemaResolver
	policies listers.ValidatingAdmissionPolicyLister
	queue    workqueue.TypedInterface[string]
}

func newTypeChecks(client kubernetes.Interface, mapper meta.RESTMapper, schemas resolver.SchemaResolver,
	policies informers.ValidatingAdmissionPolicyInformer) *typeChecks {
	c := &typeChecks{
		client:   client,
		mapper:   mapper,
		schemas:  schemas,
		policies: policies.Lister(),
		queue:    workqueue.NewTyped[string](),
	}
	enqueue := func(obj any) {
		if policy, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy); ok && policy.Generation > policy.Status.ObservedGeneration {
			c.queue.Add(policy.Name)
		}
	}
	// AddEventHandler fails only if the informer has stopped.
	_, _ = policies.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, policy any) { enqueue(policy) },
	})
	return c
}

// settling is the time from a change of a policy to its check. A policy that changes again or is deleted within it, as many do in
// tests, costs one check or none: a check resolves the schemas of all types that the policy matches.
const settling = 200 * time.Millisecond

// run checks changed policies until ctx ends.
func (c *typeChecks) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if c.queue.Len() == 0 {
			select {
			case <-time.After(settling):
			case <-ctx.Done():
			}
		}
		if err := c.check(ctx, name); err != nil && ctx.Err() == nil {
			// Don't repeat a failed check now: the next change of the policy repeats it.
			utilruntime.HandleErrorWithContext(ctx, err, "checking the types of a policy", "policy", name)
		}
		c.queue.Done(name)
	}
}

func (c *typeChecks) check(ctx context.Context, name string) error {
	policy, err := c.policies.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || policy.Generation <= policy.Status.ObservedGeneration {
		return err
	}
	checker := &validating.TypeChecker{SchemaResolver: c.schemas, RestMapper: c.mapper}
	found := checker.Check(policy)
	if len(found) == 0 && policy.Status.TypeChecking == nil {
		return nil
	}

	status := admissionregistrationv1ac.ValidatingAdmissionPolicyStatus().
		WithObservedGeneration(policy.Generation).
		WithTypeChecking(admissionregistrationv1ac.TypeChecking())
	for _, warning := range found {
		status.TypeChecking.WithExpressionWarnings(admissionregistrationv1ac.ExpressionWarning().
			WithFieldRef(warning.FieldRef).WithWarning(warning.Warning))
	}
	_, err = c.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().ApplyStatus(ctx,
		// With the UID, the apply request fails if the policy has been deleted, even if a new policy has its name.
		admissionregistrationv1ac.ValidatingAdmissionPolicy(name).WithUID(policy.UID).WithStatus(status),
		metav1.ApplyOptions{FieldManager: typeCheckManager, Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the policy has changed or is deleted: the new event leads to another check
	}
	if err != nil {
		return fmt.Errorf("updating status.typeChecking of ValidatingAdmissionPolicy %q: %w", name, err)
	}
	return nil
}

// checkedSource is a source that also runs the type checks.
type checkedSource struct {
	generic.Source[validating.PolicyHook]
	checks *typeChecks
}

// Run implements generic.Source.
func (s checkedSource) Run(ctx context.Context) error {
	var checks sync.WaitGroup
	checks.Go(func() { s.checks.run(ctx) })
	defer checks.Wait()
	return s.Source.Run(ctx)
}
