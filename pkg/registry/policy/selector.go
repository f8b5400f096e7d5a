package policy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// emptySelectorLabel stands in the selectors of PodDisruptionBudgets for what an
// empty one means in the other version: nothing in policy/v1beta1, all in v1.
const emptySelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropEmptySelectorLabel removes every requirement about emptySelectorLabel.
func dropEmptySelectorLabel(s *metav1.LabelSelector) {
	if s != nil {
		s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == emptySelectorLabel
		})
	}
}
