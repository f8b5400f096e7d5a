package apps

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
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

// statefulSetKind is the row of statefulsets in the server's table of kinds.
var statefulSetKind = registry.Kind{
	Resource:   "statefulsets",
	ShortNames: []string{"sts"},
	Categories: []string{"all"},
	Namespaced: true,
	Object:     &appsv1.StatefulSet{}, List: &appsv1.StatefulSetList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultStatefulSet),
		registry.DefaultOf(defaultStatefulSetV1beta1),
		registry.DefaultLike[appsv1beta2.StatefulSet](defaultStatefulSet),
	},
	Shape:      podrules.ShapeOf("spec.template.spec", func(s *appsv1.StatefulSet) *corev1.PodSpec { return &s.Spec.Template.Spec }),
	Status:     true,
	Generation: true,
	Subresources: []registry.Subresource{registry.ScaleSubresource(func(s *appsv1.StatefulSet) registry.Scaled {
		return registry.Scaled{Replicas: &s.Spec.Replicas, Current: s.Status.Replicas, Selector: s.Spec.Selector}
	})},
	OrphanThrough: []schema.GroupVersion{appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion},
	Printer:       &statefulSetColumns,
	Hooks: registry.HooksOf[*appsv1.StatefulSet]{
		Validate:             validateStatefulSet,
		ValidateUpdate:       validateStatefulSetUpdate,
		ValidateStatusUpdate: validateStatefulSetStatusUpdate,
		Warnings:             statefulSetWarnings,
	},
	Gated: []registry.Gate{registry.GateOf[appsv1.StatefulSet]("MaxUnavailableStatefulSet", "Spec.UpdateStrategy.RollingUpdate.MaxUnavailable")},
}

