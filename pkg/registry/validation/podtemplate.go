package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodTemplate checks a new pod template.
func PodTemplate(o *corev1.PodTemplate) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.merge(podTemplate(field.NewPath("template"), &o.Template))
	return f.errs
}

// PodTemplateUpdate checks a pod template that replaces another.
func PodTemplateUpdate(o, old *corev1.PodTemplate) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(podTemplate(field.NewPath("template"), &o.Template))
	return f.errs
}

// podTemplate checks what pods are created from.
func podTemplate(path *field.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	var f findings
	f.merge(
		metav1validation.ValidateLabels(t.Labels, path.Child("labels")),
		apivalidation.ValidateAnnotations(t.Annotations, path.Child("annotations")),
		podAnnotations(path.Child("annotations"), t.Annotations, &t.Spec),
		podSpec(path.Child("spec"), &t.Spec, nil),
		profilesAgree(path.Child("spec"), &t.ObjectMeta, &t.Spec))
	f.addIf(len(t.Spec.EphemeralContainers) > 0,
		field.Forbidden(path.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	return f.errs
}

// longRunningTemplate is podTemplate for a controller, named in messages, whose pods
// run until they are deleted.
func longRunningTemplate(path *field.Path, t *corev1.PodTemplateSpec, controller string) field.ErrorList {
	return append(podTemplate(path, t), runsOn(path, t, controller)...)
}

func runsOn(path *field.Path, t *corev1.PodTemplateSpec, controller string) field.ErrorList {
	var f findings
	f.merge(oneOf(path.Child("spec", "restartPolicy"), t.Spec.RestartPolicy, corev1.RestartPolicyAlways))
	f.addIf(t.Spec.ActiveDeadlineSeconds != nil, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"),
		"activeDeadlineSeconds in "+controller+" is not Supported"))
	return f.errs
}
