package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/podvalidation"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

const (
	maxPolicyRules      = 20
	maxPolicyExitCodes  = 255
	maxPolicyConditions = 20
	maxSucceededIndexes = 64 * 1024
)

var (
	failureActions = []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore}
	exitCodeOperators = []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	conditionStatuses = []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
)

// chosenOneOf is validation.RequiredOneOf with another error about a missing value: the message lists the valid
// values.
func chosenOneOf[T ~string](path *field.Path, value T, allowed []T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q", allowed))}
	}
	return validation.OneOf(path, value, allowed...)
}

// failurePolicy checks podFailurePolicy, the rules for pods that fail (KEP-3329).
func failurePolicy(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	if s.PodFailurePolicy == nil {
		return nil
	}
	rules := path.Child("rules")
	errs := validation.Few(rules, len(s.PodFailurePolicy.Rules), maxPolicyRules)
	names := podvalidation.ContainerNames(s.Template.Spec.Containers).Union(podvalidation.ContainerNames(s.Template.Spec.InitContainers))
	for i := range s.PodFailurePolicy.Rules {
		errs = append(errs, failureRule(rules.Index(i), &s.PodFailurePolicy.Rules[i], names, s.BackoffLimitPerIndex != nil)...)
	}
	return errs
}

func failureRule(path *field.Path, r *batchv1.PodFailurePolicyRule, containers sets.Set[string], perIndex bool) field.ErrorList {
	var f validation.Findings
	action := path.Child("action")
	f.Merge(chosenOneOf(action, r.Action, failureActions))
	f.AddIf(r.Action == batchv1.PodFailurePolicyActionFailIndex && !perIndex,
		field.Invalid(action, r.Action, "requires the backoffLimitPerIndex to be set"))
	if r.OnExitCodes != nil {
		f.Merge(failureExitCodes(path.Child("onExitCodes"), r.OnExitCodes, containers))
	}
	conditions := path.Child("onPodConditions")
	f.Merge(validation.Few(conditions, len(r.OnPodConditions), maxPolicyConditions))
	for i, c := range r.OnPodConditions {
		path := conditions.Index(i)
		f.Merge(validation.Qualified(path.Child("type"), string(c.Type)), chosenOneOf(path.Child("status"), c.Status, conditionStatuses))
	}
	codes, conds := r.OnExitCodes != nil, len(r.OnPodConditions) > 0
	f.AddIf(codes && conds, field.Invalid(path, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
	f.AddIf(!codes && !conds, field.Invalid(path, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required"))
	return f.Errs
}

func failureExitCodes(path *field.Path, r *batchv1.PodFailurePolicyOnExitCodesRequirement, containers sets.Set[string]) field.ErrorList {
	var f validation.Findings
	f.Merge(chosenOneOf(path.Child("operator"), r.Operator, exitCodeOperators))
	if name := r.ContainerName; name != nil {
		f.AddIf(!containers.Has(*name), field.Invalid(path.Child("containerName"), *name,
			"must be one of the container or initContainer names in the pod template"))
	}
	values := path.Child("values")
	f.AddIf(len(r.Values) == 0, field.Invalid(values, r.Values, "at least one value is required"))
	f.Merge(validation.Few(values, len(r.Values), maxPolicyExitCodes))
	seen := sets.New[int32]()
	for i, code := range r.Values {
		f.AddIf(code == 0 && r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn, field.Invalid(values.Index(i), code, "must not be 0 for the In operator"))
		f.AddIf(seen.Has(code), field.Duplicate(values.Index(i), code))
		seen.Insert(code)
	}
	f.AddIf(!slices.IsSorted(r.Values), field.Invalid(values, r.Values, "must be ordered"))
	return f.Errs
}

// successPolicy checks the rules by which an indexed job succeeds before all its indexes have succeeded (KEP-3998).
func successPolicy(path *field.Path, s *batchv1.JobSpec) field.ErrorList {
	if s.SuccessPolicy == nil || s.Completions == nil {
		return nil
	}
	var f validation.Findings
	rules, n := path.Child("rules"), len(s.SuccessPolicy.Rules)
	f.AddIf(n == 0, field.Required(rules, "at least one rules must be specified when the successPolicy is specified"))
	f.Merge(validation.Few(rules, n, maxPolicyRules))
	for i := range s.SuccessPolicy.Rules {
		f.Merge(successRule(rules.Index(i), &s.SuccessPolicy.Rules[i], *s.Completions))
	}
	return f.Errs
}

func successRule(path *field.Path, r *batchv1.SuccessPolicyRule, completions int32) field.ErrorList {
	var f validation.Findings
	f.AddIf(r.SucceededCount == nil && r.SucceededIndexes == nil,
		field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	var total int32
	if list := r.SucceededIndexes; list != nil {
		path := path.Child("succeededIndexes")
		f.AddIf(len(*list) > maxSucceededIndexes, field.TooLong(path, "", maxSucceededIndexes))
		intervals, err := parseIndexes(*list, completions)
		if err != nil {
			f.Add(field.Invalid(path, *list, fmt.Sprintf("error parsing succeededIndexes: %s", err)))
		}
		for _, i := range intervals {
			total += i.last - i.first + 1
		}
	}
	if n := r.SucceededCount; n != nil {
		path := path.Child("succeededCount")
		f.Merge(validation.Nonnegative(path, *n))
		f.AddIf(*n > completions, field.Invalid(path, *n,
			fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
		f.AddIf(r.SucceededIndexes != nil && *n > total, field.Invalid(path, *n,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", total)))
	}
	return f.Errs
}

// interval is a range of indexes, from first to last, both included.
type interval struct{ first, last int32 }

// parseIndexes parses a list of indexes, such as "1,3-5". The indexes must increase, and must be below completions.
func parseIndexes(list string, completions int32) ([]interval, error) {
	var all []interval
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		i, err := parseInterval(text, completions)
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].last >= i.first {
			return nil, fmt.Errorf("non-increasing order, previous: %d, current: %d", all[n-1].last, i.first)
		}
		all = append(all, i)
	}
	return all, nil
}

func parseInterval(text string, completions int32) (interval, error) {
	ends := strings.Split(text, "-")
	if len(ends) > 2 {
		return interval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	var n [2]int32
	for i, end := range ends {
		v, err := strconv.Atoi(end)
		if err != nil {
			return interval{}, fmt.Errorf("cannot convert string to integer for index: %q", end)
		}
		if v >= int(completions) {
			return interval{}, fmt.Errorf("too large index: %q", end)
		}
		n[i] = int32(v)
	}
	if len(ends) == 1 {
		return interval{n[0], n[0]}, nil
	}
	if n[0] >= n[1] {
		return interval{}, fmt.Errorf("non-increasing order, previous: %d, current: %d", n[0], n[1])
	}
	return interval{n[0], n[1]}, nil
}
