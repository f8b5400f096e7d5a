package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert PodDisruptionBudgets. An empty selector selects no pods in v1beta1, and all pods in v1. To
// keep the meaning, a conversion replaces the empty selector by a requirement about emptySelectorLabel, a label
// that pods don't have.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(func(in *policyv1beta1.PodDisruptionBudget, out *policyv1.PodDisruptionBudget) error {
			switch selector := in.Spec.Selector; {
			case equality.Semantic.DeepEqual(selector, &metav1.LabelSelector{}):
				out.Spec.Selector = emptySelector(metav1.LabelSelectorOpExists)
			case equality.Semantic.DeepEqual(selector, emptySelector(metav1.LabelSelectorOpDoesNotExist)):
				out.Spec.Selector = &metav1.LabelSelector{}
			default:
				dropEmptySelectorLabel(out.Spec.Selector)
			}
			return nil
		}),
		conversion.Renamed(func(in *policyv1.PodDisruptionBudget, out *policyv1beta1.PodDisruptionBudget) error {
			switch selector := in.Spec.Selector; {
			case equality.Semantic.DeepEqual(selector, &metav1.LabelSelector{}):
				out.Spec.Selector = emptySelector(metav1.LabelSelectorOpDoesNotExist)
			case equality.Semantic.DeepEqual(selector, emptySelector(metav1.LabelSelectorOpExists)):
				out.Spec.Selector = &metav1.LabelSelector{}
			default:
				dropEmptySelectorLabel(out.Spec.Selector)
			}
			return nil
		}),
	}
}

// emptySelector returns a selector with one requirement about emptySelectorLabel. Pods don't have the label. The
// operator Exists selects no pods, and the operator DoesNotExist selects all pods.
func emptySelector(operator metav1.LabelSelectorOperator) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: emptySelectorLabel, Operator: operator,
	}}}
}
