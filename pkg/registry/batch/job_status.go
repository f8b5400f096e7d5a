package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// validateJobStatusUpdate checks an update of a job's status (KEP-4368). An older server may have stored an invalid
// status, so many checks apply only if the update changes their fields.
func validateJobStatusUpdate(o, old *batchv1.Job) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(jobCounts(&o.Status))
	u := newJobStatusUpdate(o, old)
	for _, check := range u.checks() {
		f.AddIf(check.applies && check.bad, check.err)
	}
	return f.Errs
}

// jobCounts checks the counts of a status, and the UIDs in uncountedTerminatedPods.
func jobCounts(s *batchv1.JobStatus) field.ErrorList {
	var f validation.Findings
	f.Merge(
		validation.Nonnegative(validation.StatusPath.Child("active"), s.Active),
		validation.Nonnegative(validation.StatusPath.Child("succeeded"), s.Succeeded),
		validation.Nonnegative(validation.StatusPath.Child("failed"), s.Failed),
		optionalCount(validation.StatusPath.Child("ready"), s.Ready),
		optionalCount(validation.StatusPath.Child("terminating"), s.Terminating))
	if s.UncountedTerminatedPods == nil {
		return f.Errs
	}
	seen := sets.New[types.UID]()
	for _, list := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", s.UncountedTerminatedPods.Succeeded}, {"failed", s.UncountedTerminatedPods.Failed}} {
		for i, uid := range list.uids {
			path := validation.StatusPath.Child("uncountedTerminatedPods", list.name).Index(i)
			f.AddIf(uid == "", field.Invalid(path, uid, "must not be empty"))
			f.AddIf(uid != "" && seen.Has(uid), field.Duplicate(path, uid))
			seen.Insert(uid)
		}
	}
	return f.Errs
}

// jobConditions says which conditions of a job are true.
type jobConditions struct{ complete, failed, successMet, failureTarget, suspended bool }

func jobConditionsOf(s *batchv1.JobStatus) jobConditions {
	is := func(t batchv1.JobConditionType) bool { return jobConditionIs(s.Conditions, t) }
	return jobConditions{is(batchv1.JobComplete), is(batchv1.JobFailed), is(batchv1.JobSuccessCriteriaMet),
		is(batchv1.JobFailureTarget), is(batchv1.JobSuspended)}
}

func jobConditionIs(conditions []batchv1.JobCondition, t batchv1.JobConditionType) bool {
	return hasJobCondition(conditions, t, corev1.ConditionTrue)
}

func hasJobCondition(conditions []batchv1.JobCondition, t batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == t && c.Status == status })
}

func (c jobConditions) finished() bool { return c.complete || c.failed }

// jobStatusUpdate is an update from the status old to the status s. The field "is" has the conditions of s. The
// field "was" has the conditions of old.
type jobStatusUpdate struct {
	spec   *batchv1.JobSpec
	s, old *batchv1.JobStatus
	is     jobConditions
	was    jobConditions
}

func newJobStatusUpdate(o, old *batchv1.Job) jobStatusUpdate {
	return jobStatusUpdate{&o.Spec, &o.Status, &old.Status, jobConditionsOf(&o.Status), jobConditionsOf(&old.Status)}
}

// jobStatusCheck is one check of an update of the status. It reports the error err if applies and bad are both true. In
// many checks, applies is true only if the update changes the fields that the check is about. bad is true if the new
// status is invalid.
type jobStatusCheck struct {
	applies, bad bool
	err          *field.Error
}

