package abac

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer allows a request that one of the policies allows, and has no opinion on other requests.
type Authorizer struct {
	authorizer.AuthorizerFunc
	policies []policy
}

var (
	_ authorizer.Authorizer   = (*Authorizer)(nil)
	_ authorizer.RuleResolver = (*Authorizer)(nil)
)

// NewFromFile reads the policies of a file. The error for a line that isn't a policy names the line.
func NewFromFile(path string) (*Authorizer, error) {
	policies, err := load(path)
	if err != nil {
		return nil, err
	}
	a := &Authorizer{policies: policies}
	a.AuthorizerFunc = a.authorize
	return a, nil
}

func (a *Authorizer) authorize(_ context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, p := range a.policies {
		if p.isFor(request.GetUser()) && p.allows(request) {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "No policy matched.", nil
}

// RulesFor lists the user's rules, for SelfSubjectRulesReviews.
func (a *Authorizer) RulesFor(_ context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	var resources []authorizer.ResourceRuleInfo
	var urls []authorizer.NonResourceRuleInfo
	for _, p := range a.policies {
		if !p.isFor(who) {
			continue
		}
		verbs := []string{all}
		if p.Readonly {
			verbs = []string{"get", "list", "watch"}
		}
		if p.Resource != "" && (p.Namespace == all || p.Namespace == namespace) {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: verbs, APIGroups: []string{p.APIGroup}, Resources: []string{p.Resource},
			})
		}
		if p.NonResourcePath != "" {
			urls = append(urls, &authorizer.DefaultNonResourceRuleInfo{Verbs: verbs, NonResourceURLs: []string{p.NonResourcePath}})
		}
	}
	return resources, urls, false, nil
}

// isFor tells whether the policy applies to the user. A policy with neither a user nor a group applies to no
// user.
func (p policy) isFor(who user.Info) bool {
	if who == nil || p.User == "" && p.Group == "" {
		return false
	}
	return (p.User == "" || p.User == who.GetName()) &&
		(p.Group == "" || slices.Contains(who.GetGroups(), p.Group))
}

func (p policy) allows(request authorizer.Attributes) bool {
	if p.Readonly && !request.IsReadOnly() {
		return false
	}
	if !request.IsResourceRequest() {
		prefix, wildcard := strings.CutSuffix(p.NonResourcePath, all)
		return p.NonResourcePath == request.GetPath() || wildcard && strings.HasPrefix(request.GetPath(), prefix)
	}
	matches := func(pattern, value string) bool { return pattern == all || pattern == value }
	return matches(p.Namespace, request.GetNamespace()) &&
		matches(p.Resource, request.GetResource()) &&
		matches(p.APIGroup, request.GetAPIGroup())
}
