package abac

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func write(t *testing.T, policies string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policies.jsonl")
	if err := os.WriteFile(path, []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, policies string
		line           int
		reason         string
	}{
		{"syntax", "# who\n\n{\"user\": \"ann\"}\n{\"user\": \n", 4, "line numbers also count comments and empty lines"},
		{"version", `{"apiVersion":"abac.authorization.kubernetes.io/v2","kind":"Policy","spec":{}}`, 1,
			"the version doesn't exist, and the last line may lack a newline"},
		{"kind", `{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Rule","spec":{}}`, 1, "the kind doesn't exist"},
		{"type", "{\"user\":\"ann\"}\n{\"readonly\":\"yes\"}\n", 2, "readonly is a boolean"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, test.policies)
			_, err := NewFromFile(path)
			var load *loadError
			if !errors.As(err, &load) || load.path != path || load.line != test.line {
				t.Errorf("got %v, want an error in line %d: %s", err, test.line, test.reason)
			}
		})
	}
	if _, err := NewFromFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
}

func TestAuthorizer(t *testing.T) {
	t.Parallel()

	const policies = `
{"user":"old", "namespace":"a"}
{"user":"*", "readonly":true, "resource":"events"}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"ann","namespace":"*","resource":"pods","apiGroup":""}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"ops","namespace":"*","resource":"*","apiGroup":"*","nonResourcePath":"/health*","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"namespace":"*","resource":"*","apiGroup":"*"}}
`
	abac, err := NewFromFile(write(t, policies))
	if err != nil {
		t.Fatal(err)
	}
	who := func(name string, groups ...string) user.Info {
		return &user.DefaultInfo{Name: name, Groups: append(groups, user.AllAuthenticated)}
	}
	resource := func(who user.Info, verb, namespace, group, resource string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: who, Verb: verb, Namespace: namespace, APIGroup: group, Resource: resource, ResourceRequest: true}
	}

	for _, test := range []struct {
		name    string
		request authorizer.AttributesRecord
		want    authorizer.Decision
		reason  string
	}{
		{"v0 namespace", resource(who("old"), "create", "a", "apps", "deployments"), authorizer.DecisionAllow,
			"a v0 policy without a resource allows every resource of every group"},
		{"v0 other namespace", resource(who("old"), "create", "b", "apps", "deployments"), authorizer.DecisionNoOpinion,
			"the policy names another namespace"},
		{"v0 everybody", resource(who("x"), "list", "b", "", "events"), authorizer.DecisionAllow, "* stands for all authenticated users"},
		{"v0 unauthenticated", resource(&user.DefaultInfo{Name: "x"}, "list", "b", "", "events"),
			authorizer.DecisionNoOpinion, "* doesn't stand for unauthenticated users"},
		{"readonly", resource(who("x"), "create", "b", "", "events"), authorizer.DecisionNoOpinion,
			"readonly allows only get, list and watch"},
		{"v1beta1", resource(who("ann"), "delete", "b", "", "pods"), authorizer.DecisionAllow, "without readonly all verbs are allowed"},
		{"v1beta1 group", resource(who("ann"), "delete", "b", "metrics.k8s.io", "pods"), authorizer.DecisionNoOpinion,
			"a v1beta1 policy without a group allows only the core group"},
		{"path", authorizer.AttributesRecord{User: who("x", "ops"), Verb: "get", Path: "/healthz"},
			authorizer.DecisionAllow, "* at the end matches every rest"},
		{"other path", authorizer.AttributesRecord{User: who("x", "ops"), Verb: "get", Path: "/metrics"},
			authorizer.DecisionNoOpinion, "no policy has the path"},
		{"policy without a subject", resource(who("x"), "get", "b", "", "pods"), authorizer.DecisionNoOpinion,
			"v1beta1: a policy without a subject applies to no user"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, because, err := abac.Authorize(t.Context(), test.request); err != nil || got != test.want {
				t.Errorf("got %v (%q, %v), want %v: %s", got, because, err, test.want, test.reason)
			}
		})
	}
}
