package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/conformancetest"
	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Every case of the conformance suite for API servers passes. docs/conformance-cases.md lists the cases. The user of the
// suite has only the permissions of the role that the suite prints for the cases.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct {
		selection conformance.Selection
		// setting is about a version that the server must serve for some cases, and must not serve for others.
		setting string
	}{
		"by subject":  {conformance.Selection{Skip: []string{"every.*"}}, "apps/v1beta2=false"},
		"by resource": {conformance.Selection{Only: []string{"every.*"}}, "apps/v1beta2=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
			ok(t, os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: RequestResponse}]\n"), 0o600))
			srv := miniapitest.Start(t, miniapitest.WithAPIs("api/all", "api/legacy", run.setting), inprocess.WithServerOptions(func(o *server.Options) {
				o.Audit.PolicyFile, o.Audit.LogOptions.Path = policy, log
			}))
			results, err := apiserver.Run(t.Context(), trial.Options{Config: userOfSuite(t, srv, run.selection), Disposable: true, Patience: time.Millisecond, AuditLog: log},
				conformance.Options{Selection: run.selection})
			ok(t, err)
			for i := range results {
				if strings.Contains(strings.ToLower(results[i].Reason), "forbidden") {
					t.Errorf("%s is skipped for lack of a permission: %s", results[i].ID, results[i].Reason)
				}
			}
			conformancetest.Results(t, results)
			list, err := srv.Client().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
			ok(t, err)
			for i := range list.Items {
				if strings.HasPrefix(list.Items[i].Name, trial.Prefix) {
					t.Errorf("the suite left the namespace %s", list.Items[i].Name)
				}
			}
		})
	}
}

// If the user of the suite lacks permissions, an error lists all missing permissions before a case runs.
func TestConformancePermissions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	config := userOfSuite(t, srv, conformance.Selection{Skip: []string{"every.*"}})
	_, err := apiserver.Run(t.Context(), trial.Options{Config: config}, conformance.Options{})
	for _, want := range []string{"lacks 10 of the", `bind clusterroles.rbac.authorization.k8s.io "conformance-none"`, "delete *.*", "--rbac"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// userOfSuite returns the client configuration of a service account with the role for the selected cases.
func userOfSuite(t *testing.T, srv *miniapitest.Server, selection conformance.Selection) *rest.Config {
	t.Helper()
	cases, err := apiserver.Cases(nil)
	ok(t, err)
	manifest, err := apiserver.Role(apiserver.PermissionsOf(selection.Of(cases)))
	ok(t, err)
	file := filepath.Join(t.TempDir(), "role.yaml")
	ok(t, os.WriteFile(file, manifest, 0o600))
	ok(t, srv.Apply(t.Context(), file))
	token, err := srv.Client().CoreV1().ServiceAccounts("conformance").CreateToken(t.Context(), "conformance", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	ok(t, err)
	config := rest.AnonymousClientConfig(srv.Config())
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config
}
