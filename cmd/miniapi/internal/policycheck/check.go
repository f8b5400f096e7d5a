// Package policycheck finds what is wrong with policies, their bindings, webhook configurations and custom resource
// definitions before any request: what a server refuses or warns about, and what can never match. [Check] is the way in.
//
// Don't use the package to judge webhooks: the suite of "miniapi conformance webhook" does that.
package policycheck

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi"
)

// Finding is something wrong with an object.
type Finding struct {
	// Source is the file and the document of the object.
	Source string `json:"source"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	// Line is the line of the field or, if the object lacks it, of the nearest field around it. It is 0 if the object isn't
	// from a file.
	Line int `json:"line,omitempty"`
	// Field is the path of the field that is wrong, or "" if the text names it.
	Field string `json:"field,omitempty"`
	// Severity is Error for what can't work or harms the cluster, Warning, or Advice.
	Severity string `json:"severity"`
	// Text says what is wrong, and what would be right.
	Text string `json:"text"`
	// Refused is true if the server doesn't accept the object.
	Refused bool `json:"refused,omitempty"`
}

// The severities of findings. Advice is about a recommendation that other reasons may outweigh.
const (
	Error   = string(webhooksuite.LevelError)
	Warning = string(webhooksuite.LevelWarning)
	Advice  = string(webhooksuite.LevelAdvice)
)

// String returns the finding. A compiler's message in it may have further lines, with the text of the expression.
func (f Finding) String() string {
	text := f.Source
	if f.Line > 0 {
		text = fmt.Sprintf("%s:%d", manifests.FileOf(f.Source), f.Line)
	}
	text += ": " + f.Severity + ": " + f.Kind + " " + f.Name + ": "
	if f.Field != "" {
		text += f.Field + ": "
	}
	return text + f.Text
}

// Read reports whether objects of a kind are read: those that are checked, and those that the checks depend on, which
// are namespaces, services and roles.
func Read(kind schema.GroupVersionKind) bool {
	return Wanted(kind) || kind.Group == rbacv1.GroupName || kind.Group == "" && (kind.Kind == "Namespace" || kind.Kind == "Service")
}

// Wanted reports whether objects of a kind are checked: custom resource definitions, and what configures admission.
func Wanted(kind schema.GroupVersionKind) bool {
	return kind.Group == admissionregistrationv1.GroupName || kind.Group == manifests.DefinitionGroup
}

// Check applies objects to a server, the definitions first, and returns what is wrong with them, in the order of the
// objects and their lines. The argument older is a version of Kubernetes that the server can't emulate, or nil: of this version, Check
// finds what is known about the policies.
func Check(ctx context.Context, config *rest.Config, objects []manifests.Object, older *version.Version) ([]Finding, error) {
	c := &checker{found: make([][]Finding, len(objects)), objects: objects}
	if err := applyServices(ctx, config, objects); err != nil {
		return nil, err
	}
	for _, definitions := range []bool{true, false} {
		for i, object := range objects {
			if manifests.IsDefinition(object.GroupVersionKind()) != definitions || !Wanted(object.GroupVersionKind()) {
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
	if c.grants, err = grantsOf(ctx, config, objects); err != nil {
		return nil, err
	}
	for i := range objects {
		c.check(i)
		if older != nil {
			c.older(i, older)
		}
	}
	if err := c.webhooks(ctx); err != nil {
		return nil, err
	}
	var all []Finding
	var files source.Files
	for i, found := range c.found {
		at := files.Find(manifests.FileOf(objects[i].Source), objects[i].GetKind(), objects[i].GetName())
		for n := range found {
			if at != nil {
				found[n].Line = at.Line(source.ParsePath(found[n].Field))
			}
		}
		slices.SortStableFunc(found, func(a, b Finding) int { return a.Line - b.Line })
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
	// grants are the rules of all roles.
	grants []rbacv1.PolicyRule
}

// add adds a warning.
func (c *checker) add(i int, field, format string, args ...any) {
	c.addAs(Warning, i, field, fmt.Sprintf(format, args...))
}

func (c *checker) addAs(severity string, i int, field, text string) {
	object := c.objects[i]
	c.found[i] = append(c.found[i], Finding{Source: object.Source, Kind: object.GetKind(), Name: object.GetName(), Field: field, Severity: severity, Text: strings.TrimSpace(text)})
}

// fieldOfWarning is the path at the beginning of a warning of the server.
var fieldOfWarning = regexp.MustCompile(`^(metadata|spec|webhooks)[][.\w]*: `)

// apply applies an object. The refusal and the warnings of the server are findings, and any other error ends the check.
func (c *checker) apply(ctx context.Context, config *rest.Config, i int) error {
	object := c.objects[i]
	applier := manifests.Applier{Config: config, Warn: func(_ manifests.Object, text string) {
		field := strings.TrimSuffix(fieldOfWarning.FindString(text), ": ")
		c.add(i, field, "%s", strings.TrimPrefix(text, field+": "))
	}}
	applier.SkipUnknown = func(manifests.Object) {
		c.refuse(i, "apiVersion", fmt.Sprintf("the server doesn't serve %s in %s", object.GetKind(), object.GetAPIVersion()))
	}
	err := applier.Apply(ctx, []manifests.Object{object})
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0:
		for _, cause := range status.Status().Details.Causes {
			c.refuse(i, cause.Field, cause.Message)
		}
	case errors.As(err, &status):
		c.refuse(i, "", status.Status().Message)
	case manifests.IsDefinition(object.GroupVersionKind()): // the applier itself says why a definition isn't established
		c.refuse(i, "", err.Error())
	default:
		return err
	}
	return nil
}

// refuse adds a refusal of the server.
func (c *checker) refuse(i int, field, text string) {
	c.addAs(Error, i, field, text)
	c.found[i][len(c.found[i])-1].Refused = true
}

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
		c.authorizes(i)
		c.typed(i, policy)
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
			c.authorizes(i)
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
