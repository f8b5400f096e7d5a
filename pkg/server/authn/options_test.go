package authn

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
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

func TestValidate(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		args   []string
		want   []string // parts of the errors, in order
		reason string
	}{
		{"defaults", nil, nil, "no flag is needed"},
		{
			"several",
			[]string{"--service-account-issuer=a", "--service-account-issuer=a",
				"--authentication-token-webhook-version=v2", "--requestheader-username-headers= "},
			[]string{`"requestheader-username-headers"`, `--service-account-issuer "a" is given twice`,
				"--authentication-token-webhook-version"},
			"Validate returns all errors at once",
		},
		{"issuer URL", []string{"--service-account-issuer=http://[bad"}, []string{"--service-account-issuer"},
			"an issuer with a colon must be a URL"},
		{"keys address", []string{"--service-account-jwks-uri=http://x"}, []string{"--service-account-jwks-uri"},
			"relying parties accept only https"},
		{"short tokens", []string{"--service-account-max-token-expiration=1m"},
			[]string{"--service-account-max-token-expiration"}, "kubelets ask for an hour"},
		{"issuer without a client ID", []string{"--oidc-issuer-url=https://x"}, []string{"--oidc-client-id"},
			"the issuer and the client ID are both required"},
		{"OIDC algorithm", []string{"--oidc-issuer-url=https://x", "--oidc-client-id=y", "--oidc-signing-algs=HS256"},
			[]string{"--oidc-signing-algs"}, "the key of HS256 is secret, so an issuer can't publish it"},
		{"issuer without a client ID, and file", []string{"--oidc-issuer-url=https://x", "--authentication-config=z"},
			[]string{"--authentication-config z: can't be given together with --oidc-* flags"},
			"the file excludes all OIDC flags, so the error doesn't name the missing flag"},
		{"OIDC and file", []string{"--oidc-issuer-url=https://x", "--oidc-client-id=y", "--authentication-config=z"},
			[]string{"--authentication-config"}, "the file and the flags configure the same authenticator"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			errs := parse(t, test.args...).Validate()
			if len(errs) != len(test.want) {
				t.Fatalf("got %v, want %d errors: %s", errs, len(test.want), test.reason)
			}
			for i, err := range errs {
				if !strings.Contains(err.Error(), test.want[i]) {
					t.Errorf("error %q doesn't name %s: %s", err, test.want[i], test.reason)
				}
			}
		})
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()

	tokens := write(t, "tokens.csv", "static-token,ann,1,\"dev,ops\"\n")
	restricted := write(t, "authn.yaml", `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /open}]}
`)
	bootstrapSecret := func(id, usage, expiration string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-" + id}, Type: bootstrapTokenType,
			Data: map[string][]byte{
				"token-id": []byte(id), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte(usage),
				"expiration": []byte(expiration), "auth-extra-groups": []byte("system:bootstrappers:x"),
			},
		}
	}
	client := fake.NewClientset(
		bootstrapSecret("valid0", "true", ""), bootstrapSecret("unused", "false", ""), bootstrapSecret("expire", "true", "2001-01-01T00:00:00Z"),
	).CoreV1()
	const refused = "refused"

	for _, test := range []struct {
		name   string
		args   []string
		path   string
		token  string
		want   string // the name and the groups of the user
		reason string
	}{
		{"health", nil, "/readyz", "", "system:anonymous [system:unauthenticated]", "probes have no credentials"},
		{"below health", nil, "/readyz/etcd", "", refused, "the default doesn't allow anonymous requests below the health paths"},
		{"elsewhere", nil, "/api", "", refused, "the default allows anonymous requests only to health checks and /version"},
		{"anonymous everywhere", []string{"--anonymous-auth"}, "/api", "", "system:anonymous [system:unauthenticated]",
			"the flag allows anonymous requests to all paths"},
		{"anonymous nowhere", []string{"--anonymous-auth=false"}, "/readyz", "", refused, "the flag forbids anonymous requests"},
		{"anonymous by file", []string{"--authentication-config=" + restricted}, "/open", "",
			"system:anonymous [system:unauthenticated]", "the file allows anonymous requests to the path"},
		{"anonymous not by file", []string{"--authentication-config=" + restricted}, "/readyz", "", refused,
			"the file replaces the default"},
		{"token", []string{"--token-auth-file=" + tokens}, "/api", "static-token", "ann [dev ops system:authenticated]",
			"the file has the token"},
		{"wrong token", []string{"--token-auth-file=" + tokens, "--anonymous-auth"}, "/api", "another", refused,
			"wrong credentials are not anonymous"},
		{"bootstrap token", []string{"--enable-bootstrap-token-auth"}, "/api", "valid0.0123456789abcdef",
			"system:bootstrap:valid0 [system:bootstrappers system:bootstrappers:x system:authenticated]",
			"a Secret has the token"},
		{"bootstrap token, wrong secret", []string{"--enable-bootstrap-token-auth"}, "/api", "valid0.fedcba9876543210",
			refused, "the part after the dot must be the token-secret"},
		{"bootstrap token, other usage", []string{"--enable-bootstrap-token-auth"}, "/api", "unused.0123456789abcdef",
			refused, "the token isn't for authentication"},
		{"bootstrap token, expired", []string{"--enable-bootstrap-token-auth"}, "/api", "expire.0123456789abcdef",
			refused, "the token has expired"},
		{"bootstrap token, off", nil, "/api", "valid0.0123456789abcdef", refused, "bootstrap tokens are off by default"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			info := &genericapiserver.AuthenticationInfo{}
			if _, err := parse(t, test.args...).ApplyTo(t.Context(), info, nil, Environment{Client: client}); err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodGet, test.path, nil)
			if test.token != "" {
				request.Header.Set("Authorization", "Bearer "+test.token)
			}
			got := refused
			response, ok, err := info.Authenticator.AuthenticateRequest(request)
			if ok {
				got = response.User.GetName() + " [" + strings.Join(response.User.GetGroups(), " ") + "]"
			}
			if got != test.want {
				t.Errorf("got %s (%v), want %s: %s", got, err, test.want, test.reason)
			}
		})
	}
}

