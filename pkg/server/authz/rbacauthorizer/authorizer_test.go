package rbacauthorizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/fake"
)

func readPods() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
}

func clusterRole(name string, labels map[string]string, aggregates string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Rules: rules}
	if aggregates != "" {
		role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregates: "true"}}}}
	}
	return role
}

func clusterBinding(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: subjects,
	}
}

func roleBinding(namespace, name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}, Subjects: subjects,
	}
}

func subject(kind, name string) rbacv1.Subject { return rbacv1.Subject{Kind: kind, Name: name} }

func TestAuthorizer(t *testing.T) {
	t.Parallel()

	source := FromClient(fake.NewClientset(
		clusterRole("pod-reader", nil, "", readPods()...),
		clusterRole("view", nil, "to-view"),
		clusterRole("below-view", map[string]string{"to-view": "true"}, "to-below"),
		clusterRole("pods", map[string]string{"to-below": "true", "to-view": "true"}, "to-view", readPods()...),
		clusterBinding("everywhere", "pod-reader", subject("User", "ann")),
		clusterBinding("aggregated", "view", subject("Group", "viewers")),
		clusterBinding("dangling", "gone", subject("User", "dan")),
		roleBinding("a", "inside", "ClusterRole", "pod-reader", subject("ServiceAccount", "bot")),
	).RbacV1())
	ask := func(who user.Info, namespace string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: who, Verb: "get", Resource: "pods", Namespace: namespace, Name: "p", ResourceRequest: true}
	}
	named := func(name string, groups ...string) user.Info { return &user.DefaultInfo{Name: name, Groups: groups} }

	for _, test := range []struct {
		name    string
		request authorizer.AttributesRecord
		want    authorizer.Decision
		because string
		reason  string
	}{
		{
			"cluster binding", ask(named("ann"), "b"), authorizer.DecisionAllow,
			`RBAC: allowed by ClusterRoleBinding "everywhere" of ClusterRole "pod-reader" to User "ann"`,
			"a ClusterRoleBinding applies in every namespace",
		},
		{
			"aggregated", ask(named("vic", "viewers"), "b"), authorizer.DecisionAllow,
			`RBAC: allowed by ClusterRoleBinding "aggregated" of ClusterRole "view" to Group "viewers"`,
			"the authorizer resolves aggregationRules itself, even if two roles aggregate one another",
		},
		{
			"role binding", ask(serviceaccount.UserInfo("a", "bot", ""), "a"), authorizer.DecisionAllow,
			`RBAC: allowed by RoleBinding "inside/a" of ClusterRole "pod-reader" to ServiceAccount "bot/a"`,
			"an account without a namespace is in the namespace of the binding",
		},
		{
			"elsewhere", ask(serviceaccount.UserInfo("a", "bot", ""), "b"), authorizer.DecisionNoOpinion, "",
			"a RoleBinding applies only in its own namespace",
		},
		{
			"other account", ask(serviceaccount.UserInfo("b", "bot", ""), "a"), authorizer.DecisionNoOpinion, "",
			"an account of the same name in another namespace is another account",
		},
		{
			"dangling", ask(named("dan"), "a"), authorizer.DecisionNoOpinion,
			`RBAC: clusterroles.rbac.authorization.k8s.io "gone" not found`,
			"the authorizer's reason names the missing role of the binding",
		},
		{"no binding", ask(named("eve"), "a"), authorizer.DecisionNoOpinion, "", "a missing binding gives no reason"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, because, err := New(source).Authorize(t.Context(), test.request)
			if err != nil || got != test.want || because != test.because {
				t.Errorf("got %v, %q, %v\nwant %v, %q: %s", got, because, err, test.want, test.because, test.reason)
			}
		})
	}
}

