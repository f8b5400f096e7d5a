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
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSLabel)
	f.merge(statefulSetSpec(specPath, &o.Spec, true))
	return f.errs
}

// StatefulSetUpdate checks a stateful set that replaces another.
func StatefulSetUpdate(o, old *appsv1.StatefulSet) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(statefulSetSpec(specPath, &o.Spec, false))
	spec := o.Spec
	spec.Replicas = old.Spec.Replicas
	spec.Template = old.Spec.Template
	spec.UpdateStrategy = old.Spec.UpdateStrategy
	spec.MinReadySeconds = old.Spec.MinReadySeconds
	spec.Ordinals = old.Spec.Ordinals
	spec.RevisionHistoryLimit = old.Spec.RevisionHistoryLimit
	spec.PersistentVolumeClaimRetentionPolicy = old.Spec.PersistentVolumeClaimRetentionPolicy
	f.addIf(!apiequality.Semantic.DeepEqual(spec, old.Spec), field.Forbidden(specPath,
		"updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
	return f.errs
}

// StatefulSetStatusUpdate checks a change of a stateful set's status.
func StatefulSetStatusUpdate(o, old *appsv1.StatefulSet) field.ErrorList {
	s, path := &o.Status, statusPath
	var f findings
	f.merge(
		counts(path, count{"replicas", int64(s.Replicas)}, count{"readyReplicas", int64(s.ReadyReplicas)},
			count{"currentReplicas", int64(s.CurrentReplicas)}, count{"updatedReplicas", int64(s.UpdatedReplicas)},
			count{"availableReplicas", int64(s.AvailableReplicas)}, count{"observedGeneration", s.ObservedGeneration},
			count{"collisionCount", int64(ptr.Deref(s.CollisionCount, 0))}),
		atMost(path, s.Replicas, moreThanReplicas, count{"readyReplicas", int64(s.ReadyReplicas)},
			count{"currentReplicas", int64(s.CurrentReplicas)}, count{"updatedReplicas", int64(s.UpdatedReplicas)},
			count{"availableReplicas", int64(s.AvailableReplicas)}),
		atMost(path, s.ReadyReplicas, "cannot be greater than status.readyReplicas", count{"availableReplicas", int64(s.AvailableReplicas)}),
		updated(&o.ObjectMeta, &old.ObjectMeta).errs,
		collisions(path.Child("collisionCount"), s.CollisionCount, old.Status.CollisionCount))
	return f.errs
}

func statefulSetSpec(path *field.Path, s *appsv1.StatefulSetSpec, isNew bool) field.ErrorList {
	var f findings
	switch at := path.Child("podManagementPolicy"); s.PodManagementPolicy {
	case "":
		f.add(field.Required(at, ""))
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		f.add(field.Invalid(at, s.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'"))
	}
	f.merge(
		statefulSetStrategy(path.Child("updateStrategy"), &s.UpdateStrategy),
		claimRetention(path.Child("persistentVolumeClaimRetentionPolicy"), s.PersistentVolumeClaimRetentionPolicy),
		nonnegative(path.Child("replicas"), ptr.Deref(s.Replicas, 0)),
		nonnegative(path.Child("minReadySeconds"), s.MinReadySeconds))
	if s.Ordinals != nil {
		f.merge(nonnegative(path.Child("ordinals.start"), s.Ordinals.Start))
	}
	if isNew && s.ServiceName != "" {
		f.merge(follows(utilvalidation.IsDNS1123Label, path.Child("serviceName"), s.ServiceName))
	}
	f.merge(requiredSelector(path.Child("selector"), s.Selector, "statefulset"))
	for i := range s.VolumeClaimTemplates {
		f.merge(persistentVolumeClaimSpec(path.Child("volumeClaimTemplates").Index(i).Child("spec"), &s.VolumeClaimTemplates[i].Spec))
	}
	template := path.Child("template")
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err != nil {
		f.add(field.Invalid(path.Child("selector"), s.Selector, ""))
	} else {
		f.merge(selectsTemplate(template, selector, s.Template.Labels), podTemplate(template, withClaims(s)))
	}
	f.merge(runsOn(template, &s.Template, "StatefulSet"))
	return f.errs
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
		return field.ErrorList{field.Invalid(rolling, unversioned(s.RollingUpdate), "only allowed for updateStrategy 'RollingUpdate'")}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return rollingStatefulSet(rolling, s.RollingUpdate)
	}
	return field.ErrorList{field.Invalid(path, unversioned(*s), "must be 'RollingUpdate' or 'OnDelete'")}
}

func rollingStatefulSet(path *field.Path, r *appsv1.RollingUpdateStatefulSetStrategy) field.ErrorList {
	var f findings
	f.merge(nonnegative(path.Child("partition"), ptr.Deref(r.Partition, 0)))
	if r.MaxUnavailable != nil {
		path := path.Child("maxUnavailable")
		f.merge(intOrPercent(path, *r.MaxUnavailable))
		f.addIf(isZero(*r.MaxUnavailable), field.Invalid(path, *r.MaxUnavailable, "cannot be 0"))
		f.merge(atMostAll(path, *r.MaxUnavailable))
	}
	return f.errs
}

// claimRetention checks what becomes of claims (KEP-1847).
func claimRetention(path *field.Path, p *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) field.ErrorList {
	if p == nil {
		return nil
	}
	allowed := []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	return append(oneOf(path.Child("whenDeleted"), p.WhenDeleted, allowed...), oneOf(path.Child("whenScaled"), p.WhenScaled, allowed...)...)
}

// ControllerRevision checks a new controller revision.
func ControllerRevision(o *appsv1.ControllerRevision) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain)
	f.addIf(isNoData(&o.Data), field.Required(field.NewPath("data"), "data is mandatory"))
	f.merge(nonnegative(field.NewPath("revision"), o.Revision))
	return f.errs
}

// ControllerRevisionUpdate checks a controller revision that replaces another.
func ControllerRevisionUpdate(o, old *appsv1.ControllerRevision) field.ErrorList {
	f := updated(&o.ObjectMeta, &old.ObjectMeta)
	f.merge(ControllerRevision(o), unchanged(field.NewPath("data"), o.Data, old.Data))
	return f.errs
}

func isNoData(data *runtime.RawExtension) bool { return data.Object == nil && len(data.Raw) == 0 }
