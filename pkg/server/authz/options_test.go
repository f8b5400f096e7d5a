package authz

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	options := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return options
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const header = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"

func TestValidate(t *testing.T) {
	t.Parallel()

	rbacAlone := write(t, "authz.yaml", header+"authorizers: [{type: RBAC, name: rbac}]")
	renamed := write(t, "authz.yaml", header+"authorizers: [{type: RBAC, name: mine}]")
	badCEL := write(t, "authz.yaml", header+`authorizers:
- type: Webhook
  name: hook
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: `+rbacAlone+`}
    matchConditions: [{expression: "request.nobody"}]
`)
	for _, test := range []struct {
		name   string
		args   []string
		want   []string // parts of the errors, in order
		reason string
	}{
		{"defaults", nil, nil, "no flag is needed"},
		{
			"modes", []string{"--authorization-mode=RBAC,Rbac,RBAC,Webhook", "--authorization-policy-file=x"},
			[]string{`--authorization-mode: "Rbac"`, `--authorization-mode: "RBAC" is given more than once`,
				"--authorization-policy-file x: can't be given", "--authorization-webhook-config-file: must be given"},
			"Validate returns all errors at once",
		},
		{"version", []string{"--authorization-webhook-version=v2"}, []string{"--authorization-webhook-version"},
			"SubjectAccessReviews don't have this version"},
		{"file", []string{"--authorization-config=" + rbacAlone}, nil, "the file is valid"},
		{
			"file and flags",
			[]string{"--authorization-config=" + rbacAlone, "--authorization-mode=RBAC", "--authorization-webhook-version=v1"},
			[]string{"--authorization-mode", "--authorization-webhook-version"}, "the file replaces these flags",
		},
		{"no file", []string{"--authorization-config=/none"}, []string{"--authorization-config /none"}, "the file doesn't exist"},
		{"name", []string{"--authorization-config=" + renamed},
			[]string{"expected name rbac for authorizer RBAC instead of mine"},
			"only webhooks have names of their own"},
		{"expression", []string{"--authorization-config=" + badCEL},
			[]string{"authorizers[0].matchConditions[0].expression"}, "the expression uses an unknown field"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			errs := parse(t, test.args...).Validate()
			if len(errs) != len(test.want) {
				t.Fatalf("got %v, want %d errors: %s", errs, len(test.want), test.reason)
			}
			for i, err := range errs {
				if !strings.Contains(err.Error(), test.want[i]) {
					t.Errorf("error %q doesn't say %s: %s", err, test.want[i], test.reason)
				}
			}
		})
	}
}

// TestDefaultRoles checks the permissions that the bootstrap roles and bindings grant.
func TestDefaultRoles(t *testing.T) {
	t.Parallel()

	var objects []runtime.Object
	for _, role := range bootstrap.ClusterRoles() {
		objects = append(objects, role)
	}
	for _, binding := range bootstrap.ClusterRoleBindings() {
		objects = append(objects, binding)
	}
	for _, role := range []string{"admin", "edit", "view"} {
		objects = append(objects, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "User", Name: role}},
		})
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
	built, err := parse(t, "--authorization-mode=Node,RBAC").Build(t.Context(), factory, "")
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	if want := []string{"Node", "RBAC"}; !slices.Equal(built.Modes, want) {
		t.Errorf("modes %v, want %v", built.Modes, want)
	}

	for _, test := range []struct {
		user, group, verb, apiGroup, resource, path string
		allowed                                     bool
		reason                                      string
	}{
		{"root", user.SystemPrivilegedGroup, "delete", "", "nodes", "", true, "system:masters may do everything"},
		{"view", "", "list", "apps", "deployments", "", true, "viewers may read deployments"},
		{"view", "", "get", "", "secrets", "", false, "viewers may not read secrets"},
		{"edit", "", "list", "apps", "deployments", "", true, "the role edit includes the role view"},
		{"edit", "", "create", "apps", "deployments", "", true, "editors may write deployments"},
		{"edit", "", "create", "rbac.authorization.k8s.io", "roles", "", false, "editors may not write roles"},
		{"admin", "", "create", "rbac.authorization.k8s.io", "roles", "", true, "admins may write roles"},
		{"admin", "", "list", "apps", "deployments", "", true, "the role admin includes the roles edit and view"},
		{"ann", user.AllAuthenticated, "get", "", "", "/apis/apps/v1", true, "all authenticated users may read discovery"},
		{"ann", user.AllAuthenticated, "create", "authorization.k8s.io", "selfsubjectaccessreviews", "", true,
			"all authenticated users may ask for their own permissions"},
		{"ann", user.AllAuthenticated, "get", "", "", "/metrics", false, "ordinary users may not read metrics"},
		{"mon", user.MonitoringGroup, "get", "", "", "/metrics", true, "the monitoring group may read metrics"},
		{"anon", user.AllUnauthenticated, "get", "", "", "/healthz", true, "health is public"},
		{"anon", user.AllUnauthenticated, "get", "", "", "/api", false, "discovery isn't public"},
		{"system:serviceaccount:kube-system:namespace-controller", "", "deletecollection", "x.example", "anythings", "",
			true, "controllers have roles of their own"},
		{"system:node:n1", user.NodesGroup, "list", "node.k8s.io", "runtimeclasses", "", true, "nodes need no binding"},
		{"system:node:n1", user.NodesGroup, "get", "", "secrets", "", false, "nodes read only the secrets of their pods"},
	} {
		request := authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: test.user, Groups: []string{test.group}}, Verb: test.verb, Path: test.path,
			APIGroup: test.apiGroup, Resource: test.resource, Namespace: "ns", ResourceRequest: test.resource != "",
		}
		if test.resource != "" && test.verb == "get" {
			request.Name = "x"
		}
		got, because, err := built.Authorizer.Authorize(t.Context(), request)
		if err != nil || (got == authorizer.DecisionAllow) != test.allowed {
			t.Errorf("%s %s %s%s: got %v (%q, %v): %s", test.user, test.verb, test.resource, test.path, got, because, err, test.reason)
		}
	}

	resources, urls, incomplete, err := built.RuleResolver.RulesFor(t.Context(), &user.DefaultInfo{Name: "view", Groups: []string{user.AllAuthenticated}}, "ns")
	if len(resources) < 10 || len(urls) == 0 || incomplete || err != nil {
		t.Errorf("rules of a viewer: %d, %d, %v, %v", len(resources), len(urls), incomplete, err)
	}
}