func TestEscalationChecker(t *testing.T) {
	t.Parallel()

	escalator := rbacv1.PolicyRule{Verbs: []string{"escalate"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}}
	oneEscalator := escalator
	oneEscalator.ResourceNames = []string{"known"}
	binder := rbacv1.PolicyRule{Verbs: []string{"bind"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, ResourceNames: []string{"secret-reader"}}
	readSecrets := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	source := FromClient(fake.NewClientset(
		clusterRole("pod-reader", nil, "", readPods()...),
		clusterRole("secret-reader", nil, "", readSecrets),
		clusterRole("escalator", nil, "", escalator),
		clusterRole("binder", nil, "", binder),
		clusterBinding("ann", "pod-reader", subject("User", "ann")),
		clusterBinding("esc", "escalator", subject("User", "esc")),
		clusterRole("one-escalator", nil, "", oneEscalator),
		clusterBinding("one", "one-escalator", subject("User", "one")),
		clusterBinding("bob", "binder", subject("User", "bob")),
	).RbacV1())
	checker := NewEscalationChecker(source, New(source))
	collected := clusterRole("secret-reader", nil, "", readSecrets)
	collected.OwnerReferences = []metav1.OwnerReference{{Name: "x"}}

	for _, test := range []struct {
		name        string
		user        user.DefaultInfo
		object, old runtime.Object
		want        string
		reason      string
	}{
		{"escalate one", user.DefaultInfo{Name: "one"}, clusterRole("known", nil, "", readSecrets),
			clusterRole("known", nil, ""), "", "the path of an update has the name of the rule"},
		{
			"escalate a new one", user.DefaultInfo{Name: "one"}, clusterRole("known", nil, "", readSecrets), nil,
			"clusterroles.rbac.authorization.k8s.io \"known\" is forbidden: user \"one\" (groups=[]) is attempting to grant RBAC permissions not currently held:\n" +
				"{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}",
			"the path of a POST has no name, so a rule with resourceNames doesn't apply",
		},
		{"held", user.DefaultInfo{Name: "ann"}, clusterRole("new", nil, "", readPods()...), nil, "",
			"a user may grant permissions that the user has"},
		{
			"not held", user.DefaultInfo{Name: "ann", Groups: []string{"g"}}, clusterRole("new", nil, "", readSecrets), nil,
			"clusterroles.rbac.authorization.k8s.io \"new\" is forbidden: user \"ann\" (groups=[\"g\"]) is attempting to grant RBAC permissions not currently held:\n" +
				"{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}",
			"the message joins the verbs of a resource",
		},
		{"superuser", user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}},
			clusterRole("new", nil, "", readSecrets), nil, "", "members of system:masters have every permission"},
		{"escalate", user.DefaultInfo{Name: "esc"}, clusterRole("new", nil, "", readSecrets), nil, "",
			"the verb escalate allows to grant any permission"},
		{
			"aggregation", user.DefaultInfo{Name: "ann"}, clusterRole("new", nil, "to-new"), nil,
			`clusterroles.rbac.authorization.k8s.io "new" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
			"the aggregated rules can change later",
		},
		{"garbage collection", user.DefaultInfo{Name: "ann"}, clusterRole("secret-reader", nil, "", readSecrets),
			collected, "", "owner references and finalizers grant no permission"},
		{"binding of held permissions", user.DefaultInfo{Name: "ann"}, clusterBinding("new", "pod-reader"), nil, "",
			"the user has the permissions of the role"},
		{
			"binding of permissions not held", user.DefaultInfo{Name: "ann"}, clusterBinding("new", "secret-reader"), nil,
			"clusterrolebindings.rbac.authorization.k8s.io \"new\" is forbidden: user \"ann\" (groups=[]) is attempting to grant RBAC permissions not currently held:\n" +
				"{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}",
			"the user doesn't have the permissions of the role",
		},
		{"bind", user.DefaultInfo{Name: "bob"}, roleBinding("a", "new", "ClusterRole", "secret-reader"), nil, "",
			"the verb bind for this role allows to grant the role"},
		{
			"no such role", user.DefaultInfo{Name: "ann"}, clusterBinding("new", "gone"), nil,
			`clusterroles.rbac.authorization.k8s.io "gone" not found`, "the rules of a missing role are unknown",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), "a"), &test.user)
			if test.old != nil {
				name := test.old.(metav1.Object).GetName()
				ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, Verb: "update", Name: name})
			}
			got := ""
			if err := checker.Check(ctx, test.object, test.old); err != nil {
				got = err.Error()
				if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
					t.Errorf("%v is neither forbidden nor not found", err)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
	if err := checker.Check(t.Context(), &rbacv1.Role{}, nil); err == nil || !strings.Contains(err.Error(), "no user") {
		t.Errorf("without a user: got %v, want an error", err)
	}
}

func TestMissingRole(t *testing.T) {
	t.Parallel()

	source := FromClient(fake.NewClientset(
		clusterRole("pod-reader", nil, "", readPods()...),
		clusterBinding("dangling", "lost", subject("User", "ann")),
	).RbacV1())
	checker := NewEscalationChecker(source, New(source))

	for _, test := range []struct {
		name, resource string
		object         runtime.Object
		want           string
		reason         string
	}{
		{
			"RoleBinding to a Role", "rolebindings", roleBinding("a", "new", "Role", "gone"),
			`rolebindings.rbac.authorization.k8s.io "gone" not found`,
			"the error names the resource of the request and the name of the role",
		},
		{
			"RoleBinding to a ClusterRole", "rolebindings", roleBinding("a", "new", "ClusterRole", "gone"),
			`rolebindings.rbac.authorization.k8s.io "gone" not found`,
			"the kind of the role doesn't matter",
		},
		{
			"ClusterRoleBinding", "clusterrolebindings", clusterBinding("new", "gone"),
			`clusterrolebindings.rbac.authorization.k8s.io "gone" not found`,
			"the resource is that of the request",
		},
		{
			"role of another binding", "clusterrolebindings", clusterBinding("new", "pod-reader"),
			`resolution errors: [clusterrolebindings.rbac.authorization.k8s.io "lost" not found]`,
			"an error about a role that the user has names the resource of the request, too",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), "a"), &user.DefaultInfo{Name: "ann"})
			ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
				IsResourceRequest: true, Verb: "create", APIGroup: rbacv1.GroupName, Resource: test.resource,
			})
			if err := checker.Check(ctx, test.object, nil); err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v, want an error that ends with %s: %s", err, test.want, test.reason)
			}
		})
	}
}
