package pod_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"
)

// evictable returns a pod with the label app=a.
func evictable(name string, phase corev1.PodPhase, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{
			Phase:      phase,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	}
}

// budgetFor returns a budget that selects app=a, with a status. If the status has no observedGeneration, the
// observedGeneration becomes 1, the generation of a new budget.
func budgetFor(name string, status policyv1.PodDisruptionBudgetStatus) *policyv1.PodDisruptionBudget {
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = 1
	}
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     status,
	}
}

func evict(s stored, name string, options *metav1.DeleteOptions, dryRun ...string) (runtime.Object, error) {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}, DeleteOptions: options}
	return s.subresource("eviction").(rest.NamedCreater).Create(s.Context, name, eviction, rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
}

const evictionSuccess = "Success"

// outcome returns the result of an eviction as text. A refusal includes the delay after which the client shall
// retry.
func outcome(obj runtime.Object, err error) string {
	var refused *apierrors.StatusError
	switch {
	case errors.As(err, &refused) && refused.ErrStatus.Details != nil && len(refused.ErrStatus.Details.Causes) == 1:
		return fmt.Sprintf("%d in %ds: %s", refused.ErrStatus.Code, refused.ErrStatus.Details.RetryAfterSeconds, refused.ErrStatus.Details.Causes[0].Message)
	case err != nil:
		return err.Error()
	}
	status := obj.(*metav1.Status)
	if status.Message != "" {
		return fmt.Sprintf("%d: %s", status.Code, status.Message)
	}
	return status.Status
}

func TestEviction(t *testing.T) {
	t.Parallel()
	healthy := policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1}
	spent := policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1}
	allowUnready := budgetFor("b", policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1})
	allowUnready.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	unobserved := budgetFor("b", healthy)
	unobserved.Status.ObservedGeneration = -1
	other := budgetFor("b", spent)
	other.Spec.Selector.MatchLabels["app"] = "other"
	failed := budgetFor("b", policyv1.PodDisruptionBudgetStatus{Conditions: []metav1.Condition{{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason,
		Message:            "no controller",
		LastTransitionTime: metav1.Unix(0, 0),
	}}})

	for _, test := range []struct {
		name, reason string
		pod          *corev1.Pod
		budgets      []*policyv1.PodDisruptionBudget
		options      *metav1.DeleteOptions
		dryRun       []string
		want         string
		evicted      bool
		left         int32
	}{
		{
			name: "no budget", reason: "the budget selects other pods",
			pod: evictable("p", corev1.PodRunning, corev1.ConditionTrue), budgets: []*policyv1.PodDisruptionBudget{other},
			want: evictionSuccess, evicted: true,
		},
		{
			name: "allowed", reason: "the eviction uses the only disruption that the budget allows",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionTrue),
			budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", healthy)},
			want:    evictionSuccess, evicted: true, left: 0,
		},
		{
			name: "dry run", reason: "a dry run is checked and uses no disruption",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionTrue),
			budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", healthy)},
			dryRun:  []string{metav1.DryRunAll}, want: evictionSuccess, left: 1,
		},
		{
			name: "spent", reason: "the server can't tell when the budget allows the next disruption",
			pod: evictable("p", corev1.PodRunning, corev1.ConditionTrue), budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", spent)},
			want: "429 in 0s: The disruption budget b needs 1 healthy pods and has 1 currently",
		},
		{
			name: "not observed", reason: "a status that is older than the spec does not describe the spec",
			pod: evictable("p", corev1.PodRunning, corev1.ConditionTrue), budgets: []*policyv1.PodDisruptionBudget{unobserved},
			want: "429 in 10s: The disruption budget b is still being processed by the server.", left: 1,
		},
		{
			name: "failed sync", reason: "the message must not quote numbers that the controller has not counted",
			pod: evictable("p", corev1.PodRunning, corev1.ConditionTrue), budgets: []*policyv1.PodDisruptionBudget{failed},
			want: "429 in 0s: The disruption budget b does not allow evicting pods currently because it failed sync: no controller",
		},
		{
			name: "two budgets", reason: "the storage can't update two budgets in one transaction",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionTrue),
			budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", healthy), budgetFor("c", healthy)},
			want:    "500: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", left: 1,
		},
		{
			name: "pending", reason: "the eviction of a pod that does not run yet disrupts nothing",
			pod: evictable("p", corev1.PodPending, corev1.ConditionFalse), budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", spent)},
			want: evictionSuccess, evicted: true,
		},
		{
			name: "ended", reason: "the eviction of a pod that has ended disrupts nothing",
			pod: evictable("p", corev1.PodFailed, corev1.ConditionFalse), budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", spent)},
			want: evictionSuccess, evicted: true,
		},
		{
			name: "unready, enough others", reason: "the budget counts ready pods only, and the other pods are enough",
			pod: evictable("p", corev1.PodRunning, corev1.ConditionFalse), budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", spent)},
			want: evictionSuccess, evicted: true,
		},
		{
			name: "unready, too few others", reason: "the unready pod could become ready and be counted by the budget",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionFalse),
			budgets: []*policyv1.PodDisruptionBudget{budgetFor("b", policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1})},
			want:    "429 in 0s: The disruption budget b needs 1 healthy pods and has 0 currently",
		},
		{
			name: "unready, always allowed", reason: "the budget has the policy AlwaysAllow for unready pods",
			pod: evictable("p", corev1.PodRunning, corev1.ConditionFalse), budgets: []*policyv1.PodDisruptionBudget{allowUnready},
			want: evictionSuccess, evicted: true,
		},
		{
			name: "another uid", reason: "the uid of the precondition belongs to another pod",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionTrue),
			options: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("x"))}},
			want:    "conflict",
		},
		{
			name: "unreadable object", reason: "an eviction reads the pod, so it can't delete one that the server can't read",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionTrue),
			options: &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)},
			want:    "422 in 0s: Invalid value: true: can not be set for pod eviction, try after removing the option",
		},
		{
			name: "two dry runs", reason: "the request and its options disagree about the dry run",
			pod:     evictable("p", corev1.PodRunning, corev1.ConditionTrue),
			options: &metav1.DeleteOptions{DryRun: []string{"Some"}}, dryRun: []string{metav1.DryRunAll},
			want: "Non-matching dry-run options in request and content: [All] and [Some]",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newStored(t)
			s.Put(corev1.Resource("pods"), test.pod)
			for _, b := range test.budgets {
				s.Put(policyv1.Resource("poddisruptionbudgets"), b.DeepCopy())
			}
			obj, err := evict(s, "p", test.options, test.dryRun...)
			got := outcome(obj, err)
			if apierrors.IsConflict(err) {
				got = "conflict"
			}
			if got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.reason, got, test.want)
			}
			if _, err := s.pod("p"); apierrors.IsNotFound(err) != test.evicted {
				t.Errorf("%s: evicted is %t, want %t", test.reason, apierrors.IsNotFound(err), test.evicted)
			}
			for _, b := range test.budgets {
				if left := s.budget(b.Name).Status.DisruptionsAllowed; left != test.left {
					t.Errorf("%s: %d disruptions left of budget %s, want %d", test.reason, left, b.Name, test.left)
				}
			}
		})
	}
}

