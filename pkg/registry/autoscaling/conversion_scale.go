package autoscaling

import (
	"fmt"
	"slices"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// scaleConversions convert between the Scale of autoscaling/v1 and the Scale of older groups. In autoscaling/v1,
// the selector is a string. The older groups also have the selector as a set of labels.
func scaleConversions() []conversion.Function {
	return slices.Concat(
		conversion.Both(scaleFromExtensions, scaleToExtensions),
		conversion.BothLike[appsv1beta1.Scale](scaleFromExtensions, scaleToExtensions),
		conversion.BothLike[appsv1beta2.Scale](scaleFromExtensions, scaleToExtensions))
}

func scaleFromExtensions(in *extensionsv1beta1.Scale, out *autoscalingv1.Scale) error {
	out.ObjectMeta = in.ObjectMeta
	out.Spec.Replicas = in.Spec.Replicas
	out.Status.Replicas = in.Status.Replicas
	out.Status.Selector = in.Status.TargetSelector
	if in.Status.TargetSelector == "" && in.Status.Selector != nil {
		out.Status.Selector = labels.SelectorFromSet(in.Status.Selector).String()
	}
	return nil
}

func scaleToExtensions(in *autoscalingv1.Scale, out *extensionsv1beta1.Scale) error {
	selector, err := metav1.ParseToLabelSelector(in.Status.Selector)
	if err != nil {
		return fmt.Errorf("parsing the selector of scale %q: %w", in.Name, err)
	}
	out.ObjectMeta = in.ObjectMeta
	out.Spec.Replicas = in.Spec.Replicas
	out.Status.Replicas = in.Status.Replicas
	out.Status.TargetSelector = in.Status.Selector
	if len(selector.MatchExpressions) == 0 {
		out.Status.Selector = selector.MatchLabels
	}
	return nil
}
