package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// podTemplateKind is the row of podtemplates in the server's table of kinds.
var podTemplateKind = registry.Kind{
	Resource:   "podtemplates",
	Namespaced: true,
	Object:     &corev1.PodTemplate{}, List: &corev1.PodTemplateList{},
	Defaults:      []registry.Default{registry.DefaultOf(defaultPodTemplate)},
	Shape:         podrules.ShapeOf("template.spec", func(t *corev1.PodTemplate) *corev1.PodSpec { return &t.Template.Spec }),
	Generation:    true,
	ReturnDeleted: true,
	Printer:       &podTemplateColumns,
	Hooks: registry.HooksOf[*corev1.PodTemplate]{
		Validate:       validatePodTemplate,
		ValidateUpdate: validatePodTemplateUpdate,
		Warnings:       podTemplateWarnings,
	},
}

func defaultPodTemplate(t *corev1.PodTemplate) {
	defaults.PodTemplateSpec(&t.Template)
}

// validatePodTemplate checks a new pod template.
func validatePodTemplate(o *corev1.PodTemplate) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(podvalidation.PodTemplateSpec(field.NewPath("template"), &o.Template))
	return f.Errs
}

func validatePodTemplateUpdate(o, old *corev1.PodTemplate) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(podvalidation.PodTemplateSpec(field.NewPath("template"), &o.Template))
	return f.Errs
}

// podTemplateColumns makes the rows of kubectl get. They show the containers.
var podTemplateColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.ContainersColumn,
		printers.ImagesColumn,
		printers.Text("Pod Labels", "The labels for the pod template."),
	},
	func(t *corev1.PodTemplate) []any {
		containers := t.Template.Spec.Containers
		return []any{t.Name, printers.ContainerNames(containers), printers.ContainerImages(containers), labels.FormatLabels(t.Template.Labels)}
	})

func podTemplateWarnings(_ context.Context, t, old *corev1.PodTemplate) []string {
	var l warnings.List
	if old == nil || warnings.Changed(t, old) {
		l.PodTemplate(field.NewPath("template"), &t.Template)
	}
	return l
}
