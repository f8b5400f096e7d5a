package integration_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// replace replaces a file by a new file, as editors do.
func replace(t testing.TB, path, content string) {
	t.Helper()
	ok(t, os.WriteFile(path+".new", []byte(content), 0o600))
	ok(t, os.Rename(path+".new", path))
}

// reloads returns how often a file was reloaded with and without success, by the metrics.
func reloads(t testing.TB, srv *miniapitest.Server, file string) (succeeded, failed string) {
	t.Helper()
	metric := "apiserver_" + file + "_config_controller_automatic_reloads_total"
	value := func(status string) string {
		for _, line := range samples(t, srv, `status="`+status+`"`, metric) {
			_, count, _ := strings.Cut(line, "} ")
			return count
		}
		return "0"
	}
	return value("success"), value("failure")
}

// failing calls change, and waits until the metrics count a failed reload.
func failing(t testing.TB, srv *miniapitest.Server, file string, change func()) {
	t.Helper()
	_, before := reloads(t, srv, file)
	change()
	eventually(t, func(context.Context) error {
		if _, after := reloads(t, srv, file); after == before {
			return fmt.Errorf("the metrics of %s still count %s failed reloads", file, before)
		}
		return nil
	})
}

// reviewer starts an authorization webhook that allows one user everything. It returns the entry for the configuration
// file.
func reviewer(t testing.TB, name, user string) (entry string) {
	t.Helper()
	return authorizing(t, name, func(asked authorizationv1.SubjectAccessReviewSpec) bool { return asked.User == user })
}

// authorizing starts an authorization webhook that decides by the function allows. It returns the entry for the
// configuration file.
func authorizing(t testing.TB, name string, allows func(authorizationv1.SubjectAccessReviewSpec) bool) (entry string) {
	t.Helper()
	own, err := newAuthority()
	ok(t, err)
	port := own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Status.Allowed = allows(review.Spec)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}), "localhost")
	config := clientcmdapi.NewConfig()
	config.Clusters["webhook"] = &clientcmdapi.Cluster{Server: fmt.Sprintf("https://localhost:%d", port), CertificateAuthorityData: own.pem}
	config.Contexts["webhook"], config.CurrentContext = &clientcmdapi.Context{Cluster: "webhook"}, "webhook"
	return fmt.Sprintf(`
- type: Webhook
  name: %s
  webhook:
    timeout: 10s
    subjectAccessReviewVersion: v1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: %q}`, name, write(t, name, string(must(clientcmd.Write(*config))(t))))
}

// When the file of --authorization-config changes, the server uses the new content without a restart, for requests and
// for all kinds of access reviews. With invalid content, the old configuration stays. The test isn't parallel, because
// all tests of the process share the metrics.
func TestAuthorizationConfigThatChanges(t *testing.T) {
	const (
		head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:"
		rbac = "\n- {type: RBAC, name: rbac}"
	)
	ann, bob := reviewer(t, "ann.example.com", "ann"), reviewer(t, "bob.example.com", "bob")
	file := write(t, "authorization.yaml", head+rbac)
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) { o.Authorization.ConfigFile = file }))
	clients := map[string]kubernetes.Interface{"ann": clientOf(t, srv, "ann"), "bob": clientOf(t, srv, "bob")}

	// mayAll checks by a request, and by each kind of access review, that only one user may do everything.
	mayAll := func(who string) func(context.Context) error {
		return func(ctx context.Context) error {
			var errs []error
			for name, client := range clients {
				got := map[string]bool{}
				_, err := client.CoreV1().Secrets(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
				got["a request"] = err == nil

				attributes := &authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}
				review, err := srv.Client().AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: attributes}}, metav1.CreateOptions{})
				got["a SubjectAccessReview"] = err == nil && review.Status.Allowed

				rules, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
					Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault}}, metav1.CreateOptions{})
				// A webhook can't list a user's rules, so the answer is marked as incomplete.
				got["a SelfSubjectRulesReview"] = err == nil && rules.Status.Incomplete && name == who

				_, err = client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: named("x"), Rules: []rbacv1.PolicyRule{rbacRule("", "get", "secrets")}},
					metav1.CreateOptions{DryRun: dry})
				got["who may escalate"] = err == nil

				want := map[string]bool{}
				for way := range got {
					want[way] = name == who
				}
				if diff := cmp.Diff(want, got); diff != "" {
					errs = append(errs, fmt.Errorf("%s (-want +got):\n%s", name, diff))
				}
			}
			return errors.Join(errs...)
		}
	}
	ok(t, mayAll("nobody")(t.Context()))

	replace(t, file, head+ann+rbac)
	eventually(t, mayAll("ann"))
	replace(t, file, head+rbac+bob)
	eventually(t, mayAll("bob"))

	for _, wrong := range []struct{ name, reason, content string }{
		{"not read", "the content isn't YAML", "authorizers: ["},
		{"empty", "most programs truncate a file before they write", ""},
		{"invalid", "the server wouldn't start with this content", head + rbac + rbac},
		{"without a mode", "RBAC stays, kube-apiserver says", head + ann},
		{"with another mode", "the objects that a mode needs are watched only from the start",
			head + ann + rbac + "\n- {type: Node, name: node}"},
		{"webhook without a kubeconfig", "the webhook has no address",
			head + rbac + strings.Replace(ann, "kubeConfigFile: \"", "kubeConfigFile: \"/nowhere", 1)},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			failing(t, srv, "authorization", func() { replace(t, file, wrong.content) })
			if err := mayAll("bob")(t.Context()); err != nil {
				t.Errorf("%s: want what was in force to stay: %v", wrong.reason, err)
			}
		})
	}

	before, _ := reloads(t, srv, "authorization")
	replace(t, file, head+rbac)
	eventually(t, mayAll("nobody"))
	if after, _ := reloads(t, srv, "authorization"); after == before {
		t.Error("want another success counted")
	}
}