func TestEvictionIsRecorded(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	p := evictable("p", corev1.PodRunning, corev1.ConditionTrue)
	p.Finalizers = []string{"example.com/keep"}
	p.Generation, p.Status.ObservedGeneration = 1, 1 // The condition has no observedGeneration.
	s.Put(corev1.Resource("pods"), p)
	s.Put(policyv1.Resource("poddisruptionbudgets"), budgetFor("b", policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1}))
	if got := outcome(evict(s, "p", nil)); got != evictionSuccess {
		t.Fatal(got)
	}
	evicted, err := s.pod("p")
	if err != nil {
		t.Fatal(err)
	}
	if evicted.DeletionTimestamp == nil {
		t.Error("the pod isn't being deleted")
	}
	var got corev1.PodCondition
	for _, c := range evicted.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			got = c
		}
	}
	got.LastTransitionTime = metav1.Time{}
	want := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("condition of the evicted pod (-want +got):\n%s", diff)
	}
	status := s.budget("b").Status
	if _, counted := status.DisruptedPods["p"]; !counted {
		t.Error("the budget doesn't name the pod among the disrupted ones")
	}
	if len(status.Conditions) != 1 || status.Conditions[0].Reason != policyv1.InsufficientPodsReason {
		t.Errorf("conditions of the budget: %v", status.Conditions)
	}
}

func TestEvictionsSpendEachDisruptionOnce(t *testing.T) {
	t.Parallel()
	const pods, allowed = 8, 3
	s := newStored(t)
	s.Put(policyv1.Resource("poddisruptionbudgets"), budgetFor("b", policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed}))
	for i := range pods {
		s.Put(corev1.Resource("pods"), evictable(fmt.Sprint("p", i), corev1.PodRunning, corev1.ConditionTrue))
	}
	var evicted atomic.Int32
	var all sync.WaitGroup
	for i := range pods {
		all.Go(func() {
			if _, err := evict(s, fmt.Sprint("p", i), nil); err == nil {
				evicted.Add(1)
			}
		})
	}
	all.Wait()
	if got := evicted.Load(); got != allowed {
		t.Errorf("%d of %d pods were evicted at the same time, want %d", got, pods, allowed)
	}
}

func TestEvictionIsAdmitted(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}}
	denied := errors.New("denied")
	var admitted runtime.Object
	_, err := s.subresource("eviction").(rest.NamedCreater).Create(s.Context, "p", eviction, func(_ context.Context, obj runtime.Object) error {
		admitted = obj
		return denied
	}, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !errors.Is(err, denied) {
		t.Errorf("a pod that isn't there: %v, but admission comes first", err)
	}
	if diff := cmp.Diff(eviction, admitted); diff != "" {
		t.Errorf("what is admitted (-want +got):\n%s", diff)
	}
}
