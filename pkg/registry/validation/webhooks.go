package validation

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/utils/ptr"
)

// ValidatingWebhookConfiguration checks a new configuration sent as v1.
func ValidatingWebhookConfiguration(o *admissionv1.ValidatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, validatingHooks(o), webhookRulesV1)
}

// ValidatingWebhookConfigurationUpdate checks a configuration, sent as v1, that
// replaces another.
func ValidatingWebhookConfigurationUpdate(o, old *admissionv1.ValidatingWebhookConfiguration) field.ErrorList {
	hooks, was := validatingHooks(o), validatingHooks(old)
	return webhooks(&o.ObjectMeta, hooks, webhookRulesV1.onUpdate(hooks, was))
}

// ValidatingWebhookConfigurationV1beta1 checks a new configuration sent as v1beta1.
func ValidatingWebhookConfigurationV1beta1(o *admissionv1.ValidatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, validatingHooks(o), webhookRulesV1beta1)
}

// ValidatingWebhookConfigurationV1beta1Update checks a configuration, sent as v1beta1,
// that replaces another.
func ValidatingWebhookConfigurationV1beta1Update(o, old *admissionv1.ValidatingWebhookConfiguration) field.ErrorList {
	hooks, was := validatingHooks(o), validatingHooks(old)
	return webhooks(&o.ObjectMeta, hooks, webhookRulesV1beta1.onUpdate(hooks, was))
}

// MutatingWebhookConfiguration checks a new configuration sent as v1.
func MutatingWebhookConfiguration(o *admissionv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1)
}

// MutatingWebhookConfigurationUpdate checks a configuration, sent as v1, that replaces
// another.
func MutatingWebhookConfigurationUpdate(o, old *admissionv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1.onUpdate(o.Webhooks, old.Webhooks))
}

// MutatingWebhookConfigurationV1beta1 checks a new configuration sent as v1beta1.
func MutatingWebhookConfigurationV1beta1(o *admissionv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1beta1)
}

// MutatingWebhookConfigurationV1beta1Update checks a configuration, sent as v1beta1,
// that replaces another.
func MutatingWebhookConfigurationV1beta1Update(o, old *admissionv1.MutatingWebhookConfiguration) field.ErrorList {
	return webhooks(&o.ObjectMeta, o.Webhooks, webhookRulesV1beta1.onUpdate(o.Webhooks, old.Webhooks))
}

// validatingHooks are a configuration's webhooks as mutating ones, which have every
// field that these have.
func validatingHooks(o *admissionv1.ValidatingWebhookConfiguration) []admissionv1.MutatingWebhook {
	hooks := make([]admissionv1.MutatingWebhook, len(o.Webhooks))
	for i, w := range o.Webhooks {
		hooks[i] = admissionv1.MutatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
			MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
			AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
		}
	}
	return hooks
}

// webhookRules are the rules that depend on the version of the request and on what is
// already stored.
type webhookRules struct {
	noSideEffects, knownReviewVersion, uniqueNames bool
	anyLabelValue, keepsMatchConditions            bool
	storedExpressions                              sets.Set[string]
}

var (
	webhookRulesV1      = webhookRules{noSideEffects: true, knownReviewVersion: true, uniqueNames: true}
	webhookRulesV1beta1 = webhookRules{knownReviewVersion: true}
)

// onUpdate gives up the rules that the stored webhooks break too, so that an object
// from before a rule can still be changed.
func (r webhookRules) onUpdate(hooks, old []admissionv1.MutatingWebhook) webhookRules {
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

func webhooks(meta *metav1.ObjectMeta, hooks []admissionv1.MutatingWebhook, rules webhookRules) field.ErrorList {
	f := Findings{apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, MetadataPath)}
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
	sideEffects = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun,
		admissionv1.SideEffectClassSome, admissionv1.SideEffectClassUnknown}
	harmless = []admissionv1.SideEffectClass{admissionv1.SideEffectClassNone, admissionv1.SideEffectClassNoneOnDryRun}

	failurePolicies      = []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore}
	matchPolicies        = []admissionv1.MatchPolicyType{admissionv1.Equivalent, admissionv1.Exact}
	reinvocationPolicies = []admissionv1.ReinvocationPolicyType{admissionv1.IfNeededReinvocationPolicy, admissionv1.NeverReinvocationPolicy}
	ruleScopes           = []admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope}
	operations           = []admissionv1.OperationType{admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
		admissionv1.Delete, admissionv1.Update}
)

