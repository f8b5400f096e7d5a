package explain

import (
	"errors"
	"strings"

	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Conditions are match conditions of a webhook or policy, after their evaluation.
type Conditions struct {
	// All is the path of the list of match conditions. Field returns the path of a single condition.
	All           string
	Field         func(int) string
	FailurePolicy *admissionregistrationv1.FailurePolicyType
	Results       []cel.EvaluationResult
	// Err is the error that ended the evaluation, or nil.
	Err error
}

// Verdict says which condition rules the request out, or can't be evaluated. It returns nil if all conditions are true.
func (c Conditions) Verdict() *trace.Verdict {
	if c.Err != nil {
		return c.failed(c.All, []error{c.Err})
	}
	var errs []error
	field := c.All
	for i, result := range c.Results {
		if result.EvalResult == celtypes.False {
			return &trace.Verdict{Reason: trace.MatchConditionFalse, Field: c.Field(i), Want: strings.TrimSpace(result.ExpressionAccessor.GetExpression())}
		}
		if result.Error != nil {
			if len(errs) == 0 {
				field = c.Field(i)
			}
			errs = append(errs, result.Error)
		}
	}
	if len(errs) > 0 {
		return c.failed(field, errs)
	}
	return nil
}

// failed returns the verdict for conditions whose evaluation failed. The failurePolicy decides whether the request
// is refused.
func (c Conditions) failed(field string, errs []error) *trace.Verdict {
	verdict := &trace.Verdict{Reason: trace.MatchConditionRefused, Field: field, Want: string(admissionregistrationv1.Fail), Detail: errors.Join(errs...).Error()}
	if c.FailurePolicy != nil && *c.FailurePolicy == admissionregistrationv1.Ignore {
		verdict.Reason, verdict.Want = trace.MatchConditionFailed, string(*c.FailurePolicy)
	}
	for _, err := range errs {
		if errors.Is(err, apiservercel.ErrOutOfBudget) || strings.Contains(err.Error(), "cost limit exceeded") {
			verdict.Reason = trace.MatchConditionCost
		}
	}
	return verdict
}
