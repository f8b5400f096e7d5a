package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

const ignore, fail = admissionregistrationv1.Ignore, admissionregistrationv1.Fail

// matchPromises has the rows of the matrix about the choice of webhooks by selectors and conditions.
var matchPromises = []crossPromise{
	{
		name:   "objectSelector",
		says:   "The object selector is compared with each object of the review that can have labels: a missing one, and one of another kind, never match",
		source: dynamic + "Matching requests: objectSelector",
		check: func(c *cell) {
			before := c.prepare()
			c.selecting("opt", []string{"new", "old"}, func(h *trial.Hook, s *metav1.LabelSelector) { h.ObjectSelector = s }, func(s labels.Selector) bool {
				return slices.ContainsFunc(c.labels, func(value string) bool {
					set := labels.Set{}
					if value != "" {
						set["opt"] = value
					}
					return s.Matches(set)
				})
			}, before)
		},
	},
	{
		name:   "namespaceSelector",
		says:   "The namespace selector is compared with the labels of the namespace of the request; without a namespace, it has no effect",
		source: dynamic + "Matching requests: namespaceSelector",
		check: func(c *cell) {
			before := c.prepare()
			c.selecting("kubernetes.io/metadata.name", []string{c.Namespace(), "other"}, func(h *trial.Hook, s *metav1.LabelSelector) { h.NamespaceSelector = s }, func(s labels.Selector) bool {
				return !c.target.Namespaced || s.Matches(labels.Set{"kubernetes.io/metadata.name": c.Namespace()})
			}, before)
		},
	},
	{
		name:   "conditions",
		says:   "Match conditions see the objects, the request with its options and user, and the authorizer",
		source: dynamic + matchConditions,
		check: func(c *cell) {
			before := c.prepare()
			expression := c.condition()
			var hooks []*trial.Hook
			for name, condition := range map[string]string{"true": expression, "false": "!(" + expression + ")"} {
				hooks = append(hooks, c.mutating("mutating-"+name, trial.Allow(), trial.When("condition", condition)), c.validating("validating-"+name, trial.Allow(), trial.When("condition", condition)))
			}
			c.Install(hooks...)
			c.passed(c.send(), before)
			c.calledEach("mutating-true", "validating-true")
		},
	},
	{
		name:   "conditionFails",
		says:   "If a match condition fails to evaluate, the webhook isn't called: Fail refuses the request, and Ignore lets it go on",
		source: dynamic + matchConditions,
		check: func(c *cell) {
			broken := func(short string) trial.Change {
				return trial.When("broken", fmt.Sprintf("object.none == %q && oldObject.none == %q", short, short))
			}
			no := trial.Deny(http.StatusTeapot, "no")
			before := c.prepare()
			c.Install(c.mutating("a", no, broken("a"), trial.Fails(ignore)), c.validating("b", no, broken("b"), trial.Fails(ignore)))
			for _, hook := range []*trial.Hook{c.validating("c", no, broken("c")), c.mutating("d", no, broken("d"))} {
				c.Install(hook)
				c.send().Refused(http.StatusForbidden, fmt.Sprintf("== %q", hook.Short))
				c.Called()
				c.untouched(before)
			}
			c.Delete(trial.MutatingConfigurations, c.Name("d"), nil).OK()
			c.Delete(trial.ValidatingConfigurations, c.Name("c"), nil).OK()
			c.Install(c.mutating("e", trial.Allow()), c.validating("f", trial.Allow()))
			c.passed(c.send(), before)
			c.calledEach("e", "f")
		},
	},
}

// condition returns a CEL expression that is true for the reviews of the request.
func (c *cell) condition() string {
	expression := fmt.Sprintf("request.operation == %q && request.resource.group == %q && request.resource.resource == %q && request.kind.kind == %q && !request.dryRun && (oldObject == null) == %t && (object == null) == %t",
		c.admitted, c.target.Group, c.target.Name, c.target.Kind, !c.hasOld(), c.sends == nil)
	expression += fmt.Sprintf(" && request.userInfo.groups.exists(g, g == %q) && authorizer.requestResource.check('get') != null", "system:authenticated")
	if c.target.Subresource != "" {
		expression += fmt.Sprintf(" && request.subResource == %q", c.target.Subresource)
	}
	if c.options() != "" {
		expression += fmt.Sprintf(" && request.options.kind == %q", c.options())
	}
	if c.sends != nil {
		expression += fmt.Sprintf(" && object.kind == %q", c.target.Kind)
	}
	if c.hasOld() {
		expression += fmt.Sprintf(" && oldObject.metadata.name in [%q, %q]", c.names[0], c.names[len(c.names)-1])
	}
	return expression
}

// selecting installs a mutating and a validating webhook for each kind of selector of a label. It makes the request, and
// checks that exactly the webhooks were called whose selector matches.
func (c *cell) selecting(label string, values []string, set func(*trial.Hook, *metav1.LabelSelector), matches func(labels.Selector) bool, before []any) {
	requirements := []metav1.LabelSelectorRequirement{
		{Key: label, Operator: metav1.LabelSelectorOpExists}, {Key: label, Operator: metav1.LabelSelectorOpDoesNotExist},
		{Key: "none", Operator: metav1.LabelSelectorOpExists}, {Key: "none", Operator: metav1.LabelSelectorOpDoesNotExist},
	}
	for _, value := range values {
		requirements = append(requirements, metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpIn, Values: []string{value}},
			metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}})
	}
	var mutating, validating []*trial.Hook
	want := []string{}
	for i, requirement := range requirements {
		selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			c.FailNow("a selector", err.Error())
		}
		change := func(h *trial.Hook) { set(h, selector) }
		m, v := c.mutating(fmt.Sprintf("mutating-%d-%s", i, parsed), trial.Allow(), change), c.validating(fmt.Sprintf("validating-%d-%s", i, parsed), trial.Allow(), change)
		for _, h := range []*trial.Hook{m, v} {
			h.Name = fmt.Sprintf("%s-%d.conformance.miniapi.dev", map[bool]string{true: "mutating", false: "validating"}[h == m], i)
			if matches(parsed) {
				want = append(want, h.Short)
			}
		}
		mutating, validating = append(mutating, m), append(validating, v)
	}
	c.InstallTogether("mutating", mutating...)
	c.InstallTogether("validating", validating...)
	c.passed(c.send(), before)
	want = slices.Repeat(want, len(c.names))
	slices.Sort(want)
	c.Equal("the hooks that are called", want, inAnyOrder(c.T))
}
