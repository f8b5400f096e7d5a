package admissionregistration

import (
	"crypto/x509"
	"iter"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// WebhookCalls is the part of the server that determines which webhooks the server can call. Without a
// WebhookCalls, clients get no warnings about webhooks that are never called.
type WebhookCalls struct {
	// Resources yields the resources that the server serves now.
	Resources iter.Seq[ServedResource]
	// ServiceWarning returns the reason why the server can't call webhooks behind a service. It returns "" if the
	// server can call them.
	ServiceWarning func(namespace, name string, port int32) string
	// Hides reports whether the server hides a resource from webhooks. If Hides is nil, it hides none.
	Hides func(schema.GroupResource) bool
}

// ServedResource is a resource or a subresource that the server serves.
type ServedResource struct {
	schema.GroupVersion
	// Name is written as in the rules of a webhook, such as pods or pods/status. If the resources of a group
	// version are unknown, Name is AnyResource.
	Name string
}

// AnyResource stands for all resources of a group version that another server serves.
const AnyResource = "*"

// webhooksWarnings returns the warnings about the webhooks of a configuration: about rules for resources that the
// server hides or doesn't serve, about services that the server can't call, and about a caBundle without certificates.
func webhooksWarnings(deps registry.Dependencies, hooks []admissionregistrationv1.MutatingWebhook) []string {
	var all []string
	for i := range hooks {
		path := field.NewPath("webhooks").Index(i)
		all = append(all, webhookWarnings(deps, path, hooks[i].Rules, hooks[i].ClientConfig.Service)...)
		all = append(all, caBundleWarnings(path.Child("clientConfig", "caBundle"), hooks[i].ClientConfig.CABundle)...)
	}
	return all
}

// caBundleWarnings warns of a caBundle without certificates in PEM: each call of the webhook fails. kube-apiserver accepts
// such a caBundle without a warning.
func caBundleWarnings(path *field.Path, caBundle []byte) warnings.List {
	var l warnings.List
	if len(caBundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(caBundle) {
		l.At(path, "has no certificate in PEM, so each call of the webhook fails: give certificates in PEM, encoded in base64 once")
	}
	return l
}

// webhookWarnings returns the warnings about the rules and the service of one webhook.
func webhookWarnings(deps registry.Dependencies, path *field.Path, rules []admissionregistrationv1.RuleWithOperations, service *admissionregistrationv1.ServiceReference) []string {
	var all []string
	calls := registry.PartOf[WebhookCalls](deps)
	if calls.Hides != nil {
		all = hiddenResourceWarnings(path, rules, calls.Hides)
	}
	if calls.Resources != nil {
		all = append(all, webhookRulesWarnings(path, rules, calls.Resources)...)
	}
	if calls.ServiceWarning == nil || service == nil {
		return all
	}
	if text := calls.ServiceWarning(service.Namespace, service.Name, ptr.Deref(service.Port, servicePort)); text != "" {
		all = append(all, path.Child("clientConfig", "service").String()+": "+text)
	}
	return all
}

// hiddenResourceWarnings warns of resources that the rules of a webhook name and the server hides. A rule with a wildcard
// can be meant for other resources, so there is no warning about it.
func hiddenResourceWarnings(path *field.Path, rules []admissionregistrationv1.RuleWithOperations, hides func(schema.GroupResource) bool) []string {
	var l warnings.List
	for i, rule := range rules {
		if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") {
			continue
		}
		named := sets.New[schema.GroupResource]()
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				r := schema.GroupResource{Group: group, Resource: resource}
				if hides(r) && !named.Has(r) {
					l.At(path.Child("rules").Index(i), "%s is excluded from admission webhooks; this rule will have no effect", r)
				}
				named.Insert(r)
			}
		}
	}
	return l
}

// webhookRulesWarnings warns of groups and resources that the rules of a webhook name and the server doesn't serve:
// the server never calls the webhook for them. Such a rule is valid, because a CustomResourceDefinition may add the
// resource later. kube-apiserver doesn't have these warnings.
func webhookRulesWarnings(path *field.Path, rules []admissionregistrationv1.RuleWithOperations, served iter.Seq[ServedResource]) []string {
	unmet := make([]unmetRule, len(rules))
	for i := range rules {
		unmet[i] = newUnmetRule(&rules[i].Rule)
	}
	met := func(r unmetRule) bool { return len(r.groups) == 0 && len(r.resources) == 0 }
	if !slices.ContainsFunc(unmet, func(r unmetRule) bool { return !met(r) }) {
		return nil
	}
	for s := range served {
		left := 0
		for i := range unmet {
			if unmet[i].meet(s); !met(unmet[i]) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
	}
	var l warnings.List
	for i := range unmet {
		unmet[i].warn(&l, path.Child("rules").Index(i))
	}
	return l
}

// unmetRule has the groups and resources of a rule for which no served resource has been found yet.
type unmetRule struct {
	*admissionregistrationv1.Rule
	// groups and resources are the indexes of items in the rule's lists APIGroups and Resources. For these items, no
	// served resource has been found yet.
	groups, resources []int
}

func newUnmetRule(rule *admissionregistrationv1.Rule) unmetRule {
	u := unmetRule{Rule: rule}
	for i, group := range rule.APIGroups {
		if group != "*" {
			u.groups = append(u.groups, i)
		}
	}
	for i := range rule.Resources {
		u.resources = append(u.resources, i)
	}
	return u
}

// meet removes the items that a served resource matches from u.groups and u.resources.
func (u *unmetRule) meet(s ServedResource) {
	u.groups = slices.DeleteFunc(u.groups, func(i int) bool { return u.APIGroups[i] == s.Group })
	if matches(u.APIGroups, s.Group) && matches(u.APIVersions, s.Version) {
		u.resources = slices.DeleteFunc(u.resources, func(i int) bool { return matchesResource(u.Resources[i], s.Name) })
	}
}

func matches(patterns []string, value string) bool {
	return slices.Contains(patterns, value) || slices.Contains(patterns, "*")
}

// matchesResource reports whether a served resource matches a resource in a rule. pods/* matches pods and all its
// subresources. A wildcard without a slash matches no subresources.
func matchesResource(pattern, served string) bool {
	if pattern == served || served == AnyResource {
		return true
	}
	resource, subresource, _ := strings.Cut(pattern, "/")
	servedResource, servedSubresource, _ := strings.Cut(served, "/")
	return (resource == "*" || resource == servedResource) &&
		(subresource == "*" || resource == "*" && subresource == servedSubresource)
}

func (u *unmetRule) warn(l *warnings.List, path *field.Path) {
	for _, i := range u.groups {
		l.At(path.Child("apiGroups").Index(i), "nothing serves group %q: the webhook isn't called for it", u.APIGroups[i])
	}
	if len(u.groups) == len(u.APIGroups) {
		return // no group of the rule is served, so a warning about the resources would say nothing new
	}
	for _, i := range u.resources {
		l.At(path.Child("resources").Index(i), "nothing serves %q in %s: the webhook isn't called for it", u.Resources[i], u.groupVersions())
	}
}

// groupVersions lists the group versions of the rule.
func (u *unmetRule) groupVersions() string {
	var all []string
	for _, group := range u.APIGroups {
		for _, version := range u.APIVersions {
			all = append(all, schema.GroupVersion{Group: group, Version: version}.String())
		}
	}
	return strings.Join(all, ", ")
}
