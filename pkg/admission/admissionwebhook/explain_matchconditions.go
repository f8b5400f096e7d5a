package admissionwebhook

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// conditions explains match conditions. It compiles and evaluates them again: with the failurePolicy Ignore,
// k8s.io/apiserver's matcher doesn't return the errors of expressions.
type conditions struct {
	authorizer authorizer.UnconditionalAuthorizer
	compiler   func() cel.ConditionCompiler

	mu sync.Mutex
	// compiled has the compiled conditions of webhooks that were explained.
	compiled map[webhook.WebhookAccessor]cel.ConditionEvaluator
}

// maxCompiled bounds the number of webhooks whose compiled conditions are kept. At this number, all entries are
// dropped, because some may belong to webhooks that don't exist any more.
const maxCompiled = 100

func newCompiler() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
}

// explain returns the verdict of the condition that rules the webhook out, or that can't be evaluated. It returns nil
// if all conditions are true.
func (c *conditions) explain(ctx context.Context, m matching, matched explain.Match) *trace.Verdict {
	configured := m.hook.GetMatchConditions()
	if len(configured) == 0 {
		return nil
	}
	all := m.Path + ".matchConditions"
	attributes, err := m.versions.VersionedAttribute(matched.Kind)
	if err != nil {
		return &trace.Verdict{Reason: trace.MatchFailed, Field: all, Detail: err.Error()}
	}
	request := cel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(attributes.GetResource()), metav1.GroupVersionKind(attributes.VersionedKind))
	results, _, err := c.evaluator(m.hook).ForInput(ctx, attributes, request, cel.OptionalVariableBindings{Authorizer: c.authorizer}, nil, celconfig.RuntimeCELCostBudgetMatchConditions)
	return explain.Conditions{
		All: all, Field: func(i int) string { return fmt.Sprintf("%s[%d] (%s)", all, i, configured[i].Name) },
		FailurePolicy: m.hook.GetFailurePolicy(), Results: results, Err: err,
	}.Verdict()
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
