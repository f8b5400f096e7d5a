package bootstrap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// TestInheritSubjects checks the subjects and labels of the binding system:public-info-viewer. If the cluster has the
// binding system:discovery, a new binding begins as a copy of that binding.
func TestInheritSubjects(t *testing.T) {
	t.Parallel()

	ann := rbacv1.Subject{Kind: "User", Name: "ann", APIGroup: rbacv1.GroupName}
	everybody, nobody := groupSubject("system:authenticated"), groupSubject("system:unauthenticated")
	discovery := func(annotations map[string]string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
		b := bindCluster("system:discovery", subjects...)
		b.Annotations, b.Labels = annotations, map[string]string{"kept": "yes"}
		return b
	}
	hands := map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
	for _, test := range []struct {
		name, reason string
		cluster      []runtime.Object
		want         []rbacv1.Subject
		labels       map[string]string
	}{
		{
			"empty cluster", "the cluster has no earlier binding", nil,
			[]rbacv1.Subject{everybody, nobody}, map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		},
		{
			"protected", "the administrator keeps strangers from reading anything", []runtime.Object{discovery(hands, ann)},
			[]rbacv1.Subject{ann}, map[string]string{"kept": "yes"},
		},
		{
			"not protected", "the copy is reconciled, because the original would be reconciled too", []runtime.Object{discovery(nil, ann)},
			[]rbacv1.Subject{ann, everybody, nobody}, map[string]string{"kept": "yes", "kubernetes.io/bootstrapping": "rbac-defaults"},
		},
		{
			"already there", "the new binding already exists",
			[]runtime.Object{discovery(nil, ann), bindCluster("system:public-info-viewer", everybody)},
			[]rbacv1.Subject{everybody, nobody}, map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(test.cluster...)
			if err := Ensure(t.Context(), client, Config{}); err != nil {
				t.Fatal(err)
			}
			got, err := client.RbacV1().ClusterRoleBindings().Get(t.Context(), "system:public-info-viewer", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Subjects); diff != "" {
				t.Errorf("%s: subjects (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(test.labels, got.Labels); diff != "" {
				t.Errorf("%s: labels (-want +got):\n%s", test.reason, diff)
			}
			if got.RoleRef.Name != "system:public-info-viewer" {
				t.Errorf("%s: want its own role, got %s", test.reason, got.RoleRef.Name)
			}
		})
	}
}

// TestInheritRules checks the new role system:aggregate-to-view in a cluster that has the role view.
func TestInheritRules(t *testing.T) {
	t.Parallel()

	things := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"x.example"}, Resources: []string{"things"}}
	view := func(aggregation *rbacv1.AggregationRule) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view"}, Rules: []rbacv1.PolicyRule{things}, AggregationRule: aggregation}
	}
	for _, test := range []struct {
		name, reason string
		role         *rbacv1.ClusterRole
		want         bool
	}{
		{"without an aggregationRule", "aggregation would remove rules that an administrator has added to the role", view(nil), true},
		{"aggregated", "the rules of an aggregated role come from other roles", view(&rbacv1.AggregationRule{}), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset(test.role)
			if err := Ensure(t.Context(), client, Config{}); err != nil {
				t.Fatal(err)
			}
			got, err := client.RbacV1().ClusterRoles().Get(t.Context(), "system:aggregate-to-view", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if has := len(got.Rules) > 1 && cmp.Equal(got.Rules[0], things); has != test.want || got.Labels["rbac.authorization.k8s.io/aggregate-to-view"] != "true" {
				t.Errorf("%s: rules that were added are kept: %t, want %t, and the label of aggregation: %v", test.reason, has, test.want, got.Labels)
			}
		})
	}
}