func admissionWebhook(hook *admissionv1.MutatingWebhook, rules webhookRules, path *field.Path) field.ErrorList {
	f := Findings{utilvalidation.IsFullyQualifiedName(path.Child("name"), hook.Name)}
	for i, r := range hook.Rules {
		f.Merge(admissionRule(&r, path.Child("rules").Index(i)))
	}
	f.Merge(OptionalOneOf(path.Child("failurePolicy"), hook.FailurePolicy, failurePolicies...))
	f.Merge(OptionalOneOf(path.Child("matchPolicy"), hook.MatchPolicy, matchPolicies...))

	allowed := sideEffects
	if rules.noSideEffects {
		allowed = harmless
	}
	f.AddIf(hook.SideEffects == nil, field.Required(path.Child("sideEffects"), "must specify one of "+list(allowed)))
	f.Merge(OptionalOneOf(path.Child("sideEffects"), hook.SideEffects, allowed...))

	if s := hook.TimeoutSeconds; s != nil {
		f.AddIf(*s < 1 || *s > 30, field.Invalid(path.Child("timeoutSeconds"), *s,
			"the timeout value must be between 1 and 30 seconds"))
	}
	opts := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: rules.anyLabelValue}
	f.Merge(metav1validation.ValidateLabelSelector(hook.NamespaceSelector, opts, path.Child("namespaceSelector")))
	f.Merge(metav1validation.ValidateLabelSelector(hook.ObjectSelector, opts, path.Child("objectSelector")))
	f.Merge(OptionalOneOf(path.Child("reinvocationPolicy"), hook.ReinvocationPolicy, reinvocationPolicies...))
	f.Merge(webhookClient(&hook.ClientConfig, path.Child("clientConfig")))
	if !rules.keepsMatchConditions {
		f.Merge(matchConditions(hook.MatchConditions, false, rules.storedExpressions, path.Child("matchConditions")))
	}
	return f.Errs
}

func webhookClient(c *admissionv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case (c.URL == nil) == (c.Service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case c.URL != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *c.URL, true)
	default:
		// The reference gives name and namespace in this order, the other way round
		// than they are declared, so what is missing is reported on the other's path.
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
	var f Findings
	for i, v := range versions {
		if slices.Contains(versions[:i], v) {
			f.Add(field.Invalid(path.Index(i), v, "duplicate version"))
			continue
		}
		f.Merge(Follows(utilvalidation.IsDNS1035Label, path.Index(i), v))
	}
	f.AddIf(oneKnown && !slices.ContainsFunc(versions, isReviewVersion),
		field.Invalid(path, versions, "must include at least one of "+list(reviewVersionNames)))
	return f.Errs
}

// list writes values as prose.
func list[T ~string](values []T) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}

// admissionRule checks which requests a webhook or a policy asks for.
func admissionRule(r *admissionv1.RuleWithOperations, path *field.Path) field.ErrorList {
	var f Findings
	f.Merge(wildcardAlone(path.Child("operations"), r.Operations, "operations"))
	for i, op := range r.Operations {
		f.Merge(OneOf(path.Child("operations").Index(i), op, operations...))
	}
	f.Merge(wildcardAlone(path.Child("apiGroups"), r.APIGroups, "API groups"))
	f.Merge(wildcardAlone(path.Child("apiVersions"), r.APIVersions, "API versions"))
	// A group may be empty, which is the core group; a version may not.
	for i, v := range r.APIVersions {
		f.AddIf(v == "", field.Required(path.Child("apiVersions").Index(i), ""))
	}
	f.Merge(ruleResources(r.Resources, path.Child("resources")))
	f.Merge(OptionalOneOf(path.Child("scope"), r.Scope, ruleScopes...))
	return f.Errs
}

// wildcardAlone checks that a list has something in it, and that "*" is its only item.
func wildcardAlone[T ~string](path *field.Path, values []T, what string) field.ErrorList {
	var f Findings
	f.AddIf(len(values) == 0, field.Required(path, ""))
	f.AddIf(len(values) > 1 && slices.Contains(values, "*"),
		field.Invalid(path, values, "if '*' is present, must not specify other "+what))
	return f.Errs
}

// ruleResources checks resources and subresources: x, x/y, x/*, */y, * and */*, where
// none may cover another.
func ruleResources(resources []string, path *field.Path) field.ErrorList {
	var f Findings
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
			// The reference remembers the last of these only.
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
