package serviceaccounttokens

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/emicklei/go-restful/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/fake"
)

const issuer = "https://issuer.example"

var (
	start   = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "bot", UID: "account-uid"}}
	pod     = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "pod-uid"}}
	node    = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "node-uid"}}
	secret  = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "secret", UID: "secret-uid"}}
)

func newGenerator(t *testing.T) *TokenGenerator {
	t.Helper()
	signer, err := GenerateSigner()
	if err != nil {
		t.Fatal(err)
	}
	return &TokenGenerator{
		Issuer: issuer, Signer: signer, Audiences: []string{"api"}, ExtendExpiration: true,
		Now: func() time.Time { return start },
	}
}

func issue(t *testing.T, generator *TokenGenerator, spec authenticationv1.TokenRequestSpec, bound ...runtime.Object) authenticationv1.TokenRequest {
	t.Helper()
	request := authenticationv1.TokenRequest{Spec: spec}
	if err := generator.IssueToken(t.Context(), account, &request, bound...); err != nil {
		t.Fatal(err)
	}
	return request
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()

	generator := newGenerator(t)
	other := newGenerator(t) // other signs tokens of the same issuer with another key
	another := *pod
	another.UID = "another-uid"
	ending := *pod
	ending.DeletionTimestamp = &metav1.Time{Time: start.Add(-5 * time.Minute)}
	all := []runtime.Object{account, pod, secret, node}
	seconds := func(n int64) *int64 { return &n }

	for _, test := range []struct {
		name    string
		signs   *TokenGenerator
		spec    authenticationv1.TokenRequestSpec
		bound   []runtime.Object
		objects []runtime.Object
		after   time.Duration
		target  authenticator.Audiences
		extra   map[string][]string
		want    string // the error; "" for no error, "no opinion" for no user and no error
		reason  string
	}{
		{name: "plain", signs: generator, objects: all, reason: "the token has a valid signature and audience, and its account exists"},
		{
			name: "bound", signs: generator, objects: all, bound: []runtime.Object{pod, node},
			extra: map[string][]string{
				"authentication.kubernetes.io/pod-name": {"pod"}, "authentication.kubernetes.io/pod-uid": {"pod-uid"},
				"authentication.kubernetes.io/node-name": {"node"}, "authentication.kubernetes.io/node-uid": {"node-uid"},
			},
			reason: "the user's extra fields name the bound objects",
		},
		{name: "leeway", signs: generator, objects: all, after: time.Hour + 30*time.Second, reason: "clocks may differ by a minute"},
		{name: "expired", signs: generator, objects: all, after: time.Hour + 2*time.Minute,
			want: "service account token has expired", reason: "the default lifetime is an hour"},
		{
			name: "extended", signs: generator, objects: all, bound: []runtime.Object{pod}, after: 24 * time.Hour,
			spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: seconds(3607)},
			extra: map[string][]string{"authentication.kubernetes.io/pod-name": {"pod"},
				"authentication.kubernetes.io/pod-uid": {"pod-uid"}},
			reason: "the tokens that a kubelet mounts live longer than requested",
		},
		{name: "future", signs: generator, objects: all, after: -time.Hour,
			want: "service account token is not valid yet", reason: "the token becomes valid in the future"},
		{
			name: "wrong audience", signs: generator, objects: all, spec: authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}},
			want:   `token audiences ["vault"] is invalid for the target audiences ["api"]`,
			reason: "the token has no audience of the API server",
		},
		{
			name: "asked-for audience", signs: generator, objects: all,
			spec:   authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}},
			target: authenticator.Audiences{"vault"}, reason: "a token review asks for this audience",
		},
		{name: "account deleted", signs: generator, objects: []runtime.Object{node},
			want: `serviceaccounts "bot" not found`, reason: "a token ends with its account"},
		{name: "pod deleted", signs: generator, bound: []runtime.Object{pod}, objects: []runtime.Object{account},
			want:   "service account token has been invalidated",
			reason: "a token that is bound to a pod ends with the pod"},
		{name: "pod replaced", signs: generator, bound: []runtime.Object{pod},
			objects: []runtime.Object{account, &another},
			want:    "pod UID (another-uid) does not match service account pod ref claim (pod-uid)",
			reason:  "a new pod has the same name and another UID"},
		{name: "pod ending", signs: generator, bound: []runtime.Object{pod},
			objects: []runtime.Object{account, &ending}, want: "service account token has been invalidated",
			reason: "the grace period of the pod is over"},
		{name: "node of the pod deleted", signs: generator, bound: []runtime.Object{pod, node}, objects: []runtime.Object{account, pod}, extra: map[string][]string{
			"authentication.kubernetes.io/pod-name": {"pod"}, "authentication.kubernetes.io/pod-uid": {"pod-uid"},
			"authentication.kubernetes.io/node-name": {"node"}, "authentication.kubernetes.io/node-uid": {"node-uid"},
		}, reason: "a token that is bound to a pod doesn't end with the node of the pod"},
		{name: "node deleted", signs: generator, bound: []runtime.Object{node}, objects: []runtime.Object{account},
			want: "service account token has been invalidated", reason: "the token is bound to the node itself"},
		{name: "secret deleted", signs: generator, bound: []runtime.Object{secret}, objects: []runtime.Object{account},
			want:   "service account token has been invalidated",
			reason: "a token that is bound to a secret ends with the secret"},
		{name: "unknown key", signs: other, objects: all, want: "no opinion", reason: "another authenticator may know the key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := issue(t, test.signs, test.spec, test.bound...)
			tokens := &Authenticator{
				Issuers: []string{"old", issuer}, Keys: KeySet{generator.Signer.Public()}, Audiences: authenticator.Audiences{"api"},
				Objects: fake.NewClientset(test.objects...).CoreV1(), Now: func() time.Time { return start.Add(test.after) },
			}
			ctx := t.Context()
			if test.target != nil {
				ctx = authenticator.WithAudiences(ctx, test.target)
			}
			response, ok, err := tokens.AuthenticateToken(ctx, request.Status.Token)
			if test.want == "no opinion" {
				if ok || err != nil {
					t.Fatalf("got %v, %v, want no opinion: %s", ok, err, test.reason)
				}
				return
			}
			if test.want != "" {
				if ok || err == nil || err.Error() != test.want {
					t.Fatalf("got %v, %v, want %q: %s", ok, err, test.want, test.reason)
				}
				return
			}
			if !ok || err != nil {
				t.Fatalf("got %v, %v: %s", ok, err, test.reason)
			}
			extra := map[string][]string{user.CredentialIDKey: response.User.GetExtra()[user.CredentialIDKey]}
			for key, value := range test.extra {
				extra[key] = value
			}
			want := &user.DefaultInfo{
				Name: "system:serviceaccount:ns:bot", UID: "account-uid",
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns"}, Extra: extra,
			}
			if diff := cmp.Diff(want, response.User); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if id := extra[user.CredentialIDKey]; len(id) != 1 || !strings.HasPrefix(id[0], "JTI=") {
				t.Errorf("credential ID %q is not that of the token", id)
			}
		})
	}
}

