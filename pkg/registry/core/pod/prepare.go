package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"

	"github.com/miniapi-dev/miniapi/pkg/registry/podspec"
)

// preparePod sets the status of a new pod, and sets fields of its spec that depend on other fields.
func preparePod(ctx context.Context, pod *corev1.Pod) {
	podLevelResources(&pod.Spec)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podspec.QOSClass(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		setPodCondition(&pod.Status, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	selectByLabelKeys(pod)
	for _, w := range podAppArmorWarnings(ctx, pod, nil) {
		warning.AddWarning(ctx, "", w)
	}
	appArmorFields(pod)
}

// preparePodStatus restores fields that an update of the status must not change, or may leave out, such as
// status.qosClass.
func preparePodStatus(_ context.Context, pod, old *corev1.Pod) {
	pod.DeletionTimestamp = nil
	// The stored owner references stay: old kubelets send owner references without an apiVersion, which the garbage
	// collector needs.
	pod.OwnerReferences = old.OwnerReferences
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
	// The fields of dynamic resource allocation stay if a client leaves them out. An empty list clears a list.
	s, was := &pod.Status, &old.Status
	if s.ResourceClaimStatuses == nil {
		s.ResourceClaimStatuses = was.ResourceClaimStatuses
	}
	if s.ExtendedResourceClaimStatus == nil {
		s.ExtendedResourceClaimStatus = was.ExtendedResourceClaimStatus
	}
	if s.NodeAllocatableResourceClaimStatuses == nil {
		s.NodeAllocatableResourceClaimStatuses = was.NodeAllocatableResourceClaimStatuses
	}
	keepObservedGenerations(&pod.Status, &old.Status)
}

// keepObservedGenerations restores observedGeneration of the status and of its conditions if a request leaves it out,
// because old clients don't send the field. If several conditions have the same type, the order determines which stored
// condition belongs to which new condition.
func keepObservedGenerations(status, old *corev1.PodStatus) {
	if status.ObservedGeneration == 0 {
		status.ObservedGeneration = old.ObservedGeneration
	}
	observed := map[corev1.PodConditionType][]int64{}
	for _, c := range old.Conditions {
		observed[c.Type] = append(observed[c.Type], c.ObservedGeneration)
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		generations := observed[c.Type]
		if len(generations) == 0 {
			continue
		}
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generations[0]
		}
		observed[c.Type] = generations[1:]
	}
}

// selectByLabelKeys adds requirements to the selectors of affinity terms and spread constraints: the keys in
// matchLabelKeys and mismatchLabelKeys, with the values of the pod's own labels (KEP-3633, KEP-3243).
func selectByLabelKeys(pod *corev1.Pod) {
	narrow := func(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator) {
		// A nil selector selects nothing, so it needs no further requirement.
		if selector == nil {
			return
		}
		for _, key := range keys {
			if value, ok := pod.Labels[key]; ok {
				selector.MatchExpressions = append(selector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range preferred {
			t := &preferred[i].PodAffinityTerm
			narrow(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
			narrow(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
		}
		for i := range required {
			t := &required[i]
			narrow(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
			narrow(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
		}
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		narrow(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}
