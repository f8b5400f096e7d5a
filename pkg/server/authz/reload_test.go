package authz

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	configHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:"
	denyMode   = "\n- {type: AlwaysDeny, name: alwaysdeny}"
	rbacMode   = "\n- {type: RBAC, name: rbac}"
)

// buildFile builds the authorizer of a configuration file.
func buildFile(t *testing.T, content string) *Authorization {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	built, err := parse(t, "--authorization-config="+file).Build(t.Context(), informers.NewSharedInformerFactory(fake.NewClientset(), 0), "test")
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TestReloadModes checks that a changed file must have the same types of authorizers as the file at the start, in any
// order. Only the type Webhook may be added or removed.
func TestReloadModes(t *testing.T) {
	t.Parallel()
	built := buildFile(t, configHead+denyMode+rbacMode)
	for _, test := range []struct{ name, reason, content, want string }{
		{"another order", "modes may be reordered", configHead + rbacMode + denyMode, ""},
		{"one less", "RBAC can't be removed", configHead + denyMode,
			"the types of the authorizers, except Webhook, are [AlwaysDeny]: must be [AlwaysDeny RBAC], as at the start of the server"},
		{"one more", "the informers that Node needs weren't started",
			configHead + denyMode + rbacMode + "\n- {type: Node, name: node}", "are [AlwaysDeny Node RBAC]: must be"},
		{"another", "nothing but webhooks can be added",
			configHead + denyMode + "\n- {type: AlwaysAllow, name: alwaysallow}",
			"are [AlwaysAllow AlwaysDeny]: must be"},
		{"name", "the metrics name an authorizer by its mode",
			configHead + strings.Replace(denyMode, "name: alwaysdeny", "name: other", 1) + rbacMode,
			"expected name alwaysdeny"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := built.Config.Apply(t.Context(), []byte(test.content))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q: %s", err, test.want, test.reason)
			}
		})
	}
}

// TestReloadUnderWay changes the file while a webhook decides on a request. The new file doesn't have the webhook. The
// webhook still answers the request. After that response, the server's connections to the webhook end.
func TestReloadUnderWay(t *testing.T) {
	t.Parallel()
	asked, answer, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}, 10)
	webhook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}})
	}))
	webhook.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended <- struct{}{}
		}
	}
	webhook.StartTLS()
	defer webhook.Close()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["w"] = &clientcmdapi.Cluster{Server: webhook.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})}
	kubeconfig.Contexts["w"], kubeconfig.CurrentContext = &clientcmdapi.Context{Cluster: "w"}, "w"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		t.Fatal(err)
	}
	built := buildFile(t, configHead+fmt.Sprintf(`
- type: Webhook
  name: w
  webhook:
    timeout: 30s
    subjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %q}`, file)+denyMode)

	attributes := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "ann"}, Verb: "get", Resource: "pods", ResourceRequest: true}
	decided := make(chan string, 1)
	go func() {
		decision, reason, err := built.Authorizer.Authorize(context.Background(), attributes)
		decided <- fmt.Sprint(decision, reason, err)
	}()
	<-asked
	if err := built.Config.Apply(t.Context(), []byte(configHead+denyMode)); err != nil {
		t.Fatal(err)
	}
	if decision, _, _ := built.Authorizer.Authorize(t.Context(), attributes); decision == authorizer.DecisionAllow {
		t.Error("want the new configuration to count for a request that begins after it")
	}
	close(answer)
	if got, want := <-decided, fmt.Sprint(authorizer.DecisionAllow, "", error(nil)); got != want {
		t.Errorf("got %q, want %q of the webhook that the request began with", got, want)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("want the connections to a webhook that isn't asked any more to end")
	}
}