func (u jobStatusUpdate) checks() []jobStatusCheck {
	s, old, is, was := u.s, u.old, u.is, u.was
	at := func(name string) *field.Path { return validation.StatusPath.Child(name) }
	conditions := func(msg string) *field.Error { return field.Invalid(at("conditions"), field.OmitValueType{}, msg) }
	failed := ptr.Deref(s.FailedIndexes, "")

	completeChanged, failedChanged := is.complete != was.complete, is.failed != was.failed
	finishedChanged := is.finished() != was.finished()
	startChanged, completionChanged := !s.StartTime.Equal(old.StartTime), !s.CompletionTime.Equal(old.CompletionTime)
	completedIndexesChanged, failedIndexesChanged := s.CompletedIndexes != old.CompletedIndexes, !ptr.Equal(s.FailedIndexes, old.FailedIndexes)
	activeChanged := s.Active != old.Active
	suspended := ptr.Deref(u.spec.Suspend, false)
	suspendedWithNothingToDo := suspended && u.spec.Completions != nil && *u.spec.Completions == 0
	// A job whose condition is missing isn't resumed: the condition must have become false.
	resumed := was.suspended && hasJobCondition(s.Conditions, batchv1.JobSuspended, corev1.ConditionFalse)
	scalable := isIndexed(u.spec) && ptr.Equal(u.spec.Completions, u.spec.Parallelism)

	return []jobStatusCheck{
		{completeChanged || failedChanged, is.complete && is.failed, conditions("cannot set Complete=True and Failed=true conditions")},
		{completeChanged || is.failureTarget != was.failureTarget, is.complete && is.failureTarget,
			conditions("cannot set Complete=True and FailureTarget=true conditions")},
		{completeChanged || completionChanged, s.CompletionTime != nil && !is.complete,
			field.Invalid(at("completionTime"), s.CompletionTime, "cannot set completionTime when there is no Complete=True condition")},
		{completeChanged || completionChanged, s.CompletionTime == nil && is.complete,
			field.Required(at("completionTime"), "completionTime is required for Complete jobs")},
		{startChanged || completionChanged, s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime),
			field.Invalid(at("completionTime"), s.CompletionTime, "must be equal to or after `startTime`")},
		{failedChanged || failedIndexesChanged, is.failed && !is.failureTarget,
			conditions("cannot set Failed=True condition without the FailureTarget=true condition")},
		{completeChanged || is.successMet != was.successMet, is.complete && !is.successMet,
			conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")},
		{finishedChanged || activeChanged, is.finished() && s.Active > 0,
			field.Invalid(at("active"), s.Active, "active>0 is invalid for finished job")},
		{(finishedChanged || startChanged) && !suspendedWithNothingToDo, is.finished() && s.StartTime == nil,
			field.Required(at("startTime"), "startTime is required for finished job")},
		{finishedChanged || !apiequality.Semantic.DeepEqual(s.UncountedTerminatedPods, old.UncountedTerminatedPods),
			is.finished() && uncounted(s) > 0,
			field.Invalid(at("uncountedTerminatedPods"), validation.Unversioned(s.UncountedTerminatedPods), "must be empty for finished job")},
		u.indexList("completedIndexes", completedIndexesChanged && u.spec.Completions != nil, s.CompletedIndexes),
		u.indexList("failedIndexes", failedIndexesChanged && u.spec.Completions != nil && u.spec.BackoffLimitPerIndex != nil, failed),
		{completedIndexesChanged, s.CompletedIndexes != "" && !isIndexed(u.spec),
			field.Invalid(at("completedIndexes"), s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode")},
		{failedIndexesChanged, u.spec.BackoffLimitPerIndex == nil && s.FailedIndexes != nil,
			field.Invalid(at("failedIndexes"), failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")},
		u.overlap(failedIndexesChanged || completedIndexesChanged, failed),
		{finishedChanged || !ptr.Equal(s.Terminating, old.Terminating), is.finished() && ptr.Deref(s.Terminating, 0) > 0,
			field.Invalid(at("terminating"), s.Terminating, "terminating>0 is invalid for finished job")},
		{activeChanged || !ptr.Equal(s.Ready, old.Ready), s.Ready != nil && *s.Ready > s.Active,
			field.Invalid(at("ready"), s.Ready, "cannot set more ready pods than active")},
		{true, is.successMet && is.failed, conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")},
		{true, is.successMet && is.failureTarget, conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")},
		{true, u.spec.SuccessPolicy != nil && is.complete && !is.successMet,
			conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")},
		{true, was.failed && !is.failed, conditions("cannot disable the terminal Failed=True condition")},
		{true, was.complete && !is.complete, conditions("cannot disable the terminal Complete=True condition")},
		{true, was.failureTarget && !is.failureTarget, conditions("cannot disable the terminal FailureTarget=True condition")},
		{true, s.Failed < old.Failed, field.Invalid(at("failed"), s.Failed, "cannot decrease the failed counter")},
		{!scalable, s.Succeeded < old.Succeeded, field.Invalid(at("succeeded"), s.Succeeded, "cannot decrease the succeeded counter")},
		{true, s.CompletionTime != nil && old.CompletionTime != nil && completionChanged,
			field.Invalid(at("completionTime"), s.CompletionTime, "field is immutable")},
		{!resumed, old.StartTime != nil && startChanged && !suspended,
			field.Invalid(at("startTime"), s.StartTime, "field is immutable for unsuspended job once set")},
		{true, was.successMet && !is.successMet, conditions("cannot disable the SuccessCriteriaMet=True condition")},
		{true, was.complete && !was.successMet && is.successMet,
			conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")},
	}
}

func uncounted(s *batchv1.JobStatus) int {
	if s.UncountedTerminatedPods == nil {
		return 0
	}
	return len(s.UncountedTerminatedPods.Failed) + len(s.UncountedTerminatedPods.Succeeded)
}

func (u jobStatusUpdate) indexList(name string, applies bool, list string) jobStatusCheck {
	_, err := parseIndexes(list, ptr.Deref(u.spec.Completions, 0))
	return jobStatusCheck{applies, err != nil, field.Invalid(validation.StatusPath.Child(name), list, fmt.Sprintf("error parsing %s: %v", name, err))}
}

// overlap checks that no index is both in failedIndexes and in completedIndexes.
func (u jobStatusUpdate) overlap(applies bool, failed string) jobStatusCheck {
	check := jobStatusCheck{applies: applies}
	n := ptr.Deref(u.spec.Completions, 0)
	completedList, err1 := parseIndexes(u.s.CompletedIndexes, n)
	failedList, err2 := parseIndexes(failed, n)
	if u.spec.Completions == nil || err1 != nil || err2 != nil {
		return check
	}
	for _, c := range completedList {
		for _, f := range failedList {
			if !check.bad && c.first <= f.last && f.first <= c.last {
				check.bad = true
				check.err = field.Invalid(validation.StatusPath.Child("failedIndexes"), failed,
					fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", max(c.first, f.first)))
			}
		}
	}
	return check
}
