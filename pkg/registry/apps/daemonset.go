package apps

import (
	"context"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podrules"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// daemonSetKind is the row of daemonsets in the server's table of kinds.
var daemonSetKind = registry.Kind{
	Resource:   "daemonsets",
	ShortNames: []string{"ds"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &appsv1.DaemonSet{}, List: &appsv1.DaemonSetList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultDaemonSet),
		registry.DefaultLike[appsv1beta2.DaemonSet](defaultDaemonSet),
		registry.DefaultOf(defaultDaemonSetExtensionsV1beta1),
	},
	Canonical:     registry.CanonicalOf(canonicalDaemonSet),
	Shape:         podrules.ShapeOf("spec.template.spec", func(d *appsv1.DaemonSet) *corev1.PodSpec { return &d.Spec.Template.Spec }),
	Status:        true,
	Generation:    true,
	OrphanThrough: []schema.GroupVersion{extensionsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
	Printer:       &daemonSetColumns,
	Hooks: registry.HooksOf[*appsv1.DaemonSet]{
		PrepareForCreate:       startTemplateGeneration,
		PrepareForUpdate:       countTemplateGeneration,
		PrepareForStatusUpdate: keepTemplateGeneration,
		Validate:               validateDaemonSet,
		ValidateUpdate:         validateDaemonSetUpdate,
		ValidateStatusUpdate:   validateDaemonSetStatusUpdate,
		Warnings:               daemonSetWarnings,
	},
}

// defaultDaemonSet sets the defaults of a DaemonSet. The generation of its template isn't a field of apps/v1: the
// server keeps it in an annotation.
func defaultDaemonSet(d *appsv1.DaemonSet) {
	if _, ok := d.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, "0")
	}
	defaults.Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	strategy := &d.Spec.UpdateStrategy
	defaults.Zero(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		defaults.Pointer(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	if strategy.RollingUpdate != nil { // of any strategy: in kube-apiserver's own type, the numbers are no pointers
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
		defaults.Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	defaults.PodTemplateSpec(&d.Spec.Template)
}

// defaultDaemonSetExtensionsV1beta1 sets the defaults of an extensions/v1beta1 DaemonSet. By default, the
// controller doesn't replace pods when the template changes.
func defaultDaemonSetExtensionsV1beta1(d *extensionsv1beta1.DaemonSet) {
	selectorOf(d.Spec.Template.Labels, &d.Spec.Selector, &d.Labels)
	defaults.Pointer(&d.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	strategy := &d.Spec.UpdateStrategy
	defaults.Zero(&strategy.Type, extensionsv1beta1.OnDeleteDaemonSetStrategyType)
	if strategy.Type == extensionsv1beta1.RollingUpdateDaemonSetStrategyType {
		defaults.Pointer(&strategy.RollingUpdate, extensionsv1beta1.RollingUpdateDaemonSet{})
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	if strategy.RollingUpdate != nil { // of any strategy: in kube-apiserver's own type, the numbers are no pointers
		defaults.Pointer(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
		defaults.Pointer(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	defaults.PodTemplateSpec(&d.Spec.Template)
}

func validateDaemonSet(o *appsv1.DaemonSet) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(daemonSetSpec(validation.SpecPath, &o.Spec))
	return f.Errs
}

func validateDaemonSetUpdate(o, old *appsv1.DaemonSet) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Unchanged(validation.SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector), daemonSetSpec(validation.SpecPath, &o.Spec))
	return f.Errs
}

func validateDaemonSetStatusUpdate(o, old *appsv1.DaemonSet) field.ErrorList {
	s, path := &o.Status, validation.StatusPath
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(
		validation.Counts(path, validation.CountOf("currentNumberScheduled", int64(s.CurrentNumberScheduled)), validation.CountOf("numberMisscheduled", int64(s.NumberMisscheduled)),
			validation.CountOf("desiredNumberScheduled", int64(s.DesiredNumberScheduled)), validation.CountOf("numberReady", int64(s.NumberReady)),
			validation.CountOf("observedGeneration", s.ObservedGeneration), validation.CountOf("updatedNumberScheduled", int64(s.UpdatedNumberScheduled)),
			validation.CountOf("numberAvailable", int64(s.NumberAvailable)), validation.CountOf("numberUnavailable", int64(s.NumberUnavailable)),
			validation.CountOf("collisionCount", int64(ptr.Deref(s.CollisionCount, 0)))),
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.Errs
}

func daemonSetSpec(path *field.Path, s *appsv1.DaemonSetSpec) field.ErrorList {
	var f validation.Findings
	template := path.Child("template")
	f.Merge(validation.LabelSelector(path.Child("selector"), s.Selector))
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		f.Merge(validation.SelectsTemplate(template, selector, s.Template.Labels))
	}
	f.AddIf(s.Selector != nil && isEmptySelector(s.Selector), field.Invalid(path.Child("selector"), s.Selector, "empty selector is invalid for daemonset"))
	f.Merge(
		podvalidation.LongRunningTemplate(template, &s.Template, "DaemonSet"),
		validation.Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds),
		daemonSetStrategy(path.Child("updateStrategy"), &s.UpdateStrategy),
		validation.Nonnegative(path.Child("revisionHistoryLimit"), ptr.Deref(s.RevisionHistoryLimit, 0)))
	return f.Errs
}

func daemonSetStrategy(path *field.Path, s *appsv1.DaemonSetUpdateStrategy) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(path.Child("rollingUpdate"), "")}
		}
		return rollingDaemonSet(path.Child("rollingUpdate"), s.RollingUpdate)
	}
	return field.ErrorList{field.NotSupported(path, validation.Unversioned(s),
		[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

func rollingDaemonSet(path *field.Path, r *appsv1.RollingUpdateDaemonSet) field.ErrorList {
	var f validation.Findings
	unavailable, surge := ptr.Deref(r.MaxUnavailable, zero), ptr.Deref(r.MaxSurge, zero)
	atUnavailable, atSurge := path.Child("maxUnavailable"), path.Child("maxSurge")
	f.Merge(
		validation.IntOrPercent(atUnavailable, unavailable), validation.IntOrPercent(atSurge, surge),
		validation.AtMostAll(atUnavailable, unavailable), validation.AtMostAll(atSurge, surge))
	f.AddIf(!isZero(unavailable) && !isZero(surge), field.Invalid(atSurge, surge, "may not be set when maxUnavailable is non-zero"))
	f.AddIf(isZero(unavailable) && isZero(surge), field.Required(atUnavailable, "cannot be 0 when maxSurge is 0"))
	return f.Errs
}

// startTemplateGeneration begins to count the changes of the pod template. The count is a field in
// extensions/v1beta1, and an annotation in later versions.
func startTemplateGeneration(_ context.Context, d *appsv1.DaemonSet) {
	setTemplateGeneration(d, max(1, templateGeneration(d)))
}

// canonicalDaemonSet reads the template generation, which kube-apiserver has as a number.
func canonicalDaemonSet(d *appsv1.DaemonSet) error {
	value, ok := d.Annotations[appsv1.DeprecatedTemplateGeneration]
	if !ok {
		return nil
	}
	generation, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return err
	}
	d.Annotations = maps.Clone(d.Annotations)
	setTemplateGeneration(d, generation)
	return nil
}

// countTemplateGeneration increments the template generation if the pod template has changed. An update can't set the
// template generation to another value.
func countTemplateGeneration(_ context.Context, d, old *appsv1.DaemonSet) {
	generation := templateGeneration(old)
	if !apiequality.Semantic.DeepEqual(d.Spec.Template, old.Spec.Template) {
		generation++
	}
	setTemplateGeneration(d, generation)
}

// keepTemplateGeneration keeps the stored template generation, which counts the changes of the pod template.
func keepTemplateGeneration(_ context.Context, d, old *appsv1.DaemonSet) {
	setTemplateGeneration(d, templateGeneration(old))
}

func templateGeneration(d *appsv1.DaemonSet) int64 {
	n, _ := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64) // canonicalDaemonSet has checked it
	return n
}

func setTemplateGeneration(d *appsv1.DaemonSet, n int64) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(n, 10))
}

var daemonSetColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Desired", printers.Doc(appsv1.DaemonSetStatus{}, "desiredNumberScheduled")),
		printers.Number("Current", printers.Doc(appsv1.DaemonSetStatus{}, "currentNumberScheduled")),
		printers.Number("Ready", printers.Doc(appsv1.DaemonSetStatus{}, "numberReady")),
		printers.Number("Up-to-date", printers.Doc(appsv1.DaemonSetStatus{}, "updatedNumberScheduled")),
		printers.Number("Available", printers.Doc(appsv1.DaemonSetStatus{}, "numberAvailable")),
		printers.Text("Node Selector", printers.Doc(corev1.PodSpec{}, "nodeSelector")),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
		printers.Wide(printers.Text("Selector", printers.Doc(appsv1.DaemonSetSpec{}, "selector"))),
	},
	func(d *appsv1.DaemonSet) []any {
		pod := d.Spec.Template.Spec
		return []any{
			d.Name, int64(d.Status.DesiredNumberScheduled), int64(d.Status.CurrentNumberScheduled),
			int64(d.Status.NumberReady), int64(d.Status.UpdatedNumberScheduled), int64(d.Status.NumberAvailable),
			labels.FormatLabels(pod.NodeSelector), printers.Since(d.CreationTimestamp),
			printers.ContainerNames(pod.Containers), printers.ContainerImages(pod.Containers), metav1.FormatLabelSelector(d.Spec.Selector),
		}
	})

func daemonSetWarnings(_ context.Context, d, old *appsv1.DaemonSet) []string {
	var l warnings.List
	if old == nil || templateGeneration(d) != templateGeneration(old) {
		l.PodTemplate(warnings.TemplatePath, &d.Spec.Template)
	}
	return l
}
