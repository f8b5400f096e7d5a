package explain

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
)

// Constraints are the rules and selectors of a webhook, a policy or a binding. Make them with Webhook or Resources.
type Constraints struct {
	rules, excluded []rule
	// rulesField is the name of the field with the rules. If anything is true, constraints without rules match every
	// request.
	rulesField  string
	anything    bool
	matchPolicy *admissionregistrationv1.MatchPolicyType

	namespaces, objects             *metav1.LabelSelector
	parsedNamespaces, parsedObjects func() (labels.Selector, error)
}

// Webhook returns the constraints of a webhook.
func Webhook(hook webhook.WebhookAccessor) Constraints {
	configured := hook.GetRules()
	all := make([]rule, len(configured))
	for i := range configured {
		all[i].RuleWithOperations = configured[i]
	}
	return Constraints{
		rules: all, rulesField: "rules", matchPolicy: hook.GetMatchPolicy(),
		namespaces: hook.GetNamespaceSelector(), parsedNamespaces: hook.GetParsedNamespaceSelector,
		objects: hook.GetObjectSelector(), parsedObjects: hook.GetParsedObjectSelector,
	}
}

// Resources returns the constraints of a policy's matchConstraints, or of a binding's matchResources.
func Resources(resources *admissionregistrationv1.MatchResources) Constraints {
	parsed := func(selector *metav1.LabelSelector) func() (labels.Selector, error) {
		return func() (labels.Selector, error) { return metav1.LabelSelectorAsSelector(selector) }
	}
	return Constraints{
		rules: resources.ResourceRules, excluded: resources.ExcludeResourceRules,
		rulesField: "resourceRules", anything: true, matchPolicy: resources.MatchPolicy,
		namespaces: resources.NamespaceSelector, parsedNamespaces: parsed(resources.NamespaceSelector),
		objects: resources.ObjectSelector, parsedObjects: parsed(resources.ObjectSelector),
	}
}

// GetParsedNamespaceSelector implements k8s.io/apiserver's NamespaceSelectorProvider.
func (c Constraints) GetParsedNamespaceSelector() (labels.Selector, error) {
	return c.parsedNamespaces()
}

// GetParsedObjectSelector implements k8s.io/apiserver's ObjectSelectorProvider.
func (c Constraints) GetParsedObjectSelector() (labels.Selector, error) { return c.parsedObjects() }