func defaultStatefulSet(s *appsv1.StatefulSet) {
	defaults.Pointer(&s.Spec.Replicas, 1)
	defaults.Pointer(&s.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	defaults.Zero(&s.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	strategy := &s.Spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		defaults.Pointer(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if strategy.RollingUpdate != nil {
		defaults.Pointer(&strategy.RollingUpdate.Partition, 0)
		if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
			defaultMaxUnavailable(&strategy.RollingUpdate.MaxUnavailable)
		}
	}
	defaults.Pointer(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	retention := s.Spec.PersistentVolumeClaimRetentionPolicy
	defaults.Zero(&retention.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaults.Zero(&retention.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaults.PodTemplateSpec(&s.Spec.Template)
	claimTemplates(s.Spec.VolumeClaimTemplates)
}

// defaultMaxUnavailable makes a rolling update replace one pod at a time (KEP-961).
func defaultMaxUnavailable(field **intstr.IntOrString) {
	if defaults.Since(defaults.Kubernetes137) {
		defaults.Pointer(field, intstr.FromInt32(1))
	}
}

// claimTemplates sets the defaults of the claims in a StatefulSet. Each claim is a whole object, with apiVersion
// and kind.
func claimTemplates(claims []corev1.PersistentVolumeClaim) {
	for i := range claims {
		claims[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		defaults.PersistentVolumeClaim(&claims[i])
	}
}

// defaultStatefulSetV1beta1 sets the defaults of an apps/v1beta1 StatefulSet. By default, the controller doesn't
// replace pods when the template changes.
func defaultStatefulSetV1beta1(s *appsv1beta1.StatefulSet) {
	selectorOf(s.Spec.Template.Labels, &s.Spec.Selector, &s.Labels)
	defaults.Pointer(&s.Spec.Replicas, 1)
	defaults.Pointer(&s.Spec.RevisionHistoryLimit, revisionHistoryLimit)
	defaults.Zero(&s.Spec.PodManagementPolicy, appsv1beta1.OrderedReadyPodManagement)
	strategy := &s.Spec.UpdateStrategy
	defaults.Zero(&strategy.Type, appsv1beta1.OnDeleteStatefulSetStrategyType)
	if strategy.RollingUpdate != nil {
		defaults.Pointer(&strategy.RollingUpdate.Partition, 0)
		if strategy.Type == appsv1beta1.RollingUpdateStatefulSetStrategyType {
			defaultMaxUnavailable(&strategy.RollingUpdate.MaxUnavailable)
		}
	}
	defaults.Pointer(&s.Spec.PersistentVolumeClaimRetentionPolicy, appsv1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	retention := s.Spec.PersistentVolumeClaimRetentionPolicy
	defaults.Zero(&retention.WhenDeleted, appsv1beta1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaults.Zero(&retention.WhenScaled, appsv1beta1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaults.PodTemplateSpec(&s.Spec.Template)
	claimTemplates(s.Spec.VolumeClaimTemplates)
}

// validateStatefulSet checks a new StatefulSet. Its name must be a DNS label, because the host names of its pods begin
// with the name.
func validateStatefulSet(o *appsv1.StatefulSet) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSLabel)
	f.Merge(statefulSetSpec(validation.SpecPath, &o.Spec, statefulSetRules{serviceName: true, claims: true, pod: true}))
	return f.Errs
}

func validateStatefulSetUpdate(o, old *appsv1.StatefulSet) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	// A pod template that was stored invalid, by an older server, may stay so.
	rules := statefulSetRules{pod: len(statefulSetSpec(validation.SpecPath, &old.Spec, statefulSetRules{pod: true})) == 0}
	f.Merge(statefulSetSpec(validation.SpecPath, &o.Spec, rules),
		validation.Unchanged(validation.SpecPath.Child("selector"), o.Spec.Selector, old.Spec.Selector),
		validation.Unchanged(validation.SpecPath.Child("volumeClaimTemplates"), o.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates),
		validation.Unchanged(validation.SpecPath.Child("serviceName"), o.Spec.ServiceName, old.Spec.ServiceName),
		validation.Unchanged(validation.SpecPath.Child("podManagementPolicy"), o.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy))
	return f.Errs
}

func validateStatefulSetStatusUpdate(o, old *appsv1.StatefulSet) field.ErrorList {
	s, path := &o.Status, validation.StatusPath
	var f validation.Findings
	f.Merge(
		validation.Counts(path, validation.CountOf("replicas", int64(s.Replicas)), validation.CountOf("readyReplicas", int64(s.ReadyReplicas)),
			validation.CountOf("currentReplicas", int64(s.CurrentReplicas)), validation.CountOf("updatedReplicas", int64(s.UpdatedReplicas)),
			validation.CountOf("availableReplicas", int64(s.AvailableReplicas)), validation.CountOf("observedGeneration", s.ObservedGeneration),
			validation.CountOf("collisionCount", int64(ptr.Deref(s.CollisionCount, 0)))),
		validation.AtMost(path, s.Replicas, validation.MoreThanReplicas, validation.CountOf("readyReplicas", int64(s.ReadyReplicas)),
			validation.CountOf("currentReplicas", int64(s.CurrentReplicas)), validation.CountOf("updatedReplicas", int64(s.UpdatedReplicas)),
			validation.CountOf("availableReplicas", int64(s.AvailableReplicas))),
		validation.AtMost(path, s.ReadyReplicas, "cannot be greater than status.readyReplicas", validation.CountOf("availableReplicas", int64(s.AvailableReplicas))),
		validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs,
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.Errs
}

// statefulSetRules are the checks of a spec that don't hold for every write. An update can't change the serviceName and
// the claim templates, so it leaves out their checks.
type statefulSetRules struct{ serviceName, claims, pod bool }

func statefulSetSpec(path *field.Path, s *appsv1.StatefulSetSpec, rules statefulSetRules) field.ErrorList {
	var f validation.Findings
	switch at := path.Child("podManagementPolicy"); s.PodManagementPolicy {
	case "":
		f.Add(field.Required(at, ""))
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		f.Add(field.Invalid(at, s.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'"))
	}
	f.Merge(
		statefulSetStrategy(path.Child("updateStrategy"), &s.UpdateStrategy),
		claimRetention(path.Child("persistentVolumeClaimRetentionPolicy"), s.PersistentVolumeClaimRetentionPolicy))
	for i := range s.VolumeClaimTemplates {
		if rules.claims {
			f.Merge(podvalidation.PersistentVolumeClaimSpec(path.Child("volumeClaimTemplates").Index(i).Child("spec"), &s.VolumeClaimTemplates[i].Spec, nil))
		}
	}
	f.Merge(
		validation.Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		validation.Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds))
	if s.Ordinals != nil {
		f.Merge(validation.Nonnegative(path.Child("ordinals.start"), s.Ordinals.Start))
	}
	if rules.serviceName && s.ServiceName != "" {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("serviceName"), s.ServiceName))
	}
	f.Merge(requiredSelector(path.Child("selector"), s.Selector, "statefulset"))
	template := path.Child("template")
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err != nil {
		f.Add(field.Invalid(path.Child("selector"), s.Selector, ""))
	} else {
		f.Merge(validation.SelectsTemplate(template, selector, s.Template.Labels), statefulSetTemplate(template, s, rules.pod))
	}
	f.Merge(podvalidation.RunsOn(template, &s.Template, "StatefulSet"))
	return f.Errs
}

// statefulSetTemplate checks the pod template of a StatefulSet. The argument "pod" is false if only its metadata counts.
// For a bad label or annotation, kube-apiserver has the same error twice if it checks the whole template.
func statefulSetTemplate(path *field.Path, s *appsv1.StatefulSetSpec, pod bool) field.ErrorList {
	var f validation.Findings
	t := podTemplateOf(s)
	if pod {
		f.Merge(podvalidation.PodTemplateSpec(path, t))
	}
	annotations := path.Child("annotations")
	f.Merge(
		metav1validation.ValidateLabels(t.Labels, path.Child("labels")),
		apivalidation.ValidateAnnotations(t.Annotations, annotations),
		podvalidation.PodAnnotations(annotations, t.Annotations, &t.Spec))
	return f.Errs
}

// podTemplateOf returns the pod template with a volume for each claim of the StatefulSet. If the template has a volume
// of the same name, the claim replaces it. The result has no hostname and no subdomain, because the controller
// overwrites both in each pod.
func podTemplateOf(s *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	t := s.Template.DeepCopy()
	t.Spec.Hostname, t.Spec.Subdomain = "", ""
	if len(s.VolumeClaimTemplates) == 0 {
		return t
	}
	names := sets.New[string]()
	var volumes []corev1.Volume
	for i := range s.VolumeClaimTemplates {
		name := s.VolumeClaimTemplates[i].Name
		if names.Has(name) {
			continue
		}
		names.Insert(name)
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	for _, v := range t.Spec.Volumes {
		if !names.Has(v.Name) {
			volumes = append(volumes, v)
		}
	}
	t.Spec.Volumes = volumes
	return t
}

func statefulSetStrategy(path *field.Path, s *appsv1.StatefulSetUpdateStrategy) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case "":
		return field.ErrorList{field.Required(path, "")}
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(rolling, validation.Unversioned(s.RollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return rollingStatefulSet(rolling, s.RollingUpdate)
	}
	return field.ErrorList{field.Invalid(path, validation.Unversioned(*s), "must be 'RollingUpdate' or 'OnDelete'")}
}

func rollingStatefulSet(path *field.Path, r *appsv1.RollingUpdateStatefulSetStrategy) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.Nonnegative(path.Child("partition"), ptr.Deref(r.Partition, 0)))
	if r.MaxUnavailable != nil {
		path := path.Child("maxUnavailable")
		f.Merge(validation.IntOrPercent(path, *r.MaxUnavailable))
		f.AddIf(isZero(*r.MaxUnavailable), field.Invalid(path, *r.MaxUnavailable, "cannot be 0"))
		f.Merge(validation.AtMostAll(path, *r.MaxUnavailable))
	}
	return f.Errs
}

// claimRetention checks persistentVolumeClaimRetentionPolicy, which decides when the claims are deleted (KEP-1847).
func claimRetention(path *field.Path, p *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) field.ErrorList {
	if p == nil {
		return nil
	}
	allowed := []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	return append(validation.OneOf(path.Child("whenDeleted"), p.WhenDeleted, allowed...), validation.OneOf(path.Child("whenScaled"), p.WhenScaled, allowed...)...)
}

var statefulSetColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Ready", "Number of the pod with ready state"),
		printers.AgeColumn,
		printers.Wide(printers.ContainersColumn),
		printers.Wide(printers.ImagesColumn),
	},
	func(s *appsv1.StatefulSet) []any {
		containers := s.Spec.Template.Spec.Containers
		return []any{
			s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 0)), printers.Since(s.CreationTimestamp),
			printers.ContainerNames(containers), printers.ContainerImages(containers),
		}
	})

func statefulSetWarnings(_ context.Context, s, old *appsv1.StatefulSet) []string {
	var l warnings.List
	if old == nil || warnings.Changed(s, old) {
		l.PodTemplate(warnings.TemplatePath, &s.Spec.Template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		path := warnings.SpecPath.Child("volumeClaimTemplates").Index(i)
		if old != nil {
			// As in kube-apiserver, the path has "Spec" only on an update, and with a capital letter.
			path = path.Child("Spec")
		}
		l.Claim(path, &s.Spec.VolumeClaimTemplates[i].Spec)
	}
	if n := s.Spec.RevisionHistoryLimit; n != nil && *n < 0 {
		l.At(warnings.SpecPath.Child("revisionHistoryLimit"),
			"a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return l
}