func TestApplyToErrors(t *testing.T) {
	t.Parallel()

	empty := write(t, "empty", "")
	config := func(rest string) string {
		return write(t, "authn.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"+rest)
	}
	both := config("anonymous: {enabled: true}")
	ours := config("jwt: [{issuer: {url: \"" + defaultIssuer + "\", audiences: [a]}, claimMappings: {username: {claim: sub, prefix: \"\"}}}]")
	unknown := config("jwts: []")
	off := config("anonymous: {enabled: false, conditions: [{path: /open}]}")
	for _, test := range []struct {
		name   string
		args   []string
		want   []string
		reason string
	}{
		{"client authority", []string{"--client-ca-file=" + empty}, []string{"--client-ca-file", empty}, "the file has no certificate"},
		{"proxy authority", []string{"--requestheader-client-ca-file=/none"},
			[]string{"--requestheader-client-ca-file", "/none"}, "the file doesn't exist"},
		{"tokens", []string{"--token-auth-file=/none"}, []string{"--token-auth-file", "/none"}, "the file doesn't exist"},
		{"signing key", []string{"--service-account-signing-key-file=" + empty},
			[]string{"--service-account-signing-key-file", empty}, "the file has no key"},
		{"keys", []string{"--service-account-key-file=" + empty}, []string{"--service-account-key-file", empty}, "the file has no key"},
		{"webhook", []string{"--authentication-token-webhook-config-file=" + empty},
			[]string{"--authentication-token-webhook-config-file", empty}, "the kubeconfig has no cluster"},
		{"configuration", []string{"--authentication-config=" + empty}, []string{"--authentication-config", empty}, "the file is empty"},
		{"unknown field", []string{"--authentication-config=" + unknown}, []string{"--authentication-config", "jwts"},
			"the file must not have unknown fields"},
		{"anonymous twice", []string{"--anonymous-auth", "--authentication-config=" + both},
			[]string{"--anonymous-auth", both}, "both the flag and the file set anonymous requests"},
		{"anonymous off", []string{"--authentication-config=" + off},
			[]string{off, "anonymous.conditions", "enabled should be set to true"},
			"no anonymous request would be allowed"},
		{"issuer without TLS", []string{"--oidc-issuer-url=http://x", "--oidc-client-id=y"},
			[]string{`--oidc-issuer-url: Invalid value: "http://x": URL scheme must be https`},
			"the field jwt[0] is made from the flags"},
		{"issuer's authority",
			[]string{"--oidc-issuer-url=https://x", "--oidc-client-id=y", "--oidc-ca-file=" + unknown},
			[]string{"--oidc-ca-file: Invalid value"}, "the file has no certificate"},
		{"own issuer", []string{"--authentication-config=" + ours},
			[]string{"--authentication-config", "jwt[0].issuer.url"}, "this server signs the tokens of this issuer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, test.args...).ApplyTo(t.Context(), &genericapiserver.AuthenticationInfo{}, nil, Environment{Client: fake.NewClientset().CoreV1()})
			for _, part := range test.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v doesn't name %s: %s", err, part, test.reason)
				}
			}
		})
	}
}

func TestApplyAuthorization(t *testing.T) {
	t.Parallel()

	options := parse(t)
	if warning := options.ApplyAuthorization([]string{"AlwaysAllow"}); warning != "" || !options.Anonymous.Allow {
		t.Errorf("anonymous requests reach health and version alone: %q", warning)
	}
	options = parse(t, "--anonymous-auth")
	if warning := options.ApplyAuthorization([]string{"Node", "RBAC"}); warning != "" || !options.Anonymous.Allow {
		t.Errorf("RBAC decides on anonymous requests: %q", warning)
	}
	if warning := options.ApplyAuthorization([]string{"AlwaysAllow"}); warning == "" || options.Anonymous.Allow {
		t.Errorf("anonymous requests would be allowed everything: %q", warning)
	}
}
