package integration_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// behindProxies returns an option. With this option, the server trusts proxies with a certificate that the authority
// has issued for one of the names.
func behindProxies(t testing.TB, authority *authority, allowedNames ...string) miniapitest.Option {
	t.Helper()
	file := write(t, "proxies.pem", string(authority.pem))
	return inprocess.WithServerOptions(func(o *server.Options) {
		h := &o.Authentication.RequestHeader
		h.ClientCAFile, h.AllowedNames = file, allowedNames
		h.UsernameHeaders, h.UIDHeaders = []string{"X-Remote-User", "X-Forwarded-User"}, []string{"X-Remote-Uid"}
		h.GroupHeaders, h.ExtraHeaderPrefixes = []string{"X-Remote-Group"}, []string{"X-Remote-Extra-"}
	})
}

// A proxy with a certificate of the right authority and an allowed name can set the user of a request by headers. From
// other clients, the server ignores the headers. Webhooks get the user of the headers.
func TestRequestHeaderAuthentication(t *testing.T) {
	t.Parallel()
	proxies, others := must(newAuthority())(t), must(newAuthority())(t)
	srv := miniapitest.Start(t, behindProxies(t, proxies, "proxy"))
	must(srv.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: named("writers"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "writers"}},
	}, metav1.CreateOptions{}))(t)
	recorder := install(t, srv, validating("validate", allow()))
	alice := http.Header{
		"X-Remote-User": {"alice"}, "X-Remote-Uid": {"17"}, "X-Remote-Group": {"writers", "testers"},
		"X-Remote-Extra-Scopes": {"a", "b"}, "X-Remote-Extra-Example.com%2fteam": {"blue"},
	}
	certificate := func(of pair) func(*rest.Config) {
		return func(c *rest.Config) { c.CertData, c.KeyData = of.cert, of.key }
	}
	for _, tc := range []struct {
		name, reason string
		as           func(*rest.Config)
		header       http.Header
		want         *authenticationv1.UserInfo // the user in the review; nil if the request is unauthorized
	}{
		{"proxy", "the proxy names the user", certificate(proxies.issue(t, "proxy")), alice, &authenticationv1.UserInfo{
			Username: "alice", UID: "17", Groups: []string{"writers", "testers", "system:authenticated"},
			Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}, "example.com/team": {"blue"}},
		}},
		{"second header", "the server uses the first header that the request has", certificate(proxies.issue(t, "proxy")), http.Header{"X-Forwarded-User": {"bob"}, "X-Remote-Group": {"writers"}},
			&authenticationv1.UserInfo{Username: "bob", Groups: []string{"writers", "system:authenticated"}}},
		{"proxy without a user", "groups alone name no user", certificate(proxies.issue(t, "proxy")),
			http.Header{"X-Remote-Group": {"writers"}}, nil},
		{"another name", "the name isn't allowed", certificate(proxies.issue(t, "other")), alice, nil},
		{"another authority", "this authority doesn't issue the certificates of proxies",
			certificate(others.issue(t, "proxy")), alice, nil},
		{"no certificate", "headers alone prove nothing", func(*rest.Config) {}, alice, nil},
		{"a user's own certificate", "the certificate names the user", func(c *rest.Config) { *c = *srv.Config() }, alice,
			&authenticationv1.UserInfo{Username: "system:admin", Groups: []string{"system:masters", "system:authenticated"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recorder.Reset()
			config := rest.AnonymousClientConfig(srv.Config())
			tc.as(config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return adding{tc.header, next} })
			client := must(kubernetes.NewForConfig(config))(t)
			_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{DryRun: dry})
			if tc.want == nil {
				if !apierrors.IsUnauthorized(err) {
					t.Errorf("%s: want the request to be unauthorized, got %v", tc.reason, err)
				}
				return
			}
			ok(t, err)
			got := only(t, recorder).UserInfo
			if tc.want.Extra == nil {
				got.Extra = nil // it has the identifier of the certificate
			}
			if diff := cmp.Diff(*tc.want, got); diff != "" {
				t.Errorf("%s: the user (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// adding is a round tripper that adds headers.
type adding struct {
	header http.Header
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a adding) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, a.header)
	return a.next.RoundTrip(r)
}
