package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// emptySelectorLabel is a label that pods don't have. If the selector of a PodDisruptionBudget has a requirement
// about this label, the selector has the same meaning as the empty selector in the other version. The empty
// selector selects nothing in policy/v1beta1, and everything in policy/v1.
const emptySelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropEmptySelectorLabel removes every requirement about emptySelectorLabel.
func dropEmptySelectorLabel(s *metav1.LabelSelector) {
	if s != nil {
		s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == emptySelectorLabel
		})
	}
}
