package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// jobScheduling checks how the pods of a job are scheduled together, by the rules that the Go types don't declare. A job
// without a policy has the policy Basic.
func jobScheduling(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	if s.Scheduling == nil {
		return nil
	}
	var f validation.Findings
	policy, mode := s.Scheduling.SchedulingPolicy, s.Scheduling.DisruptionMode
	if policy != nil && policy.Gang != nil && policy.Gang.MinCount != nil {
		count, parallelism := *policy.Gang.MinCount, ptr.Deref(s.Parallelism, 1)
		f.AddIf(count > parallelism, field.Invalid(path.Child("schedulingPolicy", "gang", "minCount"), count,
			fmt.Sprintf("must not be greater than parallelism (%d)", parallelism)))
	}
	f.AddIf((policy == nil || policy.Basic != nil) && mode != nil && mode.All != nil && mode.Single == nil, field.Invalid(path.Child("disruptionMode"), "",
		"the disruptionMode `all` is not supported with the Basic scheduling policy"))
	return f.Errs
}

// jobSchedulingUpdate checks that a job keeps its policy. The Go types declare that it keeps having one.
func jobSchedulingUpdate(path *field.Path, s, was *batchv1.JobSchedulingConfiguration) field.ErrorList {
	if s == nil || was == nil || s.SchedulingPolicy == nil || was.SchedulingPolicy == nil ||
		(s.SchedulingPolicy.Basic == nil) == (was.SchedulingPolicy.Basic == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("schedulingPolicy"), nil,
		"the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated")}
}