func TestForeignTokens(t *testing.T) {
	t.Parallel()

	tokens := &Authenticator{Issuers: []string{issuer}, Keys: KeySet{newGenerator(t).Signer.Public()}, Objects: fake.NewClientset().CoreV1()}
	foreign := newGenerator(t)
	foreign.Issuer = "https://other.example"
	unsigned := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"iss": issuer})
	none, err := unsigned.SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, token, reason string }{
		{"opaque", "abcdef.0123456789abcdef", "the token isn't a JWT"},
		{"other issuer", issue(t, foreign, authenticationv1.TokenRequestSpec{}).Status.Token,
			"an OpenID issuer may have issued the token"},
		{"unsigned", none, "algorithm none is never accepted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if response, ok, err := tokens.AuthenticateToken(t.Context(), test.token); ok || response != nil {
				t.Errorf("got %v, %v, %v: %s", response, ok, err, test.reason)
			}
		})
	}
}

// TestClaims checks the claims that other programs read from a token.
func TestClaims(t *testing.T) {
	t.Parallel()

	generator := newGenerator(t)
	generator.MaxExpiration = time.Hour
	day := int64(24 * 60 * 60)
	request := issue(t, generator, authenticationv1.TokenRequestSpec{ExpirationSeconds: &day, Audiences: []string{"api", "vault"}}, pod, node)
	if got := request.Status.ExpirationTimestamp.Time; !got.Equal(start.Add(time.Hour)) {
		t.Errorf("expires at %v, want the longest lifetime", got)
	}

	parts := strings.Split(request.Status.Token, ".")
	decode := func(part string) (out map[string]any) {
		t.Helper()
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(map[string]any{"alg": "ES256", "kid": generator.Signer.Public().ID}, decode(parts[0])); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	payload := decode(parts[1])
	delete(payload, "jti")
	at := float64(start.Unix())
	want := map[string]any{
		"iss": issuer, "sub": "system:serviceaccount:ns:bot", "aud": []any{"api", "vault"},
		"iat": at, "nbf": at, "exp": at + 3600,
		"kubernetes.io": map[string]any{
			"namespace":      "ns",
			"serviceaccount": map[string]any{"name": "bot", "uid": "account-uid"},
			"pod":            map[string]any{"name": "pod", "uid": "pod-uid"},
			"node":           map[string]any{"name": "node", "uid": "node-uid"},
		},
	}
	if diff := cmp.Diff(want, payload); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
}

func TestLegacy(t *testing.T) {
	t.Parallel()

	generator := newGenerator(t)
	token, err := generator.Signer.sign(&claims{
		RegisteredClaims: jwt.RegisteredClaims{Issuer: legacyIssuer, Subject: "system:serviceaccount:ns:bot"},
		legacyClaims:     legacyClaims{Namespace: "ns", SecretName: "secret", ServiceAccountName: "bot", ServiceAccountUID: "account-uid"},
	})
	if err != nil {
		t.Fatal(err)
	}
	holding := secret.DeepCopy()
	holding.Data = map[string][]byte{"token": []byte(token)}
	invalid := holding.DeepCopy()
	invalid.Labels = map[string]string{"kubernetes.io/legacy-token-invalid-since": "2030-01-02"}

	for _, test := range []struct {
		name    string
		lookup  bool
		objects []runtime.Object
		want    string
		reason  string
	}{
		{"held", true, []runtime.Object{account, holding}, "", "the Secret has the token"},
		{"not held", true, []runtime.Object{account, secret}, "token does not match server's copy", "the Secret has another token"},
		{"marked", true, []runtime.Object{account, invalid},
			"the token in secret ns/secret is marked invalid: take the label kubernetes.io/legacy-token-invalid-since off the secret, or request a new token by a TokenRequest",
			"no client has used the token for a year, or an administrator has revoked the token"},
		{"no secret", true, []runtime.Object{account}, "token has been invalidated", "a legacy token ends with its Secret"},
		{"no lookup", false, nil, "", "without the lookup, a valid signature is enough"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tokens := &Authenticator{
				Keys: KeySet{generator.Signer.Public()}, Audiences: authenticator.Audiences{"api"},
				Objects: fake.NewClientset(test.objects...).CoreV1(), LookupLegacy: test.lookup,
			}
			_, ok, err := tokens.AuthenticateToken(t.Context(), token)
			if test.want == "" && (!ok || err != nil) || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("got %v, %v, want %q: %s", ok, err, test.want, test.reason)
			}
		})
	}
}

