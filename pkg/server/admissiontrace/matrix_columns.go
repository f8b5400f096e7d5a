package admissiontrace

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// column is a column of the Matrix: a webhook or a policy. It also has the data from which the cells are
// computed.
type column struct {
	MatrixColumn
	// plugin is the name of the admission plugin that calls the webhook or evaluates the policy.
	plugin string
	// exemption returns the reason why the plugin ignores a request completely, or nil. The argument "hidden" says that
	// the server hides the resource from the plugin.
	exemption func(attributes admission.Attributes, hidden bool) *trace.Verdict
	// "constraints" has the rules and selectors of the webhook or the policy. "bindings" has the rules and
	// selectors of each binding of the policy. The policy is evaluated only if one of the bindings matches.
	// "bindings" is nil for a webhook.
	constraints explain.Constraints
	bindings    []explain.Constraints
	// never are operations that the plugin doesn't handle.
	never []admission.Operation
}

// takes tells whether a request matches the rules of the webhook, or the rules of the policy and of one of its
// bindings. It returns false for the operations in the field never. If the rules of the webhook or the policy match
// only an equivalent resource of the request's resource, takes also returns the equivalent resource.
func (c column) takes(attributes admission.Attributes, interfaces admission.ObjectInterfaces) (*trace.Resource, bool) {
	taken := func(constraints explain.Constraints) (*trace.Resource, bool) {
		return explain.Matching{Constraints: constraints, Attributes: attributes, Interfaces: interfaces}.RulesMatch()
	}
	as, takes := taken(c.constraints)
	if !takes || slices.Contains(c.never, attributes.GetOperation()) {
		return nil, false
	}
	bound := c.bindings == nil || slices.ContainsFunc(c.bindings, func(binding explain.Constraints) bool {
		_, takes := taken(binding)
		return takes
	})
	return as, bound
}

// columns returns a column for each policy and each webhook, in the order in which their plugins run.
func (r configurationReader) columns(ctx context.Context) ([]column, error) {
	var all []column
	for _, read := range []func(context.Context) ([]column, error){r.mutatingPolicyColumns, r.mutatingWebhookColumns, r.validatingPolicyColumns, r.validatingWebhookColumns} {
		columns, err := read(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, columns...)
	}
	return all, nil
}

func (r configurationReader) mutatingWebhookColumns(ctx context.Context) ([]column, error) {
	configurations, err := r.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []column
	for _, configuration := range configurations.Items {
		for i := range configuration.Webhooks {
			all = append(all, webhookColumn(trace.MutatingConfiguration, webhook.NewMutatingWebhookAccessor("", configuration.Name, &configuration.Webhooks[i])))
		}
	}
	return all, nil
}

func (r configurationReader) validatingWebhookColumns(ctx context.Context) ([]column, error) {
	configurations, err := r.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []column
	for _, configuration := range configurations.Items {
		for i := range configuration.Webhooks {
			all = append(all, webhookColumn(trace.ValidatingConfiguration, webhook.NewValidatingWebhookAccessor("", configuration.Name, &configuration.Webhooks[i])))
		}
	}
	return all, nil
}

func webhookColumn(kind string, hook webhook.WebhookAccessor) column {
	c := column{plugin: trace.PluginOf(kind), exemption: explain.Exemption, constraints: explain.Webhook(hook)}
	c.Reference = trace.Reference{Kind: kind, Name: hook.GetConfigurationName(), Part: hook.GetName()}
	c.selected("", hook.GetNamespaceSelector(), hook.GetObjectSelector())
	c.conditioned(hook.GetMatchConditions())
	return c
}

func (r configurationReader) mutatingPolicyColumns(ctx context.Context) ([]column, error) {
	bindings, err := r.MutatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	policies, err := r.MutatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []column
	for _, policy := range policies.Items {
		c := policyColumn(trace.MutatingPolicy, policy.Name, policy.Spec.MatchConstraints, policy.Spec.MatchConditions)
		c.never = []admission.Operation{admission.Delete} // a deletion has no object to mutate
		for _, binding := range bindings.Items {
			if binding.Spec.PolicyName == policy.Name {
				c.bind(binding.Name, binding.Spec.MatchResources)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

func (r configurationReader) validatingPolicyColumns(ctx context.Context) ([]column, error) {
	bindings, err := r.ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	policies, err := r.ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all []column
	for _, policy := range policies.Items {
		c := policyColumn(trace.ValidatingPolicy, policy.Name, policy.Spec.MatchConstraints, policy.Spec.MatchConditions)
		for _, binding := range bindings.Items {
			if binding.Spec.PolicyName == policy.Name {
				c.bind(binding.Name, binding.Spec.MatchResources)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// policyColumn returns the column of a policy. The method bind adds the bindings of the policy.
func policyColumn(kind, name string, matches *admissionregistrationv1.MatchResources, conditions []admissionregistrationv1.MatchCondition) column {
	if matches == nil {
		matches = &admissionregistrationv1.MatchResources{}
	}
	c := column{plugin: trace.PluginOf(kind), exemption: explain.PolicyExemption, constraints: explain.Resources(matches), bindings: []explain.Constraints{}}
	c.Reference, c.Unbound = trace.Reference{Kind: kind, Name: name}, true
	c.selected("", matches.NamespaceSelector, matches.ObjectSelector)
	c.conditioned(conditions)
	return c
}

// bind adds a binding to the column of a policy.
func (c *column) bind(name string, matches *admissionregistrationv1.MatchResources) {
	if matches == nil {
		matches = &admissionregistrationv1.MatchResources{}
	}
	c.Unbound = false
	c.bindings = append(c.bindings, explain.Resources(matches))
	c.selected("binding "+name+": ", matches.NamespaceSelector, matches.ObjectSelector)
}

// selected adds the selectors that aren't empty to the field Conditional of the column.
func (c *column) selected(prefix string, namespaces, objects *metav1.LabelSelector) {
	for _, each := range []struct {
		field    string
		selector *metav1.LabelSelector
	}{{"namespaceSelector", namespaces}, {"objectSelector", objects}} {
		if each.selector != nil && len(each.selector.MatchLabels)+len(each.selector.MatchExpressions) > 0 {
			c.Conditional = append(c.Conditional, prefix+each.field+": "+metav1.FormatLabelSelector(each.selector))
		}
	}
}

func (c *column) conditioned(conditions []admissionregistrationv1.MatchCondition) {
	for _, condition := range conditions {
		c.Conditional = append(c.Conditional, fmt.Sprintf("matchCondition %s: %s", condition.Name, condition.Expression))
	}
}
