package integration_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

var webhookTokens = miniapitest.WithFeatureGates(map[string]bool{"APIServerWebhookAuthenticationToken": true})

// presented records the header Authorization of each call of a webhook.
type presented struct {
	mu      sync.Mutex
	headers []string
}

func (p *presented) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.headers = append(p.headers, r.Header.Get("Authorization"))
	p.mu.Unlock()
	allow().ServeHTTP(w, r)
}

// tokens returns the presented tokens, and forgets them.
func (p *presented) tokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	tokens := p.headers
	p.headers = nil
	for i := range tokens {
		tokens[i] = strings.TrimPrefix(tokens[i], "Bearer ")
	}
	return tokens
}

// reviewed returns the user of a token for an audience, as a webhook would ask for it.
func reviewed(t *testing.T, client kubernetes.Interface, token, audience string) authenticationv1.TokenReviewStatus {
	t.Helper()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	return must(client.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{}))(t).Status
}

// With the feature gate APIServerWebhookAuthenticationToken, the server presents a token to each webhook (KEP-6060). The
// token is for this webhook alone, is used until it expires, and ends with the webhook's configuration.
func TestTokensForWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, webhookTokens)
	client := srv.Client()
	mutates, validates, ends := &presented{}, &presented{}, &presented{}
	install(t, srv, mutating("m", mutates), validating("v", validates))
	gone := mutating("gone", nil)
	gone.ClientConfig = srv.Webhook("/gone", ends).ClientConfig()
	must(client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "gone"}, Webhooks: []admissionregistrationv1.MutatingWebhook{gone.MutatingWebhook},
	}, metav1.CreateOptions{}))(t)
	create := func() {
		t.Helper()
		must(client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c"}}, metav1.CreateOptions{}))(t)
	}
	create()
	create()
	urls := map[string]string{}
	urls["m"] = *must(client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "m", metav1.GetOptions{}))(t).Webhooks[0].ClientConfig.URL
	urls["v"] = *must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "v", metav1.GetOptions{}))(t).Webhooks[0].ClientConfig.URL
	tokens := map[string]string{}
	for name, p := range map[string]*presented{"m": mutates, "v": validates} {
		got := p.tokens()
		if len(got) != 2 || got[0] == "" || got[0] != got[1] {
			t.Fatalf("%s: want one token in two calls, got %q", name, got)
		}
		tokens[name] = got[0]
	}
	for name, kind := range map[string]string{"m": "mutatingwebhookconfiguration", "v": "validatingwebhookconfiguration"} {
		status := reviewed(t, client, tokens[name], urls[name])
		extra := status.User.Extra
		if !status.Authenticated || status.User.Username != "system:serviceaccount:kube-system:webhook-auth" ||
			!slices.Equal(extra["authentication.kubernetes.io/"+kind+"-name"], []string{name}) ||
			!slices.Equal(extra["attestation.authentication.kubernetes.io/admissionReviewAPIGroups"], []string{"*"}) {
			t.Errorf("%s: the token belongs to %+v", name, status)
		}
	}
	if reviewed(t, client, tokens["m"], urls["v"]).Authenticated {
		t.Error("the token for one webhook is good for another")
	}

	ok(t, client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	if status := reviewed(t, client, ends.tokens()[0], *gone.ClientConfig.URL); status.Authenticated || !strings.Contains(status.Error, "service account token has been invalidated") {
		t.Errorf("the token doesn't end with the webhook's configuration: %+v", status)
	}

	// The server creates the account of the tokens again, and admission doesn't see it.
	ok(t, client.CoreV1().ServiceAccounts("kube-system").Delete(t.Context(), "webhook-auth", metav1.DeleteOptions{}))
	another := &presented{}
	install(t, srv, validating("another", another))
	create()
	got := another.tokens()
	if len(got) != 1 || got[0] == "" {
		t.Errorf("want one call with a token, got %q", got)
	}
}

// Without the feature gate, webhooks get no token.
func TestNoTokensForWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	p := &presented{}
	install(t, srv, mutating("m", p))
	must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}))(t)
	if got := p.tokens(); !slices.Equal(got, []string{""}) {
		t.Errorf("want one call without a token, got %q", got)
	}
}

