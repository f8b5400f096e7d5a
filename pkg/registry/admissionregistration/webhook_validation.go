package admissionregistration

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// webhookRules selects the validation rules that don't apply to every request. The selection depends on the API version
// of the request, and on the stored object. storedExpressions are the expressions of the stored match conditions.
type webhookRules struct {
	noSideEffects, knownReviewVersion, uniqueNames bool
	anyLabelValue, keepsMatchConditions            bool
	storedExpressions                              sets.Set[string]
}

var (
	webhookRulesV1      = webhookRules{noSideEffects: true, knownReviewVersion: true, uniqueNames: true}
	webhookRulesV1beta1 = webhookRules{knownReviewVersion: true}
)

// onUpdate returns the rules for an update. hooks are the new webhooks, and old are the stored webhooks. onUpdate
// turns off each rule that the stored webhooks break, so that a client can still change an object that was stored
// before the rule existed.
func (r webhookRules) onUpdate(hooks, old []admissionregistrationv1.MutatingWebhook) webhookRules {
	names := sets.New[string]()
	r.keepsMatchConditions = len(hooks) == len(old)
	r.storedExpressions = sets.New[string]()
	for i, hook := range old {
		r.noSideEffects = r.noSideEffects && slices.Contains(harmless, ptr.Deref(hook.SideEffects, ""))
		r.knownReviewVersion = r.knownReviewVersion &&
			(len(hook.AdmissionReviewVersions) == 0 || slices.ContainsFunc(hook.AdmissionReviewVersions, isReviewVersion))
		r.uniqueNames = r.uniqueNames && !names.Has(hook.Name)
		names.Insert(hook.Name)
		for _, selector := range []*metav1.LabelSelector{hook.NamespaceSelector, hook.ObjectSelector} {
			invalid := len(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, nil)) > 0
			r.anyLabelValue = r.anyLabelValue || invalid
		}
		r.keepsMatchConditions = r.keepsMatchConditions &&
			reflect.DeepEqual(hooks[i].MatchConditions, hook.MatchConditions)
		for _, c := range hook.MatchConditions {
			r.storedExpressions.Insert(c.Expression)
		}
	}
	return r
}

// webhooks checks a webhook configuration. hooks are the webhooks of the configuration. rules selects validation rules.
func webhooks(configuration metav1.Object, hooks []admissionregistrationv1.MutatingWebhook, rules webhookRules) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMetaAccessor(configuration, false, apivalidation.NameIsDNSSubdomain, validation.MetadataPath)}
	names := sets.New[string]()
	for i := range hooks {
		path := field.NewPath("webhooks").Index(i)
		name := hooks[i].Name
		f.Merge(admissionWebhook(&hooks[i], rules, path),
			reviewVersions(path.Child("admissionReviewVersions"), hooks[i].AdmissionReviewVersions, rules.knownReviewVersion))
		f.AddIf(rules.uniqueNames && name != "" && names.Has(name), field.Duplicate(path.Child("name"), name))
		names.Insert(name)
	}
	return f.Errs
}

var (
	sideEffects = []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
		admissionregistrationv1.SideEffectClassSome, admissionregistrationv1.SideEffectClassUnknown}
	harmless = []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun}

	failurePolicies      = []admissionregistrationv1.FailurePolicyType{admissionregistrationv1.Fail, admissionregistrationv1.Ignore}
	matchPolicies        = []admissionregistrationv1.MatchPolicyType{admissionregistrationv1.Equivalent, admissionregistrationv1.Exact}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy}
	ruleScopes           = []admissionregistrationv1.ScopeType{admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope}
	operations           = []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Delete, admissionregistrationv1.Update}
)

func admissionWebhook(hook *admissionregistrationv1.MutatingWebhook, rules webhookRules, path *field.Path) field.ErrorList {
	f := validation.Findings{Errs: utilvalidation.IsFullyQualifiedName(path.Child("name"), hook.Name)}
	for i, r := range hook.Rules {
		f.Merge(admissionRule(&r, path.Child("rules").Index(i)))
	}
	f.Merge(validation.OptionalOneOf(path.Child("failurePolicy"), hook.FailurePolicy, failurePolicies...))
	f.Merge(validation.OptionalOneOf(path.Child("matchPolicy"), hook.MatchPolicy, matchPolicies...))

	allowed := sideEffects
	if rules.noSideEffects {
		allowed = harmless
	}
	f.AddIf(hook.SideEffects == nil, field.Required(path.Child("sideEffects"), "must specify one of "+list(allowed)))
	f.Merge(validation.OptionalOneOf(path.Child("sideEffects"), hook.SideEffects, allowed...))

	if s := hook.TimeoutSeconds; s != nil {
		f.AddIf(*s < 1 || *s > 30, field.Invalid(path.Child("timeoutSeconds"), *s,
			"the timeout value must be between 1 and 30 seconds"))
	}
	opts := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: rules.anyLabelValue}
	f.Merge(metav1validation.ValidateLabelSelector(hook.NamespaceSelector, opts, path.Child("namespaceSelector")))
	f.Merge(metav1validation.ValidateLabelSelector(hook.ObjectSelector, opts, path.Child("objectSelector")))
	f.Merge(validation.OptionalOneOf(path.Child("reinvocationPolicy"), hook.ReinvocationPolicy, reinvocationPolicies...))
	f.Merge(webhookClient(&hook.ClientConfig, path.Child("clientConfig")))
	if !rules.keepsMatchConditions {
		f.Merge(matchConditions(hook.MatchConditions, false, rules.storedExpressions, path.Child("matchConditions")))
	}
	return f.Errs
}

