package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// emptySelectorLabel is a label that pods don't have. The empty selector of a PodDisruptionBudget selects
// no pods in policy/v1beta1, and all pods in policy/v1. To keep the meaning, the conversions replace the
// empty selector by a requirement about this label. The operator Exists selects no pods, and the operator
// DoesNotExist selects all pods.
const emptySelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropEmptySelectorLabel removes every requirement about emptySelectorLabel.
func dropEmptySelectorLabel(s *metav1.LabelSelector) {
	if s != nil {
		s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == emptySelectorLabel
		})
	}
}
