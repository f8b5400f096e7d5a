package printers

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scale shows the desired and the current number of replicas. It is for the scale subresources of workloads.
var Scale = Of(
	[]Column{
		Text("Name", Doc(metav1.ObjectMeta{}, "name")),
		Number("Desired", Doc(autoscalingv1.ScaleSpec{}, "replicas")),
		Number("Available", Doc(autoscalingv1.ScaleStatus{}, "replicas")),
		AgeColumn,
	},
	func(s *autoscalingv1.Scale) []any {
		return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), Since(s.CreationTimestamp)}
	})
