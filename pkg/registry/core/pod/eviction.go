package pod

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
)

// evictionREST serves pods/eviction. An eviction deletes a pod, if the pod's disruption budget allows the deletion.
// See https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/.
type evictionREST struct {
	// pods is the store of pods, with the update strategy of pods/status.
	pods    *genericregistry.Store
	budgets disruptionBudgets
}

var (
	_ rest.NamedCreater             = &evictionREST{}
	_ rest.GroupVersionKindProvider = &evictionREST{}
	_ rest.GroupVersionAcceptor     = &evictionREST{}
)

func newEviction(pods *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	budgets, err := deps.StoreOf(policyv1.Resource("poddisruptionbudgets"))
	if err != nil {
		return nil, err
	}
	return &evictionREST{pods.With(registry.StatusStrategy{Strategy: pods.Strategy}), disruptionBudgets{budgets.With(registry.StatusStrategy{Strategy: budgets.Strategy})}}, nil
}

func (r *evictionREST) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy does nothing, because the stores belong to other resources, whose storages destroy them.
func (r *evictionREST) Destroy() {}

// GroupVersionKind returns the kind of evictions. It is in another group than pods.
func (r *evictionREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return policyv1.SchemeGroupVersion.WithKind("Eviction")
}

// AcceptsGroupVersion accepts an Eviction in both versions of the group policy, and in the core group's v1.
func (r *evictionREST) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv == policyv1.SchemeGroupVersion || gv == policyv1beta1.SchemeGroupVersion || gv == corev1.SchemeGroupVersion
}

// Create evicts the pod in the path of the request.
func (r *evictionREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	eviction, ok := obj.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Eviction object: %T", obj))
	}
	if name != eviction.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if o := eviction.DeleteOptions; o != nil && ptr.Deref(o.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		path := field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential")
		return nil, apierrors.NewInvalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), name,
			field.ErrorList{field.Invalid(path, true, "can not be set for pod eviction, try after removing the option")})
	}
	deletion, err := evictionDeleteOptions(eviction, options)
	if err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, eviction.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	pod, err := r.deleteUnguarded(ctx, name, deletion)
	if err != nil {
		return nil, err
	}
	if pod != nil {
		if refused, err := r.deleteGuarded(ctx, pod, deletion); refused != nil || err != nil {
			return refused, err
		}
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// evictionDeleteOptions returns the delete options of an eviction. A dry run of the request makes the deletion a
// dry run.
func evictionDeleteOptions(eviction *policyv1.Eviction, options *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	deletion := eviction.DeleteOptions
	switch {
	case deletion == nil:
		return &metav1.DeleteOptions{DryRun: options.DryRun}, nil
	case len(deletion.DryRun) == 0:
		deletion.DryRun = options.DryRun
	case len(options.DryRun) != 0 && !slices.Equal(options.DryRun, deletion.DryRun):
		return nil, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", options.DryRun, deletion.DryRun)
	}
	return deletion, nil
}

// deleteUnguarded deletes a pod to which no budget applies, because the pod has ended, hasn't started, or is being
// deleted. For any other pod, it deletes nothing and returns the pod.
func (r *evictionREST) deleteUnguarded(ctx context.Context, name string, options *metav1.DeleteOptions) (guarded *corev1.Pod, err error) {
	unconditional := resourceVersionOf(options) == nil
	again := func(err error) bool { return unconditional && apierrors.IsConflict(err) }
	err = retry.OnError(wait.Backoff{Steps: 20}, again, func() error {
		pod, err := connect.GetPod(ctx, r.pods, name)
		if err != nil {
			return err
		}
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || !pod.DeletionTimestamp.IsZero()
		if !ended && pod.Status.Phase != corev1.PodPending {
			guarded = pod
			return nil
		}
		if !ended && unconditional {
			// The precondition makes the deletion fail if the pod has changed, for example because the pod is ready
			// now. The retry then reads the pod again.
			return r.delete(ctx, name, atResourceVersion(options, pod.ResourceVersion))
		}
		return r.delete(ctx, name, options)
	})
	return guarded, err
}

// deleteGuarded deletes a pod if it has no budget, or if its budget allows the deletion. If the pod has several
// budgets, the result is a Status with an error.
func (r *evictionREST) deleteGuarded(ctx context.Context, pod *corev1.Pod, options *metav1.DeleteOptions) (runtime.Object, error) {
	budgets, err := r.budgets.of(ctx, pod)
	if err != nil {
		return nil, err
	}
	if len(budgets) == 0 {
		return nil, r.delete(ctx, pod.Name, options)
	}
	if len(budgets) > 1 {
		return &metav1.Status{
			Status:  metav1.StatusFailure,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
			Code:    500,
		}, nil
	}
	budget := &budgets[0]
	if !evictableUnready(pod, budget) {
		if err := r.budgets.spend(ctx, budget.Name, pod.Name, options.DryRun); err != nil {
			return nil, err
		}
		return nil, r.delete(ctx, pod.Name, options)
	}
	err = r.delete(ctx, pod.Name, atResourceVersion(options, pod.ResourceVersion))
	if apierrors.IsConflict(err) && resourceVersionOf(options) == nil {
		// The pod has changed, and the budget may now apply to it.
		err = budgetNotSynced(budget.Name)
	}
	return nil, err
}

// delete sets the pod's condition DisruptionTarget, and then deletes the pod. A dry run doesn't set the condition.
func (r *evictionREST) delete(ctx context.Context, name string, options *metav1.DeleteOptions) error {
	if !dryrun.IsDryRun(options.DryRun) {
		updated, _, err := r.pods.Update(ctx, name, disrupted(options.Preconditions), rest.ValidateAllObjectFunc,
			rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		if resourceVersionOf(options) != nil {
			options = atResourceVersion(options, registry.MetaOf(updated).GetResourceVersion())
		}
	}
	_, _, err := r.pods.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
	return err
}

// disrupted returns the update that sets the condition DisruptionTarget of a stored pod (KEP-3329). The update fails
// if the pod doesn't meet the preconditions.
func disrupted(preconditions *metav1.Preconditions) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		pod := old.DeepCopyObject().(*corev1.Pod)
		conflict := func(format string, args ...any) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "Pod"}, pod.Name, fmt.Errorf(format, args...))
		}
		if p := preconditions; p != nil {
			if p.UID != nil && *p.UID != "" && *p.UID != pod.UID {
				return nil, conflict("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, pod.UID)
			}
			if p.ResourceVersion != nil && *p.ResourceVersion != "" && *p.ResourceVersion != pod.ResourceVersion {
				return nil, conflict("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, pod.ResourceVersion)
			}
		}
		setPodCondition(&pod.Status, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		return pod, nil
	})
}

// evictableUnready reports whether a pod that isn't ready can be evicted without taking a disruption from its
// budget. unhealthyPodEvictionPolicy of the budget selects the rule (KEP-3017).
func evictableUnready(pod *corev1.Pod, budget *policyv1.PodDisruptionBudget) bool {
	if podConditionTrue(pod, corev1.PodReady) {
		return false
	}
	if p := budget.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.DesiredHealthy > 0 && budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy
}

func resourceVersionOf(options *metav1.DeleteOptions) *string {
	if options.Preconditions == nil {
		return nil
	}
	return options.Preconditions.ResourceVersion
}

// atResourceVersion returns the options with a precondition on the resourceVersion.
func atResourceVersion(options *metav1.DeleteOptions, resourceVersion string) *metav1.DeleteOptions {
	options = options.DeepCopy()
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	options.Preconditions.ResourceVersion = &resourceVersion
	return options
}
