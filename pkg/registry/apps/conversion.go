package apps

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert kinds with fields that don't exist in apps/v1: the revision to which a Deployment is rolled
// back, and the template generation of a DaemonSet. In apps/v1, both are annotations.
func conversions() []conversion.Function {
	toV1 := conversion.Adjusted(func(in *appsv1beta1.Deployment, out *appsv1.Deployment) error {
		if in.Spec.RollbackTo == nil {
			annotate(&out.Annotations, appsv1.DeprecatedRollbackTo, nil)
			return nil
		}
		annotate(&out.Annotations, appsv1.DeprecatedRollbackTo, &in.Spec.RollbackTo.Revision)
		return nil
	})
	fromV1 := conversion.Adjusted(func(in *appsv1.Deployment, out *appsv1beta1.Deployment) error {
		revision, err := takeNumber(out.Annotations, appsv1.DeprecatedRollbackTo)
		if revision != nil {
			out.Spec.RollbackTo = &appsv1beta1.RollbackConfig{Revision: *revision}
		}
		return err
	})
	return slices.Concat(
		conversion.Both(toV1, fromV1),
		conversion.BothLike[extensionsv1beta1.Deployment](toV1, fromV1),
		[]conversion.Function{
			conversion.Renamed(func(in *extensionsv1beta1.DaemonSet, out *appsv1.DaemonSet) error {
				annotate(&out.Annotations, appsv1.DeprecatedTemplateGeneration, &in.Spec.TemplateGeneration)
				return nil
			}),
			conversion.Renamed(func(in *appsv1.DaemonSet, out *extensionsv1beta1.DaemonSet) error {
				generation, err := takeNumber(out.Annotations, appsv1.DeprecatedTemplateGeneration)
				if generation != nil {
					out.Spec.TemplateGeneration = *generation
				}
				return err
			}),
		})
}

// annotate sets an annotation to a number. If the number is nil, it removes the annotation.
func annotate(annotations *map[string]string, name string, number *int64) {
	if number == nil {
		delete(*annotations, name)
		return
	}
	if *annotations == nil {
		*annotations = map[string]string{}
	}
	(*annotations)[name] = strconv.FormatInt(*number, 10)
}

// takeNumber removes an annotation, and returns its value as a number, or nil if the annotation is missing or
// empty. A value that isn't a number is an error.
func takeNumber(annotations map[string]string, name string) (*int64, error) {
	value := annotations[name]
	delete(annotations, name)
	if value == "" {
		return nil, nil
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", name, err)
	}
	return &number, nil
}