// warnings collects the warnings of a request.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// TestUseOfLegacy checks the effects of a request with a legacy token: the label with the date in the Secret, the
// annotations of the audit event, and a warning to the client.
func TestUseOfLegacy(t *testing.T) {
	t.Parallel()
	const lastUsed = "kubernetes.io/legacy-token-last-used"
	generator := newGenerator(t)
	token, err := generator.LegacyToken(account, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason  string
		listed        []corev1.ObjectReference
		label, marked string // the values of lastUsedLabel and invalidSinceLabel before the request
		want          string // the value of lastUsedLabel after the request
		audited       string // the annotation of the audit event, without the prefix authentication.k8s.io/legacy-token-
		warned        bool
		ok            bool
	}{
		{"first use", "the Secret gets the date of the request", nil, "", "", "2030-01-02", "manual-secret", false, true},
		{"later use", "the Secret gets the date of the latest request", nil, "2029-12-31", "", "2030-01-02", "manual-secret", false, true},
		{"clock ahead", "the date of another server is a day ahead", nil, "2030-01-03", "", "2030-01-03", "manual-secret", false, true},
		{"marked invalid", "an administrator sees that the token is still in use", nil, "", "2030-01-01", "2030-01-02",
			"invalidated", false, false},
		{"list of Secrets", "the account has the Secret in its list, as Kubernetes lists the Secrets that it has made",
			[]corev1.ObjectReference{{Name: "other"}, {Name: "secret"}}, "", "", "2030-01-02", "autogenerated-secret",
			true, true},
		{"another Secret in the list", "a user has made the Secret", []corev1.ObjectReference{{Name: "other"}}, "", "",
			"2030-01-02", "manual-secret", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			holding, holder := secret.DeepCopy(), account.DeepCopy()
			holding.Data, holding.Labels = map[string][]byte{"token": []byte(token)}, map[string]string{}
			if test.label != "" {
				holding.Labels[lastUsed] = test.label
			}
			if test.marked != "" {
				holding.Labels[invalidSinceLabel] = test.marked
			}
			holder.Secrets = test.listed
			client := fake.NewClientset(holding, holder).CoreV1()
			tokens := &Authenticator{
				Keys: KeySet{generator.Signer.Public()}, Objects: client, LookupLegacy: true, Now: func() time.Time { return start },
			}
			var warned warnings
			ctx := audit.WithAuditContext(warning.WithWarningRecorder(t.Context(), &warned))
			event := audit.AuditContextFrom(ctx)
			if err := event.Init(audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
				t.Fatal(err)
			}
			_, ok, err := tokens.AuthenticateToken(ctx, token)
			if ok != test.ok {
				t.Errorf("accepted %t, %v, want %t", ok, err, test.ok)
			}
			name := "secret"
			if test.audited == "invalidated" {
				name = "secret/ns"
			}
			annotations := map[string]string{
				"authentication.k8s.io/legacy-token":                 "system:serviceaccount:ns:bot",
				"authentication.k8s.io/legacy-token-" + test.audited: name,
			}
			if diff := cmp.Diff(annotations, event.GetEventAnnotations()); diff != "" {
				t.Errorf("annotations of the audit event (-want +got):\n%s", diff)
			}
			stored, err := client.Secrets("ns").Get(t.Context(), "secret", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := stored.Labels[lastUsed]; got != test.want || len(warned) > 0 != test.warned {
				t.Errorf("got the date %q and the warnings %q, want %q and a warning %t: %s", got, warned, test.want, test.warned, test.reason)
			}
		})
	}
}

