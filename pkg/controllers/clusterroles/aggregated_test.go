package clusterroles_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/clusterroles"
)

// role returns a ClusterRole with a rule for each verb. The parameter into is the value of the role's label "into". If
// from isn't empty, the role aggregates the roles whose label "into" has the value from.
func role(name, into, from string, verbs ...string) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"into": into}}}
	if from != "" {
		r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"into": from}}}}
	}
	for _, verb := range verbs {
		r.Rules = append(r.Rules, rbacv1.PolicyRule{Verbs: []string{verb}})
	}
	return r
}

// manyCircles returns roles that all aggregate one another, and one role that aggregates none.
func manyCircles(n int) []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for i := range n {
		roles = append(roles, role(fmt.Sprint("all-", i), "all", "all"))
	}
	return append(roles, role("x", "all", "", "get"))
}

func TestAggregated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		roles        []*rbacv1.ClusterRole // the test computes the rules of the first role
		want         []string
	}{
		{"none", "rules of roles that are no longer selected are removed", []*rbacv1.ClusterRole{role("all", "", "all", "old")}, nil},
		{"two", "each rule appears once, in the order of the roles", []*rbacv1.ClusterRole{
			role("all", "", "all"), role("a", "all", "", "get", "list"), role("b", "all", "", "list", "watch"),
			role("c", "other", "", "delete"),
		}, []string{"get", "list", "watch"}},
		{"nested", "the rules of a selected aggregated role are computed too", []*rbacv1.ClusterRole{
			role("all", "", "all"), role("some", "all", "some", "old"), role("x", "some", "", "get"),
		}, []string{"get"}},
		{"circle", "each role gets the rules of the other role", []*rbacv1.ClusterRole{
			role("all", "some", "all", "get"), role("some", "all", "some", "list"), role("x", "some", "", "watch"),
		}, []string{"get", "watch"}},
		{"itself", "a role that selects itself doesn't keep its old rules", []*rbacv1.ClusterRole{role("all", "all", "all", "old")}, nil},
		{"many circles", "the rules of each role are computed only once", manyCircles(20), []string{"get"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rules, err := clusterroles.Aggregated(test.roles[0], test.roles)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rule := range rules {
				got = append(got, rule.Verbs...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: the rules differ (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
