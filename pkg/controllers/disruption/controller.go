// Package disruption is the controller disruption-controller: it writes into the status of each PodDisruptionBudget
// how many of its pods may be evicted.
//
// [New] starts the controller. The eviction subresource of pods decrements that number.
package disruption

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "disruption-controller"
	// Component is the source of the controller's events.
	Component = "controllermanager"

	// deletionTimeout is the time for which an evicted pod counts as gone although it isn't deleted yet.
	// staleTimeout is the time after which the controller sets the condition DisruptionTarget of an evicted pod to
	// false, if the pod isn't deleted.
	deletionTimeout = 2 * time.Minute
	staleTimeout    = 2 * time.Minute
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	// Client writes PodDisruptionBudgets. PodClient writes pods.
	Client    policyv1client.PodDisruptionBudgetsGetter
	PodClient corev1client.PodsGetter
	Events    *eventrecorder.Recorder
	// Scales reads the number of replicas of the pods' controllers.
	Scales Scales
	// Budgets and Pods are the informers of PodDisruptionBudgets and pods.
	Budgets, Pods cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{Config: config}
	c.budgets = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Do: c.sync})
	c.stale = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Do: c.resetStale})
	return work.Enqueue(
		work.Events{Informer: config.Budgets, Changed: func(o metav1.Object) { c.budgets.Add(keyOf(o)) }},
		work.Events{Informer: config.Pods, Changed: c.podChanged, Deleted: c.podDeleted},
	)
}

type controller struct {
	Config
	budgets *work.Queue[string]
	// stale has pods whose condition DisruptionTarget must be checked later.
	stale *work.Queue[string]
}

func keyOf(o metav1.Object) string { return cache.MetaObjectToName(o).String() }

func (c *controller) podChanged(o metav1.Object) {
	c.podDeleted(o)
	if pod, ok := o.(*corev1.Pod); ok {
		if after, has := staleAfter(pod); has {
			c.stale.AddAfter(keyOf(pod), after)
		}
	}
}

// podDeleted queues the budget that selects a pod. If several budgets select the pod, podDeleted queues one of them
// and records a warning event.
func (c *controller) podDeleted(o metav1.Object) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	matching := c.budgetsOf(pod)
	if len(matching) == 0 {
		return
	}
	c.budgets.Add(keyOf(matching[0]))
	if len(matching) > 1 {
		c.Events.Warn(pod, "MultiplePodDisruptionBudgets", "Pod %q/%q matches multiple PodDisruptionBudgets.  Chose %q arbitrarily.", pod.Namespace, pod.Name, matching[0].Name)
	}
}

func (c *controller) budgetsOf(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	all, err := c.Budgets.GetIndexer().ByIndex(cache.NamespaceIndex, pod.Namespace)
	if err != nil {
		return nil // the error is impossible: the index exists
	}
	var matching []*policyv1.PodDisruptionBudget
	for _, obj := range all {
		budget, ok := obj.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err == nil && selector.Matches(labels.Set(pod.Labels)) {
			matching = append(matching, budget)
		}
	}
	return matching
}

// sync writes the status of a budget. If the status can't be computed, the budget allows no eviction.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Budgets.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	budget := obj.(*policyv1.PodDisruptionBudget)
	again, err := c.writeStatus(ctx, budget)
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || ctx.Err() != nil {
		return again, work.IgnoreGone(err)
	}
	failed := budget.DeepCopy()
	failed.Status.DisruptionsAllowed = 0
	meta.SetStatusCondition(&failed.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
		Message: err.Error(), ObservedGeneration: failed.Status.ObservedGeneration,
	})
	if equality.Semantic.DeepEqual(failed.Status, budget.Status) {
		return 0, nil
	}
	return 0, c.update(ctx, failed)
}

