package pod

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-helpers/apps/poddisruptionbudget"
)

// maxDisruptedPods bounds the number of evictions that the disruption controller hasn't confirmed yet.
const maxDisruptedPods = 2000

// disruptionBudgets is the store of PodDisruptionBudgets, with the update strategy of the status.
type disruptionBudgets struct{ store *genericregistry.Store }

// of returns the budgets that select a pod.
func (b disruptionBudgets) of(ctx context.Context, pod *corev1.Pod) ([]policyv1.PodDisruptionBudget, error) {
	found, err := b.store.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	var covering []policyv1.PodDisruptionBudget
	for _, budget := range found.(*policyv1.PodDisruptionBudgetList).Items {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			// A selector that is invalid selects no pods.
			continue
		}
		if budget.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			covering = append(covering, budget)
		}
	}
	return covering, nil
}

// spend takes one disruption from a budget. It checks and writes the budget in one transaction, so that two
// evictions can't take the same disruption.
func (b disruptionBudgets) spend(ctx context.Context, name, pod string, dryRun []string) error {
	spent := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		budget := old.DeepCopyObject().(*policyv1.PodDisruptionBudget)
		if err := allowsDisruption(budget); err != nil {
			return nil, err
		}
		status := &budget.Status
		status.DisruptionsAllowed--
		if status.DisruptionsAllowed == 0 {
			poddisruptionbudget.UpdateDisruptionAllowedCondition(budget)
		}
		// The disruption controller counts the pods in disruptedPods as gone.
		if status.DisruptedPods == nil {
			status.DisruptedPods = map[string]metav1.Time{}
		}
		status.DisruptedPods[pod] = metav1.Now()
		return budget, nil
	})
	_, _, err := b.store.Update(ctx, name, spent, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{DryRun: dryRun})
	return err
}

// allowsDisruption returns nil if the budget allows a disruption now. Otherwise the error says why not.
func allowsDisruption(budget *policyv1.PodDisruptionBudget) error {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), budget.Name, errors.New(why))
	}
	switch status := &budget.Status; {
	case status.ObservedGeneration < budget.Generation:
		return budgetNotSynced(budget.Name)
	case status.DisruptionsAllowed < 0:
		return forbidden("pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisruptedPods:
		return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return overBudget(whyNotAllowed(budget), 0)
	}
	return nil
}

func whyNotAllowed(budget *policyv1.PodDisruptionBudget) string {
	status := &budget.Status
	condition := apimeta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	explained := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	switch {
	case explained && condition.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", budget.Name, condition.Message)
	case status.CurrentHealthy <= status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, status.DesiredHealthy, status.CurrentHealthy)
	case explained:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", budget.Name, condition.Reason, condition.Message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
}

func budgetNotSynced(name string) error {
	return overBudget(fmt.Sprintf("The disruption budget %s is still being processed by the server.", name), 10)
}

func overBudget(why string, retryAfterSeconds int) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfterSeconds)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}
