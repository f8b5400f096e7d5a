package rbacauthorizer

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer allows a request that a role of the user allows, and has no opinion on other requests.
type Authorizer struct {
	authorizer.AuthorizerFunc
	resolver *resolver
}

var (
	_ authorizer.Authorizer   = (*Authorizer)(nil)
	_ authorizer.RuleResolver = (*Authorizer)(nil)
)

// New makes an authorizer that reads roles and bindings from source.
func New(source Source) *Authorizer {
	a := &Authorizer{resolver: newResolver(source)}
	a.AuthorizerFunc = a.authorize
	return a
}

func (a *Authorizer) authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	var allowed string
	var errs []error
	a.resolver.visitRulesFor(ctx, request.GetUser(), request.GetNamespace(), func(granted fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool {
		if rule != nil && ruleAllows(request, rule) {
			allowed = "RBAC: allowed by " + granted.String()
			return false
		}
		if err != nil {
			errs = append(errs, err)
		}
		return true
	})
	switch {
	case allowed != "":
		return authorizer.DecisionAllow, allowed, nil
	case len(errs) > 0:
		// A binding to a missing role isn't a failure of the authorizer. But the missing role may be the reason why the
		// request isn't allowed.
		return authorizer.DecisionNoOpinion, "RBAC: " + utilerrors.NewAggregate(errs).Error(), nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// RulesFor lists the user's rules, for SelfSubjectRulesReviews.
func (a *Authorizer) RulesFor(ctx context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rules, err := a.resolver.rulesFor(ctx, who, namespace)
	var resources []authorizer.ResourceRuleInfo
	var urls []authorizer.NonResourceRuleInfo
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			urls = append(urls, &authorizer.DefaultNonResourceRuleInfo{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return resources, urls, false, err
}