// Other API servers request tokens for webhooks. The service account needs permission to attest the API group, and a
// webhook of the configuration must have the audience and a rule for the group.
func TestTokenRequestsForWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, webhookTokens)
	client := srv.Client()
	for _, name := range []string{"granted", "other"} {
		must(client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
	}
	must(client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "attest"}, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"attest"}, APIGroups: []string{"authentication.k8s.io"},
		Resources: []string{"admissionReviewAPIGroups"}, ResourceNames: []string{"apps", "batch"},
	}}}, metav1.CreateOptions{}))(t)
	must(client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "attest"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "attest"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "granted"}},
	}, metav1.CreateOptions{}))(t)
	of := func(h hook, client admissionregistrationv1.WebhookClientConfig) hook {
		h.ClientConfig = client
		h.Rules[0].APIGroups, h.Rules[0].Resources = []string{"apps"}, []string{"deployments"}
		return h
	}
	url, path, port := "https://hook.example.com/validate", "/validate", int32(8443)
	configure(t, srv, "hooks",
		of(validating("url", nil), admissionregistrationv1.WebhookClientConfig{URL: &url}),
		of(validating("service", nil), admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "n", Name: "s", Path: &path, Port: &port}}),
		of(validating("plain", nil), admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "n", Name: "p"}}))
	denied := `serviceaccounts/token "granted" is forbidden: token request denied`
	for _, test := range []struct {
		name, reason, account, audience, group, configuration, want string
	}{
		{"url", "the audience is the URL", "granted", url, "apps", "hooks", ""},
		{"service", "the audience has the parts of the service", "granted", "https://s.n.svc:8443/validate", "apps", "hooks", ""},
		{"service without port and path", "they have defaults", "granted", "https://p.n.svc:443/", "apps", "hooks", ""},
		{"slash", "the path is compared exactly", "granted", "https://s.n.svc:8443/validate/", "apps", "hooks", denied},
		{"audience", "no webhook has this URL", "granted", "https://another.example.com", "apps", "hooks", denied},
		{"group", "no webhook has a rule for the group", "granted", url, "batch", "hooks", denied},
		{"configuration", "the answer doesn't tell which configurations exist", "granted", url, "apps", "none", denied},
		{"permission", "the account may not attest anything", "other", url, "apps", "hooks",
			`admissionReviewAPIGroups.authentication.k8s.io "apps" is forbidden: User "system:serviceaccount:default:other" cannot attest resource "admissionReviewAPIGroups" in API group "authentication.k8s.io" at the cluster scope`},
		{"every group", "the account may attest only two groups", "granted", url, "*", "hooks",
			`admissionReviewAPIGroups.authentication.k8s.io "*" is forbidden: User "system:serviceaccount:default:granted" cannot attest resource "admissionReviewAPIGroups" in API group "authentication.k8s.io" at the cluster scope`},
	} {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			Audiences:    []string{test.audience},
			Attestations: map[string]authenticationv1.AttestationValue{"admissionReviewAPIGroups": {test.group}},
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "admissionregistration.k8s.io/v1",
				Kind: "ValidatingWebhookConfiguration", Name: test.configuration},
		}}
		issued, err := client.CoreV1().ServiceAccounts("default").CreateToken(context.Background(), test.account, request, metav1.CreateOptions{})
		switch {
		case test.want != "":
			if !apierrors.IsForbidden(err) || err.Error() != test.want {
				t.Errorf("%s (%s):\n got %v\nwant %s", test.name, test.reason, err, test.want)
			}
		case err != nil:
			t.Errorf("%s (%s): %v", test.name, test.reason, err)
		case *issued.Spec.ExpirationSeconds != 600 || !reviewed(t, client, issued.Status.Token, test.audience).Authenticated:
			t.Errorf("%s (%s): got the request %+v with another lifetime than ten minutes, or a bad token", test.name, test.reason, issued.Spec)
		}
	}
}
