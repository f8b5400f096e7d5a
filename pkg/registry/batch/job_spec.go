package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// defaultJobSpec sets the defaults that the spec of a Job and the Job template of a CronJob have in common. defaultJob
// sets the other defaults of a Job.
func defaultJobSpec(s *batchv1.JobSpec) {
	if s.PodFailurePolicy != nil {
		for i := range s.PodFailurePolicy.Rules {
			conditions := s.PodFailurePolicy.Rules[i].OnPodConditions
			for j := range conditions {
				defaults.Zero(&conditions[j].Status, corev1.ConditionTrue)
			}
		}
	}
	defaults.PodTemplateSpec(&s.Template)
}

const (
	// maxIndexedParallelism and maxFailedIndexes bound the fields parallelism and maxFailedIndexes of an indexed
	// job. These limits also bound the length of the lists of indexes in the status.
	maxIndexedParallelism = 100_000
	maxFailedIndexes      = 100_000
	// A job with a backoff limit per index and more than manyCompletions completions has the lower limits that
	// follow.
	manyCompletions                = 100_000
	maxParallelismManyCompletions  = 10_000
	maxFailedIndexesManyCompletion = 10_000

	maxManagedBy = 63
)

func isIndexed(s *batchv1.JobSpec) bool {
	return ptr.Deref(s.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// jobSpec checks the spec of a job. Unlike the spec in a CronJob, it must have a selector.
func jobSpec(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	var f validation.Findings
	f.Merge(selectorlessJobSpec(path, s))
	if s.Selector == nil {
		f.Add(field.Required(path.Child("selector"), ""))
	} else {
		f.Merge(validation.LabelSelector(path.Child("selector"), s.Selector))
	}
	if selector, err := metav1.LabelSelectorAsSelector(s.Selector); err == nil {
		f.Merge(validation.SelectsTemplate(path.Child("template"), selector, s.Template.Labels))
	}
	return f.Errs
}

func selectorlessJobSpec(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	var f validation.Findings
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
		validation.OptionalOneOf(path.Child("completionMode"), s.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion),
		indexes(path, s),
		failurePolicy(path.Child("podFailurePolicy"), s))
	if p := path.Child("successPolicy"); s.SuccessPolicy != nil && !isIndexed(s) {
		f.Add(field.Invalid(p, validation.Unversioned(*s.SuccessPolicy), "requires indexed completion mode"))
	} else {
		f.Merge(successPolicy(p, s))
	}
	replaced := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
	if s.PodFailurePolicy != nil {
		replaced = replaced[:1]
	}
	f.Merge(
		validation.OptionalOneOf(path.Child("podReplacementPolicy"), s.PodReplacementPolicy, replaced...),
		jobScheduling(path.Child("scheduling"), s),
		podvalidation.PodTemplateSpec(path.Child("template"), &s.Template),
		jobRestartPolicy(path.Child("template", "spec", "restartPolicy"), s))
	return f.Errs
}

// optionalCount checks that an optional number isn't negative.
func optionalCount[T ~int32 | ~int64](path *field.Path, n *T) field.ErrorList {
	if n == nil {
		return nil
	}
	return validation.Nonnegative(path, *n)
}

// indexes checks the fields about the indexes of an indexed job's pods (KEP-2214, KEP-3850).
func indexes(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	var f validation.Findings
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

// jobRestartPolicy checks that the containers of a job's pods aren't restarted forever. With a podFailurePolicy, only
// the policy Never is valid. The policy Always is the default of pods, so the user may have set no policy. Therefore,
// the policy Always gets the same error as a missing policy.
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
		return validation.OneOf(path, policy, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	}
}

// jobSpecWarnings adds the warnings about the spec of a job or a job template to the list l.
func jobSpecWarnings(l *warnings.List, path *field.Path, spec *batchv1.JobSpec) {
	if ptr.Deref(spec.CompletionMode, "") == batchv1.IndexedCompletion &&
		ptr.Deref(spec.Completions, 0) > 100_000 && ptr.Deref(spec.Parallelism, 0) > 10_000 {
		l.At(path, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
			"Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	l.PodTemplate(path.Child("template"), &spec.Template)
}