// tokenIssuer signs JWTs and publishes its keys.
type tokenIssuer struct {
	url string
	pem []byte
	key *ecdsa.PrivateKey
}

func newTokenIssuer(t testing.TB) *tokenIssuer {
	t.Helper()
	own, err := newAuthority()
	ok(t, err)
	issuer := &tokenIssuer{pem: own.pem, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	point := must(issuer.key.PublicKey.Bytes())(t)
	coordinate := base64.RawURLEncoding.EncodeToString
	answer := func(body func() map[string]any) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body())
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/.well-known/openid-configuration", answer(func() map[string]any {
		return map[string]any{"issuer": issuer.url, "jwks_uri": issuer.url + "/keys"}
	}))
	mux.Handle("/keys", answer(func() map[string]any {
		return map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "x": coordinate(point[1:33]), "y": coordinate(point[33:])}}}
	}))
	issuer.url = fmt.Sprintf("https://localhost:%d", own.serve(t, mux, "localhost"))
	return issuer
}

func (i *tokenIssuer) token(t testing.TB, subject string) string {
	t.Helper()
	return must(jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": i.url, "aud": "tests", "sub": subject, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString(i.key))(t)
}

// entry returns the entry of the issuer for the configuration file. User names get the prefix.
func (i *tokenIssuer) entry(prefix string) string {
	return fmt.Sprintf(`
- issuer:
    url: %s
    audiences: [tests]
    certificateAuthority: |
      %s
  claimMappings: {username: {claim: sub, prefix: %q}}`, i.url, strings.ReplaceAll(strings.TrimSpace(string(i.pem)), "\n", "\n      "), prefix)
}

// When the file of --authentication-config changes, the server uses the new content without a restart, for requests and
// for TokenReviews. It doesn't accept tokens of removed issuers any longer, although it has cached them. With invalid
// content, or with an issuer that doesn't answer, the old configuration stays. The test isn't parallel, because all
// tests of the process share the metrics.
func TestAuthenticationConfigThatChanges(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:"
	one, other := newTokenIssuer(t), newTokenIssuer(t)
	file := write(t, "authentication.yaml", head+" []")
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) { o.Authentication.ConfigFile = file }))
	tokens := map[string]string{"one": one.token(t, "ann"), "other": other.token(t, "ann")}
	clients := map[string]kubernetes.Interface{}
	for name, token := range tokens {
		config := rest.AnonymousClientConfig(srv.Config())
		config.BearerToken = token
		clients[name] = must(kubernetes.NewForConfig(config))(t)
	}

	// are checks the user names of the issuers' tokens. An empty name means that the token is refused.
	are := func(want map[string]string) func(context.Context) error {
		return func(ctx context.Context) error {
			requests, reviews := map[string]string{}, map[string]string{}
			for name, token := range tokens {
				self, err := clients[name].AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
				if err == nil {
					requests[name] = self.Status.UserInfo.Username
				} else if statusOf(err).Code != http.StatusUnauthorized {
					return err
				}
				review, err := srv.Client().AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				if review.Status.Authenticated {
					reviews[name] = review.Status.User.Username
				}
			}
			if diff := cmp.Diff([]map[string]string{want, want}, []map[string]string{requests, reviews}); diff != "" {
				return fmt.Errorf("users of requests and reviews (-want +got):\n%s", diff)
			}
			return nil
		}
	}
	ok(t, are(map[string]string{})(t.Context()))

	replace(t, file, head+one.entry("a:"))
	eventually(t, are(map[string]string{"one": "a:ann"}))
	replace(t, file, head+one.entry("b:")+other.entry("c:"))
	eventually(t, are(map[string]string{"one": "b:ann", "other": "c:ann"}))

	for _, wrong := range []struct{ name, reason, content string }{
		{"not read", "the content isn't YAML", "jwt: ["},
		{"empty", "most programs truncate a file before they write", ""},
		{"invalid", "the server wouldn't start with this content", head + one.entry("a:") + one.entry("b:")},
		{"gone", "the file may exist again a moment later", ""},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			failing(t, srv, "authentication", func() {
				if wrong.name == "gone" {
					ok(t, os.Remove(file))
					return
				}
				replace(t, file, wrong.content)
			})
			if err := are(map[string]string{"one": "b:ann", "other": "c:ann"})(t.Context()); err != nil {
				t.Errorf("%s: want what was in force to stay: %v", wrong.reason, err)
			}
		})
	}

	// The issuer silent never sends its keys. It must not delay later changes of the file.
	own, err := newAuthority()
	ok(t, err)
	asked := make(chan struct{}, 100)
	silent := &tokenIssuer{pem: own.pem, url: fmt.Sprintf("https://localhost:%d", own.serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
	}), "localhost"))}
	replace(t, file, head+one.entry("d:")+silent.entry("d:"))
	<-asked
	ok(t, are(map[string]string{"one": "b:ann", "other": "c:ann"})(t.Context()))
	replace(t, file, head+other.entry("e:"))
	eventually(t, are(map[string]string{"other": "e:ann"}))
}
