// Package policycheck finds what is wrong with policies, their bindings, webhook configurations and custom resource
// definitions before any request: what a server refuses or warns about, and what can never match. [Check] is the way in.
//
// Don't use the package to judge webhooks: the suite of "miniapi conformance webhook" does that.
package policycheck

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi"
)

// Finding is something wrong with an object.
type Finding struct {
	// Source is the file and the document of the object.
	Source string `json:"source"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	// Field is the path of the field that is wrong, or "" if the text names it.
	Field string `json:"field,omitempty"`
	Text  string `json:"text"`
	// Refused is true if the server doesn't accept the object.
	Refused bool `json:"refused,omitempty"`
}

// String returns the finding on one line.
func (f Finding) String() string {
	text := f.Source + ": " + f.Kind + " " + f.Name + ": "
	if f.Field != "" {
		text += f.Field + ": "
	}
	return text + f.Text
}

// Wanted reports whether objects of a kind are checked: custom resource definitions, and what configures admission.
func Wanted(kind schema.GroupVersionKind) bool {
	return kind.Group == admissionregistrationv1.GroupName || kind.Group == manifests.DefinitionGroup
}

// Check applies objects to a server, the definitions first, and returns what is wrong with them, in the order of the
// objects.
func Check(ctx context.Context, config *rest.Config, objects []manifests.Object) ([]Finding, error) {
	c := &checker{found: make([][]Finding, len(objects)), objects: objects}
	for _, definitions := range []bool{true, false} {
		for i, object := range objects {
			if manifests.IsDefinition(object.GroupVersionKind()) != definitions {
				continue
			}
			if err := c.apply(ctx, config, i); err != nil {
				return nil, err
			}
		}
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // if only some groups fail, use the others
		return nil, fmt.Errorf("reading the resources of the server: %w", err)
	}
	c.served = resources.Of(lists)
	c.types = &validating.TypeChecker{
		// As kube-apiserver, take the types of built-in kinds from Go, because the OpenAPI documents say less about them.
		SchemaResolver: resolver.NewDefinitionsSchemaResolver(generatedopenapi.GetOpenAPIDefinitions, builtin.Table().Scheme()).
			Combine(&resolver.ClientDiscoveryResolver{Discovery: client}),
		RestMapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}
	for i := range objects {
		c.check(i)
	}
	var all []Finding
	for _, found := range c.found {
		all = append(all, found...)
	}
	return all, nil
}

type checker struct {
	objects []manifests.Object
	// found has the findings by the index of the object.
	found  [][]Finding
	served []resources.Resource
	// types compares expressions with the types of the objects that a policy matches.
	types *validating.TypeChecker
}

func (c *checker) add(i int, field, format string, args ...any) {
	object := c.objects[i]
	c.found[i] = append(c.found[i], Finding{Source: object.Source, Kind: object.GetKind(), Name: object.GetName(), Field: field, Text: fmt.Sprintf(format, args...)})
}

// apply applies an object. The refusal and the warnings of the server are findings, and any other error ends the check.
func (c *checker) apply(ctx context.Context, config *rest.Config, i int) error {
	object := c.objects[i]
	applier := manifests.Applier{Config: config, Warn: func(_ manifests.Object, text string) { c.add(i, "", "%s", text) }}
	applier.SkipUnknown = func(manifests.Object) {
		c.add(i, "apiVersion", "the server doesn't serve %s in %s", object.GetKind(), object.GetAPIVersion())
		c.refused(i)
	}
	err := applier.Apply(ctx, []manifests.Object{object})
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := err.Error()
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		text = status.Status().Message
	case !manifests.IsDefinition(object.GroupVersionKind()): // the applier itself says why a definition isn't established
		return err
	}
	c.add(i, "", "%s", text)
	c.refused(i)
	return nil
}

// refused marks the last finding of an object as a refusal.
func (c *checker) refused(i int) { c.found[i][len(c.found[i])-1].Refused = true }

func (c *checker) isRefused(i int) bool {
	return slices.ContainsFunc(c.found[i], func(f Finding) bool { return f.Refused })
}

// check finds what can never match. An object that can't be decoded has been refused already.
func (c *checker) check(i int) {
	object := c.objects[i]
	decode := func(into any) bool {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into) == nil
	}
	switch object.GetKind() {
	case trace.ValidatingPolicy, trace.MutatingPolicy:
		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{} // both kinds have these fields
		if decode(policy) {
			c.constraints(i, policy.Spec.MatchConstraints, "spec.matchConstraints")
			c.bound(i, policy.Spec.ParamKind != nil)
		}
		if object.GetKind() == trace.ValidatingPolicy && !c.isRefused(i) {
			for _, warning := range c.types.Check(policy) {
				c.add(i, warning.FieldRef, "%s", warning.Warning)
			}
		}
	case trace.ValidatingPolicy + "Binding", trace.MutatingPolicy + "Binding":
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		if decode(binding) {
			c.constraints(i, binding.Spec.MatchResources, "spec.matchResources")
			c.binding(i, binding.Spec)
		}
	case trace.ValidatingConfiguration, trace.MutatingConfiguration:
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{} // both kinds have these fields
		if decode(configuration) {
			for n, webhook := range configuration.Webhooks {
				field := fmt.Sprintf("webhooks[%d]", n)
				for r, rule := range webhook.Rules {
					c.rule(i, rule, fmt.Sprintf("%s.rules[%d]", field, r))
				}
				c.selectors(i, webhook.NamespaceSelector, webhook.ObjectSelector, field)
			}
		}
	}
}

// constraints checks the rules and the selectors of a policy or a binding.
func (c *checker) constraints(i int, constraints *admissionregistrationv1.MatchResources, field string) {
	if constraints == nil {
		return
	}
	for r, rule := range constraints.ResourceRules {
		c.rule(i, rule.RuleWithOperations, fmt.Sprintf("%s.resourceRules[%d]", field, r))
	}
	c.selectors(i, constraints.NamespaceSelector, constraints.ObjectSelector, field)
}

func (c *checker) selectors(i int, namespaces, objects *metav1.LabelSelector, field string) {
	for name, selector := range map[string]*metav1.LabelSelector{"namespaceSelector": namespaces, "objectSelector": objects} {
		if why := contradiction(selector); why != "" {
			c.add(i, field+"."+name, "can match nothing: %s", why)
		}
	}
}

// bound checks that a policy has a binding.
func (c *checker) bound(i int, parameters bool) {
	policy, found := c.objects[i], false
	for n, object := range c.objects {
		spec, _ := object.Object["spec"].(map[string]any)
		if object.GetKind() != policy.GetKind()+"Binding" || spec["policyName"] != policy.GetName() {
			continue
		}
		found = true
		if _, has := spec["paramRef"]; has != parameters {
			if parameters {
				c.add(n, "spec.paramRef", "must be set, because %s %s has a paramKind: without it, params is null", policy.GetKind(), policy.GetName())
			} else {
				c.add(n, "spec.paramRef", "has no effect, because %s %s has no paramKind", policy.GetKind(), policy.GetName())
			}
		}
	}
	if !found {
		c.add(i, "", "has no binding here, so it is never evaluated: add a %sBinding with the policyName %s", policy.GetKind(), policy.GetName())
	}
}

// binding checks that the policy of a binding exists.
func (c *checker) binding(i int, spec admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
	kind := c.objects[i].GetKind()
	for _, object := range c.objects {
		if object.GetKind()+"Binding" == kind && object.GetName() == spec.PolicyName {
			return
		}
	}
	c.add(i, "spec.policyName", "there is no policy %q here, so the binding has no effect", spec.PolicyName)
}
