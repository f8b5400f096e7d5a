package behind

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// A client certificate that isn't valid now is told from a wrong user, which the cluster's answer can't do.
func TestCheckCertificate(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Client("alice")
	if err != nil {
		t.Fatal(err)
	}
	const year = 365 * 24 * time.Hour
	for _, test := range []struct {
		name, reason string
		config       rest.TLSClientConfig
		now          time.Time
		want         string
	}{
		{"valid", "the cluster judges the rest", rest.TLSClientConfig{CertData: pair.Cert, KeyData: pair.Key}, time.Now(), ""},
		{"expired", "the user must renew it", rest.TLSClientConfig{CertData: pair.Cert, KeyData: pair.Key}, time.Now().Add(50 * year), "the client certificate of CN=alice has expired at "},
		{"not yet valid", "the clock is wrong", rest.TLSClientConfig{CertData: pair.Cert, KeyData: pair.Key}, time.Now().Add(-year), "set the clock"},
		{"none", "the user has a token", rest.TLSClientConfig{}, time.Now(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := &Cluster{Config: &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: test.config}}
			err := cluster.checkCertificate(test.now)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: want %q, got %v", test.reason, test.want, err)
			}
		})
	}
}
