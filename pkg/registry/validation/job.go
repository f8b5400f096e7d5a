package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const (
	// maxIndexedParallelism and maxFailedIndexes bound the lists of indexes in status.
	maxIndexedParallelism = 100_000
	maxFailedIndexes      = 100_000
	// Above manyCompletions, these are the limits of a job with a backoff limit per index.
	manyCompletions                = 100_000
	maxParallelismManyCompletions  = 10_000
	maxFailedIndexesManyCompletion = 10_000

	maxManagedBy = 63
)

// Job checks a new job, after its selector was generated.
func Job(o *batchv1.Job) field.ErrorList {
	return append(job(o, true), jobScheduling(SpecPath, &o.Spec, &batchv1.JobSpec{})...)
}

// job is Job for one that may be older than the labels with a domain.
func job(o *batchv1.Job, domainLabels bool) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(generatedSelector(o, domainLabels), jobSpec(SpecPath, &o.Spec))
	if n := ptr.Deref(o.Spec.Completions, 0); isIndexed(&o.Spec) && n > 0 {
		hostname := fmt.Sprintf("%s-%d", o.Name, n-1)
		f.AddIf(len(utilvalidation.IsDNS1123Label(hostname)) > 0, field.Invalid(MetadataPath.Child("name"), o.Name,
			"will not able to create pod with invalid DNS label: "+hostname))
	}
	return f.Errs
}

// jobScheduling refuses to schedule a job's pods as one: the feature gate WorkloadWithJob is
// off.
func jobScheduling(path *field.Path, s, old *batchv1.JobSpec) field.ErrorList {
	return GatedOff(path.Child("scheduling"), s.Scheduling, old.Scheduling)
}

