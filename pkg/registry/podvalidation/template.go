package podvalidation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// PodTemplateSpec checks a pod template.
func PodTemplateSpec(path *field.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	var f validation.Findings
	f.Merge(
		metav1validation.ValidateLabels(t.Labels, path.Child("labels")),
		apivalidation.ValidateAnnotations(t.Annotations, path.Child("annotations")),
		PodAnnotations(path.Child("annotations"), t.Annotations, &t.Spec),
		PodSpec(path.Child("spec"), &t.Spec, nil),
		ProfilesAgree(path.Child("spec"), &t.ObjectMeta, &t.Spec))
	f.AddIf(len(t.Spec.EphemeralContainers) > 0,
		field.Forbidden(path.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	return f.Errs
}

// LongRunningTemplate checks the pod template of a controller whose pods run until they are deleted. Messages name
// the controller.
func LongRunningTemplate(path *field.Path, t *corev1.PodTemplateSpec, controller string) field.ErrorList {
	return append(PodTemplateSpec(path, t), RunsOn(path, t, controller)...)
}

// RunsOn checks that the pods of a template always restart, and have no deadline.
func RunsOn(path *field.Path, t *corev1.PodTemplateSpec, controller string) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.OneOf(path.Child("spec", "restartPolicy"), t.Spec.RestartPolicy, corev1.RestartPolicyAlways))
	f.AddIf(t.Spec.ActiveDeadlineSeconds != nil, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"),
		"activeDeadlineSeconds in "+controller+" is not Supported"))
	return f.Errs
}