func (c *controller) writeStatus(ctx context.Context, budget *policyv1.PodDisruptionBudget) (again time.Duration, err error) {
	pods, err := c.podsOf(budget)
	if err != nil {
		c.Events.Warn(budget, "NoPods", "Failed to get pods: %v", err)
		return 0, err
	}
	if len(pods) == 0 {
		c.Events.Tell(budget, "NoPods", "No matching pods found")
	}
	expected, err := c.expect(ctx, budget, pods)
	if err != nil {
		c.Events.Warn(budget, "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: %v", err)
		return 0, err
	}
	if expected.unmanaged {
		c.Events.Warn(budget, "UnmanagedPods", "Pods selected by this PodDisruptionBudget (selector: %v) were found "+
			"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" "+
			"field of the PDB to an integer value.", budget.Spec.Selector)
	}
	now := time.Now()
	disrupted, again := c.disrupted(budget, pods, now)
	healthy := countHealthy(pods, disrupted)
	allowed := max(0, healthy-expected.healthy)
	if expected.pods <= 0 {
		allowed = 0 // a budget may be older than its pods, so without expected pods it allows no eviction
	}
	changed := budget.DeepCopy()
	changed.Status = policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: healthy, DesiredHealthy: expected.healthy, ExpectedPods: expected.pods, DisruptionsAllowed: allowed,
		DisruptedPods: disrupted, ObservedGeneration: budget.Generation, Conditions: changed.Status.Conditions,
	}
	condition := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: budget.Generation,
	}
	if allowed > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	meta.SetStatusCondition(&changed.Status.Conditions, condition)
	if equality.Semantic.DeepEqual(changed.Status, budget.Status) {
		return again, nil
	}
	return again, c.update(ctx, changed)
}

func (c *controller) update(ctx context.Context, budget *policyv1.PodDisruptionBudget) error {
	_, err := c.Client.PodDisruptionBudgets(budget.Namespace).UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	return err
}

func (c *controller) podsOf(budget *policyv1.PodDisruptionBudget) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	err = cache.ListAllByNamespace(c.Pods.GetIndexer(), budget.Namespace, selector, func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	})
	return pods, err
}

// disrupted returns the evicted pods of a budget whose deletion hasn't begun. Such a pod counts as gone until
// deletionTimeout has passed since its eviction. The second result is the time until deletionTimeout has passed for the
// first of these pods, or 0 if there is no such pod.
func (c *controller) disrupted(budget *policyv1.PodDisruptionBudget, pods []*corev1.Pod, now time.Time) (map[string]metav1.Time, time.Duration) {
	var again time.Duration
	disrupted := map[string]metav1.Time{}
	for _, pod := range pods {
		since, found := budget.Status.DisruptedPods[pod.Name]
		if !found || pod.DeletionTimestamp != nil {
			continue
		}
		left := since.Add(deletionTimeout).Sub(now)
		if left < 0 {
			c.Events.Warn(pod, "NotDeleted", "Pod was expected by PDB %s/%s to be deleted but it wasn't", budget.Namespace, budget.Namespace)
			continue
		}
		disrupted[pod.Name] = since
		if again == 0 || left < again {
			again = left
		}
	}
	return disrupted, again
}

func countHealthy(pods []*corev1.Pod, disrupted map[string]metav1.Time) (healthy int32) {
	for _, pod := range pods {
		_, gone := disrupted[pod.Name]
		if pod.DeletionTimestamp == nil && !gone && isReady(pod) {
			healthy++
		}
	}
	return healthy
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

func isReady(pod *corev1.Pod) bool {
	ready := conditionOf(pod, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// staleAfter returns the time until the condition DisruptionTarget of a pod becomes stale. It returns false if the
// condition can't become stale, for example because the pod has no such condition or is being deleted.
func staleAfter(pod *corev1.Pod) (after time.Duration, has bool) {
	target := conditionOf(pod, corev1.DisruptionTarget)
	if pod.DeletionTimestamp != nil || target == nil || target.Status != corev1.ConditionTrue || target.Reason == corev1.PodReasonTerminationByKubelet ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0, false
	}
	return max(0, time.Until(target.LastTransitionTime.Add(staleTimeout))), true
}

// resetStale sets the condition DisruptionTarget of a pod to false, if the pod wasn't deleted after its eviction.
func (c *controller) resetStale(ctx context.Context, key string) (time.Duration, error) {
	obj, exists, err := c.Pods.GetStore().GetByKey(key)
	if err != nil || !exists {
		return 0, err
	}
	pod := obj.(*corev1.Pod).DeepCopy()
	after, has := staleAfter(pod)
	if !has || after > 0 {
		return after, nil
	}
	*conditionOf(pod, corev1.DisruptionTarget) = corev1.PodCondition{
		Type: corev1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(),
	}
	_, err = c.PodClient.Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return 0, work.IgnoreGone(err)
}
