// Package clusterroles is the controller clusterrole-aggregation-controller: a ClusterRole with an aggregationRule
// gets the rules of the ClusterRoles that it selects.
//
// [New] starts the controller. [Aggregated] only computes the rules.
package clusterroles

import (
	"cmp"
	"context"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Account is the name of the controller's service account. It is also the field manager of the rules.
const Account = "clusterrole-aggregation-controller"

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client rbacv1client.ClusterRolesGetter
	// Roles is the informer of ClusterRoles.
	Roles cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	queue := work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: 5, Do: config.aggregate})
	all := func(metav1.Object) {
		for _, role := range config.roles() {
			if role.AggregationRule != nil {
				queue.Add(role.Name)
			}
		}
	}
	return work.Enqueue(work.Events{Informer: config.Roles, Changed: all, Deleted: all})
}

// roles returns all ClusterRoles, sorted by name.
func (c *Config) roles() []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for _, obj := range c.Roles.GetStore().List() {
		if role, ok := obj.(*rbacv1.ClusterRole); ok {
			roles = append(roles, role)
		}
	}
	slices.SortFunc(roles, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	return roles
}

// aggregate writes the aggregated rules of a ClusterRole, if they differ from its rules.
func (c *Config) aggregate(ctx context.Context, name string) (time.Duration, error) {
	obj, _, err := c.Roles.GetStore().GetByKey(name)
	if err != nil {
		return 0, err
	}
	role, ok := obj.(*rbacv1.ClusterRole)
	if !ok || role.AggregationRule == nil {
		return 0, nil
	}
	rules, err := Aggregated(role, c.roles())
	if err != nil || slices.EqualFunc(rules, role.Rules, equal) {
		return 0, err
	}
	applied := rbacv1ac.ClusterRole(name)
	for _, rule := range rules {
		applied.WithRules(&rbacv1ac.PolicyRuleApplyConfiguration{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			NonResourceURLs: rule.NonResourceURLs,
		})
	}
	_, err = c.Client.ClusterRoles().Apply(ctx, applied, metav1.ApplyOptions{FieldManager: Account, Force: true})
	return 0, err
}

// Aggregated returns the rules of the ClusterRoles that a role aggregates, each rule once, in the order of the
// role's selectors and then of the argument all.
//
// A selected role may also be an aggregated role. Its stored rules may be out of date, so Aggregated computes the
// rules of that role, too. If roles aggregate one another in a circle, Aggregated uses the stored rules of the role
// at which the circle closes.
func Aggregated(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	a := aggregation{all: all, state: map[string]state{}, rules: []rbacv1.PolicyRule{}}
	err := a.add(role)
	return a.rules, err
}

// aggregation collects the rules of a role. If a selected role also aggregates other roles, its rules are computed only
// once.
type aggregation struct {
	all   []*rbacv1.ClusterRole
	state map[string]state // the states of the roles that aggregate others, by name
	rules []rbacv1.PolicyRule
}

type state int

const (
	unseen state = iota
	adding
	added
)

// add adds the rules of the roles that a role selects.
func (a *aggregation) add(role *rbacv1.ClusterRole) error {
	a.state[role.Name] = adding
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return err
		}
		for _, other := range a.all {
			if other.Name == role.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			if err := a.addSelected(other); err != nil {
				return err
			}
		}
	}
	a.state[role.Name] = added
	return nil
}

func (a *aggregation) addSelected(role *rbacv1.ClusterRole) error {
	if role.AggregationRule != nil && a.state[role.Name] != adding {
		if a.state[role.Name] == added {
			return nil
		}
		return a.add(role)
	}
	for _, rule := range role.Rules {
		if !slices.ContainsFunc(a.rules, func(r rbacv1.PolicyRule) bool { return equal(r, rule) }) {
			a.rules = append(a.rules, rule)
		}
	}
	return nil
}

// equal compares two rules. It is called very often, so it doesn't use equality.Semantic, which allocates.
func equal(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}
