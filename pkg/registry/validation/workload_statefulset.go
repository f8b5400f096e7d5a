package validation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// StatefulSet checks a new stateful set. Its name begins those of its pods.
func StatefulSet(o *appsv1.StatefulSet) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSLabel)
	f.Merge(statefulSetSpec(SpecPath, &o.Spec, true))
	return f.Errs
}

// StatefulSetUpdate checks a stateful set that replaces another.
func StatefulSetUpdate(o, old *appsv1.StatefulSet) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(statefulSetSpec(SpecPath, &o.Spec, false))
	spec := o.Spec
	spec.Replicas = old.Spec.Replicas
	spec.Template = old.Spec.Template
	spec.UpdateStrategy = old.Spec.UpdateStrategy
	spec.MinReadySeconds = old.Spec.MinReadySeconds
	spec.Ordinals = old.Spec.Ordinals
	spec.RevisionHistoryLimit = old.Spec.RevisionHistoryLimit
	spec.PersistentVolumeClaimRetentionPolicy = old.Spec.PersistentVolumeClaimRetentionPolicy
	f.AddIf(!apiequality.Semantic.DeepEqual(spec, old.Spec), field.Forbidden(SpecPath,
		"updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
	return f.Errs
}

// StatefulSetStatusUpdate checks a change of a stateful set's status.
func StatefulSetStatusUpdate(o, old *appsv1.StatefulSet) field.ErrorList {
	s, path := &o.Status, StatusPath
	var f Findings
	f.Merge(
		Counts(path, Count{"replicas", int64(s.Replicas)}, Count{"readyReplicas", int64(s.ReadyReplicas)},
			Count{"currentReplicas", int64(s.CurrentReplicas)}, Count{"updatedReplicas", int64(s.UpdatedReplicas)},
			Count{"availableReplicas", int64(s.AvailableReplicas)}, Count{"observedGeneration", s.ObservedGeneration},
			Count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))}),
		AtMost(path, s.Replicas, MoreThanReplicas, Count{"readyReplicas", int64(s.ReadyReplicas)},
			Count{"currentReplicas", int64(s.CurrentReplicas)}, Count{"updatedReplicas", int64(s.UpdatedReplicas)},
			Count{"availableReplicas", int64(s.AvailableReplicas)}),
		AtMost(path, s.ReadyReplicas, "cannot be greater than status.readyReplicas", Count{"availableReplicas", int64(s.AvailableReplicas)}),
		Updated(&o.ObjectMeta, &old.ObjectMeta).Errs,
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.Errs
}

func statefulSetSpec(path *field.Path, s *appsv1.StatefulSetSpec, isNew bool) field.ErrorList {
	var f Findings
	switch at := path.Child("podManagementPolicy"); s.PodManagementPolicy {
	case "":
		f.Add(field.Required(at, ""))
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		f.Add(field.Invalid(at, s.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'"))
	}
	f.Merge(
		statefulSetStrategy(path.Child("updateStrategy"), &s.UpdateStrategy),
		claimRetention(path.Child("persistentVolumeClaimRetentionPolicy"), s.PersistentVolumeClaimRetentionPolicy),
		Nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		Nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds))
	if s.Ordinals != nil {
		f.Merge(Nonnegative(path.Child("ordinals.start"), s.Ordinals.Start))
	}
	if isNew && s.ServiceName != "" {
		f.Merge(Follows(utilvalidation.IsDNS1123Label, path.Child("serviceName"), s.ServiceName))
	}
	f.Merge(requiredSelector(path.Child("selector"), s.Selector, "statefulset"))
	for i := range s.VolumeClaimTemplates {
		f.Merge(PersistentVolumeClaimSpec(path.Child("volumeClaimTemplates").Index(i).Child("spec"), &s.VolumeClaimTemplates[i].Spec))
	}
	template := path.Child("template")
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err != nil {
		f.Add(field.Invalid(path.Child("selector"), s.Selector, ""))
	} else {
		f.Merge(SelectsTemplate(template, selector, s.Template.Labels), PodTemplateSpec(template, withClaims(s)))
	}
	f.Merge(RunsOn(template, &s.Template, "StatefulSet"))
	return f.Errs
}

// withClaims is the template with a volume for each claim, in place of any volume of
// that name.
func withClaims(s *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	if len(s.VolumeClaimTemplates) == 0 {
		return &s.Template
	}
	t := s.Template.DeepCopy()
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
		return field.ErrorList{field.Invalid(rolling, Unversioned(s.RollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return rollingStatefulSet(rolling, s.RollingUpdate)
	}
	return field.ErrorList{field.Invalid(path, Unversioned(*s), "must be 'RollingUpdate' or 'OnDelete'")}
}

func rollingStatefulSet(path *field.Path, r *appsv1.RollingUpdateStatefulSetStrategy) field.ErrorList {
	var f Findings
	f.Merge(Nonnegative(path.Child("partition"), ptr.Deref(r.Partition, 0)))
	if r.MaxUnavailable != nil {
		path := path.Child("maxUnavailable")
		f.Merge(IntOrPercent(path, *r.MaxUnavailable))
		f.AddIf(isZero(*r.MaxUnavailable), field.Invalid(path, *r.MaxUnavailable, "cannot be 0"))
		f.Merge(AtMostAll(path, *r.MaxUnavailable))
	}
	return f.Errs
}

// claimRetention checks what becomes of claims (KEP-1847).
func claimRetention(path *field.Path, p *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) field.ErrorList {
	if p == nil {
		return nil
	}
	allowed := []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	return append(OneOf(path.Child("whenDeleted"), p.WhenDeleted, allowed...), OneOf(path.Child("whenScaled"), p.WhenScaled, allowed...)...)
}

// ControllerRevision checks a new controller revision.
func ControllerRevision(o *appsv1.ControllerRevision) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.AddIf(isNoData(&o.Data), field.Required(field.NewPath("data"), "data is mandatory"))
	f.Merge(Nonnegative(field.NewPath("revision"), o.Revision))
	return f.Errs
}

// ControllerRevisionUpdate checks a controller revision that replaces another.
func ControllerRevisionUpdate(o, old *appsv1.ControllerRevision) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(ControllerRevision(o), Unchanged(field.NewPath("data"), o.Data, old.Data))
	return f.Errs
}

func isNoData(data *runtime.RawExtension) bool { return data.Object == nil && len(data.Raw) == 0 }
