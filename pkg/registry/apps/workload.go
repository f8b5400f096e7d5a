package apps

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

const (
	// revisionHistoryLimit is the default number of old revisions that a workload keeps.
	revisionHistoryLimit int32 = 10
	// progressDeadlineSeconds is the default time after which a rollout without progress has failed.
	progressDeadlineSeconds int32 = 600
)

// selectorOf sets a missing selector of a workload, and missing labels of the workload, to the labels of its pod
// template. The argument "template" has the labels of the pod template, and "object" has the labels of the workload.
// Only versions before apps/v1beta2 have these defaults.
func selectorOf(template map[string]string, selector **metav1.LabelSelector, object *map[string]string) {
	if template != nil {
		defaults.Pointer(selector, metav1.LabelSelector{MatchLabels: template})
	}
	defaults.LabelsOf(template, object)
}

// requiredSelector checks that a selector exists, is valid, and isn't empty.
func requiredSelector(path *field.Path, s *metav1.LabelSelector, kind string) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := validation.LabelSelector(path, s)
	if isEmptySelector(s) {
		errs = append(errs, field.Invalid(path, s, "empty selector is invalid for "+kind))
	}
	return errs
}

func isEmptySelector(s *metav1.LabelSelector) bool {
	return len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

var zero = intstr.FromInt32(0)

// replicaTemplate checks the pod template of a workload that keeps a number of pods running.
func replicaTemplate(spec *field.Path, s *metav1.LabelSelector, t *corev1.PodTemplateSpec) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return field.ErrorList{field.Invalid(spec.Child("selector"), s, "invalid label selector")}
	}
	template := spec.Child("template")
	return append(validation.SelectsTemplate(template, selector, t.Labels), podvalidation.LongRunningTemplate(template, t, "ReplicaSet")...)
}

func isZero(v intstr.IntOrString) bool {
	if n, isPercent := validation.Percent(v); isPercent {
		return n == 0
	}
	return v.IntValue() == 0
}

// collisions checks status.collisionCount, which can't decrease.
func collisions(path *field.Path, now, was *int32) field.ErrorList {
	switch {
	case now == nil && was != nil:
		return field.ErrorList{field.Invalid(path, int32(0), "cannot be decremented")}
	case now != nil && was != nil && *now < *was:
		return field.ErrorList{field.Invalid(path, *now, "cannot be decremented")}
	}
	return nil
}