func isIndexed(s *batchv1.JobSpec) bool {
	return ptr.Deref(s.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// generatedSelector checks that the selector of a job that leaves it to Kubernetes is
// the generated one, and the labels that it selects.
func generatedSelector(o *batchv1.Job, domainLabels bool) field.ErrorList {
	if ptr.Deref(o.Spec.ManualSelector, false) || o.Spec.Selector == nil {
		return nil
	}
	var f Findings
	f.AddIf(o.UID == "", field.Required(MetadataPath.Child("uid"), ""))
	generated := labels.Set{}
	path := SpecPath.Child("template", "metadata", "labels")
	for _, label := range []struct {
		key, value string
		domain     bool
	}{
		{"controller-uid", string(o.UID), false},
		{"job-name", o.Name, false},
		{batchv1.ControllerUidLabel, string(o.UID), true},
		{batchv1.JobNameLabel, o.Name, true},
	} {
		if label.domain && !domainLabels {
			continue
		}
		generated[label.key] = label.value
		must := fmt.Sprintf("must be '%s'", label.value)
		if v, set := o.Spec.Template.Labels[label.key]; !set {
			f.Add(field.Required(path.Key(label.key), must))
		} else if v != label.value {
			f.Add(field.Invalid(path.Key(label.key), o.Spec.Template.Labels, must))
		}
	}
	if s, err := metav1.LabelSelectorAsSelector(o.Spec.Selector); err == nil {
		f.AddIf(!s.Matches(generated), field.Invalid(SpecPath.Child("selector"), o.Spec.Selector, "`selector` not auto-generated"))
	}
	return f.Errs
}

// jobSpec checks the spec of a job, which has a selector.
func jobSpec(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	var f Findings
	f.Merge(selectorlessJobSpec(path, s))
	if s.Selector == nil {
		f.Add(field.Required(path.Child("selector"), ""))
	} else {
		f.Merge(LabelSelector(path.Child("selector"), s.Selector))
	}
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		f.Merge(SelectsTemplate(path.Child("template"), selector, s.Template.Labels))
	}
	return f.Errs
}

func selectorlessJobSpec(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	var f Findings
	f.Merge(
		optionalCount(path.Child("parallelism"), s.Parallelism),
		optionalCount(path.Child("completions"), s.Completions),
		optionalCount(path.Child("activeDeadlineSeconds"), s.ActiveDeadlineSeconds),
		optionalCount(path.Child("backoffLimit"), s.BackoffLimit),
		optionalCount(path.Child("ttlSecondsAfterFinished"), s.TTLSecondsAfterFinished),
		optionalCount(path.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex),
		optionalCount(path.Child("maxFailedIndexes"), s.MaxFailedIndexes))
	f.AddIf(s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil,
		field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	if by := s.ManagedBy; by != nil {
		f.Merge(utilvalidation.IsDomainPrefixedPath(path.Child("managedBy"), *by))
		f.AddIf(len(*by) > maxManagedBy, field.TooLong(path.Child("managedBy"), "", maxManagedBy))
	}
	f.Merge(
		OptionalOneOf(path.Child("completionMode"), s.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion),
		indexes(path, s),
		failurePolicy(path.Child("podFailurePolicy"), s))
	if p := path.Child("successPolicy"); s.SuccessPolicy != nil && !isIndexed(s) {
		f.Add(field.Invalid(p, Unversioned(*s.SuccessPolicy), "requires indexed completion mode"))
	} else {
		f.Merge(successPolicy(p, s))
	}
	replaced := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
	if s.PodFailurePolicy != nil {
		replaced = replaced[:1]
	}
	f.Merge(
		OptionalOneOf(path.Child("podReplacementPolicy"), s.PodReplacementPolicy, replaced...),
		PodTemplateSpec(path.Child("template"), &s.Template),
		jobRestartPolicy(path.Child("template", "spec", "restartPolicy"), s))
	return f.Errs
}

// optionalCount checks a number that may be left out and must not be negative.
func optionalCount[T ~int32 | ~int64](path *field.Path, n *T) field.ErrorList {
	if n == nil {
		return nil
	}
	return Nonnegative(path, *n)
}

// indexes checks what a job has to do with the indexes of its pods (KEP-2214, KEP-3850).
func indexes(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	var f Findings
	parallelism, failed, completions := ptr.Deref(s.Parallelism, 0), ptr.Deref(s.MaxFailedIndexes, 0), ptr.Deref(s.Completions, 0)
	if !isIndexed(s) {
		const needed = "requires indexed completion mode"
		if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
			f.AddIf(s.BackoffLimitPerIndex != nil, field.Invalid(path.Child("backoffLimitPerIndex"), ptr.Deref(s.BackoffLimitPerIndex, 0), needed))
			f.AddIf(s.MaxFailedIndexes != nil, field.Invalid(path.Child("maxFailedIndexes"), failed, needed))
		}
		return f.Errs
	}
	atParallelism, atFailed := path.Child("parallelism"), path.Child("maxFailedIndexes")
	f.AddIf(s.Completions == nil, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	f.AddIf(parallelism > maxIndexedParallelism, field.Invalid(atParallelism, parallelism,
		fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexedParallelism)))
	f.AddIf(s.Completions != nil && s.MaxFailedIndexes != nil && failed > completions,
		field.Invalid(atFailed, failed, "must be less than or equal to completions"))
	f.AddIf(failed > maxFailedIndexes, field.Invalid(atFailed, failed, fmt.Sprintf("must be less than or equal to %d", maxFailedIndexes)))
	if completions <= manyCompletions || s.BackoffLimitPerIndex == nil {
		return f.Errs
	}
	const limit = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
	f.AddIf(s.MaxFailedIndexes == nil, field.Required(atFailed, fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
	f.AddIf(parallelism > maxParallelismManyCompletions, field.Invalid(atParallelism, parallelism, fmt.Sprintf(limit, maxParallelismManyCompletions, manyCompletions)))
	f.AddIf(failed > maxFailedIndexesManyCompletion, field.Invalid(atFailed, failed, fmt.Sprintf(limit, maxFailedIndexesManyCompletion, manyCompletions)))
	return f.Errs
}

// jobRestartPolicy checks that pods end. Always is what a policy that was left out
// defaults to.
func jobRestartPolicy(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	switch policy := s.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyAlways, "":
		return field.ErrorList{field.Required(path, `valid values: "OnFailure", "Never"`)}
	case corev1.RestartPolicyNever:
		return nil
	case corev1.RestartPolicyOnFailure:
		if s.PodFailurePolicy == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(path, policy, `only "Never" is supported when podFailurePolicy is specified`)}
	default:
		return OneOf(path, policy, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
}

// JobUpdate checks a job that replaces another.
func JobUpdate(o, old *batchv1.Job) field.ErrorList {
	_, hadName := old.Spec.Template.Labels[batchv1.JobNameLabel]
	_, hadUID := old.Spec.Template.Labels[batchv1.ControllerUidLabel]
	f := Findings{job(o, hadName && hadUID)}
	s, was := &o.Spec, &old.Spec
	f.Merge(
		Updated(&o.ObjectMeta, &old.ObjectMeta).Errs,
		jobSpec(SpecPath, s),
		jobScheduling(SpecPath, s, was),
		completionsUpdate(SpecPath.Child("completions"), s, was),
		Unchanged(SpecPath.Child("selector"), s.Selector, was.Selector),
		jobTemplateUpdate(SpecPath.Child("template"), &s.Template, old),
		Unchanged(SpecPath.Child("completionMode"), s.CompletionMode, was.CompletionMode),
		Unchanged(SpecPath.Child("podFailurePolicy"), s.PodFailurePolicy, was.PodFailurePolicy),
		Unchanged(SpecPath.Child("backoffLimitPerIndex"), s.BackoffLimitPerIndex, was.BackoffLimitPerIndex),
		Unchanged(SpecPath.Child("managedBy"), s.ManagedBy, was.ManagedBy),
		Unchanged(SpecPath.Child("successPolicy"), s.SuccessPolicy, was.SuccessPolicy))
	return f.Errs
}

// completionsUpdate checks that only an indexed job changes its size, with its
// parallelism (KEP-3715).
func completionsUpdate(path *field.Path, s, was *batchv1.JobSpec) field.ErrorList {
	switch {
	case !isIndexed(s):
		return Unchanged(path, s.Completions, was.Completions)
	case s.Completions == nil || ptr.Equal(s.Completions, was.Completions) || ptr.Equal(s.Completions, s.Parallelism):
		return nil
	}
	return field.ErrorList{field.Invalid(path, s.Completions, "can only be modified in tandem with spec.parallelism")}
}

// jobTemplateUpdate checks that a job's pods stay as they are. While none of them runs,
// a suspended job may say where they run (KEP-2926) and what they need (KEP-5440), and
// their metadata may be any.
func jobTemplateUpdate(path *field.Path, t *corev1.PodTemplateSpec, old *batchv1.Job) field.ErrorList {
	was := old.Spec.Template.DeepCopy()
	suspended := ptr.Deref(old.Spec.Suspend, false)
	idle := old.Status.Active == 0 && (old.Status.StartTime == nil || jobConditionIs(old.Status.Conditions, batchv1.JobSuspended))
	if suspended && idle {
		a := ptr.Deref(was.Spec.Affinity, corev1.Affinity{})
		a.NodeAffinity = NodeAffinity(&t.Spec)
		was.Spec.Affinity = &a
		if a == (corev1.Affinity{}) && t.Spec.Affinity == nil {
			was.Spec.Affinity = nil
		}
		was.Spec.NodeSelector = t.Spec.NodeSelector
		was.Spec.Tolerations = t.Spec.Tolerations
		was.Spec.SchedulingGates = t.Spec.SchedulingGates
		takeResources(was.Spec.Containers, t.Spec.Containers)
		takeResources(was.Spec.InitContainers, t.Spec.InitContainers)
		if apiequality.Semantic.DeepEqual(t.Spec, was.Spec) {
			return nil
		}
		return field.ErrorList{field.Invalid(SpecPath.Child("template.spec"), InternalPodSpec{&t.Spec}, apivalidation.FieldImmutableErrorMsg)}
	}
	if apiequality.Semantic.DeepEqual(t, was) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, internalTemplateOf(t), apivalidation.FieldImmutableErrorMsg)}
}

func takeResources(containers, from []corev1.Container) {
	if len(containers) != len(from) {
		return
	}
	for i := range containers {
		if containers[i].Name == from[i].Name {
			containers[i].Resources = from[i].Resources
		}
	}
}