func webhookClient(c *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	default:
		// As in kube-apiserver, this call swaps the name and the namespace. Therefore, an error about a missing
		// name has the path of the namespace, and an error about a missing namespace has the path of the name.
		return webhook.ValidateWebhookService(path.Child("service"), c.Service.Name, c.Service.Namespace,
			c.Service.Path, ptr.Deref(c.Service.Port, 0))
	}
}

// reviewVersionNames are the versions of AdmissionReview that the server can send.
var reviewVersionNames = []string{"v1", "v1beta1"}

func isReviewVersion(v string) bool { return slices.Contains(reviewVersionNames, v) }

func reviewVersions(path *field.Path, versions []string, oneKnown bool) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+list(reviewVersionNames))}
	}
	var f validation.Findings
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			f.Add(field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		f.Merge(validation.Follows(utilvalidation.IsDNS1035Label, path.Index(i), v))
	}
	f.AddIf(oneKnown && !slices.ContainsFunc(versions, isReviewVersion),
		field.Invalid(path, versions, "must include at least one of "+list(reviewVersionNames)))
	return f.Errs
}

// list formats values as a list in a sentence.
func list[T ~string](values []T) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}

// admissionRule checks a rule, by which a webhook or a policy selects requests.
func admissionRule(r *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	var f validation.Findings
	f.Merge(wildcardAlone(path.Child("operations"), r.Operations, "operations"))
	for i, op := range r.Operations {
		f.Merge(validation.OneOf(path.Child("operations").Index(i), op, operations...))
	}
	f.Merge(wildcardAlone(path.Child("apiGroups"), r.APIGroups, "API groups"))
	f.Merge(wildcardAlone(path.Child("apiVersions"), r.APIVersions, "API versions"))
	// An empty group is valid, because it is the core group. An empty version is invalid.
	for i, v := range r.APIVersions {
		f.AddIf(v == "", field.Required(path.Child("apiVersions").Index(i), ""))
	}
	f.Merge(ruleResources(r.Resources, path.Child("resources")))
	f.Merge(validation.OptionalOneOf(path.Child("scope"), r.Scope, ruleScopes...))
	return f.Errs
}

// wildcardAlone checks that a list isn't empty. If it contains "*", it must have no other item. The argument "what"
// is the name of the items in the error.
func wildcardAlone[T ~string](path *field.Path, values []T, what string) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(values) == 0, field.Required(path, ""))
	f.AddIf(len(values) > 1 && slices.Contains(values, "*"),
		field.Invalid(path, values, "if '*' is present, must not specify other "+what))
	return f.Errs
}

// ruleResources checks the resources of a rule. Valid forms are x, x/y, x/*, */y, * and */*. A wildcard must not match
// a later item.
func ruleResources(resources []string, path *field.Path) field.ErrorList {
	var f validation.Findings
	f.AddIf(len(resources) == 0, field.Required(path, ""))
	anySubresource, anyResource := sets.New[string](), sets.New[string]()
	var plain bool
	for i, r := range resources {
		resource, sub, slash := strings.Cut(r, "/")
		switch {
		case r == "":
			f.Add(field.Required(path.Index(i), ""))
			continue
		case !slash:
			// kube-apiserver has the same mistake: of several items without a slash, only the last one counts.
			plain = r != "*"
			continue
		}
		const overlap = "if '%s/%s' is present, must not specify %s"
		f.AddIf(anySubresource.Has(resource), field.Invalid(path.Index(i), r, fmt.Sprintf(overlap, resource, "*", r)))
		f.AddIf(anyResource.Has(sub), field.Invalid(path.Index(i), r, fmt.Sprintf(overlap, "*", sub, r)))
		if sub == "*" {
			anySubresource.Insert(resource)
		}
		if resource == "*" {
			anyResource.Insert(sub)
		}
	}
	f.AddIf(len(resources) > 1 && slices.Contains(resources, "*/*"),
		field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	f.AddIf(plain && slices.Contains(resources, "*"),
		field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	return f.Errs
}