// TestDiscovery checks the documents that a Discovery serves: the configuration of the OpenID provider, and the public
// keys. It also checks that NewDiscovery refuses issuers that can't be discovered.
func TestDiscovery(t *testing.T) {
	t.Parallel()

	generator := newGenerator(t)
	discovery, err := NewDiscovery(issuer, "", "192.0.2.1:6443", KeySet{generator.Signer.Public()})
	if err != nil {
		t.Fatal(err)
	}
	container := restful.NewContainer()
	for _, service := range discovery.WebServices() {
		container.Add(service)
	}
	get := func(path, accept string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		req.Header.Set("Accept", accept)
		recorded := httptest.NewRecorder()
		container.Dispatch(recorded, req)
		return recorded
	}
	recorded := get(ConfigurationPath, "application/json")
	want := `{"issuer":"https://issuer.example","jwks_uri":"https://192.0.2.1:6443/openid/v1/jwks","response_types_supported":["id_token"],` +
		`"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`
	if diff := cmp.Diff(want, recorded.Body.String()); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}

	if got := get(JWKSPath, "application/json").Code; got != http.StatusNotAcceptable {
		t.Errorf("keys are sent as application/json, with status %d", got)
	}
	recorded = get(JWKSPath, "*/*")
	if got := recorded.Header().Get("Content-Type"); got != "application/jwk-set+json" {
		t.Errorf("keys are sent as %q", got)
	}
	var set struct{ Keys []jsonWebKey }
	if err := json.Unmarshal(recorded.Body.Bytes(), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("keys %s: %v", recorded.Body, err)
	}
	key := set.Keys[0]
	if got := generator.Signer.Public().jsonWebKey(); key != got || key.Type != "EC" || key.Curve != "P-256" || len(key.X) != 43 || len(key.Y) != 43 {
		t.Errorf("key %+v is not the signer's", key)
	}

	for _, issuer := range []string{"kubernetes", "http://issuer.example", "https://issuer.example?a=b", "https://issuer.example#a"} {
		if _, err := NewDiscovery(issuer, "", "192.0.2.1:6443", nil); err == nil || !strings.Contains(err.Error(), strconv.Quote(issuer)) {
			t.Errorf("issuer %s: want an error that names it, got %v: relying parties accept only an https URL without a query and a fragment", issuer, err)
		}
	}
}
