package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	celtypes "github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// conditions explains match conditions. The library's matcher keeps the errors of expressions to itself if the
// failurePolicy is Ignore, so the conditions are compiled and evaluated again.
type conditions struct {
	authorizer authorizer.UnconditionalAuthorizer
	compiler   func() cel.ConditionCompiler

	mu sync.Mutex
	// compiled has the conditions of the current webhooks.
	compiled map[webhook.WebhookAccessor]cel.ConditionEvaluator
}

// maxCompiled is the number of compiled webhooks above which those that may be gone are forgotten.
const maxCompiled = 100

func newCompiler() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
}

// explain returns nil if all conditions are true.
func (c *conditions) explain(ctx context.Context, m matching, matched match) *trace.Verdict {
	configured := m.hook.GetMatchConditions()
	if len(configured) == 0 {
		return nil
	}
	all := m.path + ".matchConditions"
	attributes, err := m.versions.VersionedAttribute(matched.kind)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: all, Detail: err.Error()}
	}
	request := cel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(attributes.GetResource()), metav1.GroupVersionKind(attributes.VersionedKind))
	results, _, err := c.evaluator(m.hook).ForInput(ctx, attributes, request, cel.OptionalVariableBindings{Authorizer: c.authorizer}, nil, celconfig.RuntimeCELCostBudgetMatchConditions)
	if err != nil {
		return failedCondition(m.hook, all, []error{err})
	}
	var errs []error
	field := all
	for i, result := range results {
		if result.EvalResult == celtypes.False {
			return &trace.Verdict{Reason: trace.MatchConditionFalse, Field: condition(all, i, configured), Want: strings.TrimSpace(configured[i].Expression)}
		}
		if result.Error != nil {
			if len(errs) == 0 {
				field = condition(all, i, configured)
			}
			errs = append(errs, result.Error)
		}
	}
	if len(errs) > 0 {
		return failedCondition(m.hook, field, errs)
	}
	return nil
}

// condition returns the path of a condition, with its name.
func condition(all string, i int, configured []admissionregistrationv1.MatchCondition) string {
	return fmt.Sprintf("%s[%d] (%s)", all, i, configured[i].Name)
}

// failedCondition returns the verdict of conditions that can't be evaluated: the failurePolicy decides.
func failedCondition(hook webhook.WebhookAccessor, field string, errs []error) *trace.Verdict {
	verdict := &trace.Verdict{Reason: trace.MatchConditionRefused, Field: field, Want: string(admissionregistrationv1.Fail), Detail: errors.Join(errs...).Error()}
	if policy := hook.GetFailurePolicy(); policy != nil && *policy == admissionregistrationv1.Ignore {
		verdict.Reason, verdict.Want = trace.MatchConditionFailed, string(*policy)
	}
	for _, err := range errs {
		if errors.Is(err, apiservercel.ErrOutOfBudget) || strings.Contains(err.Error(), "cost limit exceeded") {
			verdict.Reason = trace.MatchConditionCost
		}
	}
	return verdict
}

// evaluator returns the compiled conditions of a webhook.
func (c *conditions) evaluator(hook webhook.WebhookAccessor) cel.ConditionEvaluator {
	c.mu.Lock()
	defer c.mu.Unlock()
	if evaluator, ok := c.compiled[hook]; ok {
		return evaluator
	}
	if c.compiled == nil || len(c.compiled) >= maxCompiled {
		c.compiled = map[webhook.WebhookAccessor]cel.ConditionEvaluator{}
	}
	var expressions []cel.ExpressionAccessor
	for _, condition := range hook.GetMatchConditions() {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&condition))
	}
	c.compiled[hook] = c.compiler().CompileCondition(expressions, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
	return c.compiled[hook]
}
