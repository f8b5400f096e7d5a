package health

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
)

// If the context ends before the first answer, the error has the reason why there is no answer.
func TestAwaitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	end()
	apiServer := loopback.New(t.Context())
	apiServer.Serve(http.NotFoundHandler())
	client := kubernetes.NewForConfigOrDie(&rest.Config{Transport: apiServer, QPS: -1}).Discovery().RESTClient()
	err := Client{REST: client}.Await(ctx, "/readyz")
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "%!") {
		t.Errorf("want the end of the context and the last error, got %v", err)
	}
}

// If Await times out, the error has the reasons of the failed checks. If a check of encryption has failed, the error
// also names --encryption-provider-config.
func TestAwaitHealthNamesTheReason(t *testing.T) {
	t.Parallel()
	const kms = "failed to perform status section of the healthz check for KMS Provider kms-1"
	for _, test := range []struct {
		name, reason string
		failing      map[string]string // the reasons of failing checks, by name
		want         []string
	}{
		{"encryption", "the provider of the keys doesn't run, and the file has its address",
			map[string]string{"kms-providers": kms},
			[]string{"--encryption-provider-config kms.yaml: kms-providers: " + kms}},
		{"encryption by version 1", "each provider has a check", map[string]string{"kms-provider-0": kms},
			[]string{"--encryption-provider-config kms.yaml: kms-provider-0: " + kms}},
		{"others", "the error has the reasons of all failed checks",
			map[string]string{"etcd": "no answer", "poststarthook/rbac/bootstrap-roles": "not yet"},
			[]string{"etcd: no answer", "poststarthook/rbac/bootstrap-roles: not yet"}},
		{"no check", "the response names no failed check", nil, []string{"the last answer: ", "readyz check failed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				apiServer := loopback.New(t.Context())
				apiServer.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if reason, failing := test.failing[strings.TrimPrefix(r.URL.Path, "/readyz/")]; failing {
						http.Error(w, "internal server error: "+reason, http.StatusInternalServerError)
						return
					}
					answer := "[+]ping ok\n"
					for name := range test.failing {
						answer += "[-]" + name + " failed: reason withheld\n"
					}
					http.Error(w, answer+"readyz check failed", http.StatusInternalServerError)
				}))
				client := kubernetes.NewForConfigOrDie(&rest.Config{Transport: apiServer, QPS: -1}).Discovery().RESTClient()
				s := Client{client, func(err error) error { return etcd.OfEncryption("kms.yaml", err) }}
				// Package synctest fakes the clock, so this second takes no time.
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := s.Await(ctx, "/readyz")
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v doesn't say %q", test.reason, err, want)
					}
				}
			})
		})
	}
}
