package miniapitest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Options that contradict each other are an error.
func TestContradictions(t *testing.T) {
	t.Parallel()
	webhook := func(path string) miniapitest.Option { return miniapitest.WithWebhook(path, http.NotFoundHandler()) }
	gate := func(on bool) miniapitest.Option {
		return miniapitest.WithFeatureGates(map[string]bool{"AllowUnsafeMalformedObjectDeletion": on})
	}
	audit := func() miniapitest.Option { return miniapitest.WithAudit(nil, func(*auditv1.Event) {}) }
	folder, another := t.TempDir(), t.TempDir()
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         string // in the error; if empty, there is none
	}{
		{"user", "a certificate has one set of groups", []miniapitest.Option{miniapitest.WithUser("alice", "readers"), miniapitest.WithUser("alice", "writers")},
			`user "alice" is given with groups ["readers"] and with groups ["writers"]`},
		{"user, the same", "a suite's options and a test's may both name it", []miniapitest.Option{miniapitest.WithUser("alice", "readers"), miniapitest.WithUser("alice", "readers")}, ""},
		{"webhook", "one of the handlers would never be called", []miniapitest.Option{webhook("/validate"), webhook("/validate")}, "webhook /validate: it has a handler already"},
		{"webhook, below", "the paths differ", []miniapitest.Option{webhook("/"), webhook("/validate"), webhook("/validate/")}, ""},
		{"gate", "there are two values", []miniapitest.Option{gate(true), gate(false)}, "feature gate AllowUnsafeMalformedObjectDeletion is given as true and as false"},
		{"plugin", "there are two values", []miniapitest.Option{miniapitest.WithoutAdmissionPlugins("AlwaysPullImages"), miniapitest.WithAdmissionPlugins("AlwaysPullImages")},
			`admission plugin "AlwaysPullImages" is in both WithAdmissionPlugins and WithoutAdmissionPlugins`},
		{"version", "a version is served or not", []miniapitest.Option{miniapitest.WithAPIs("apps/v1=false"), miniapitest.WithAPIs("apps/v1")},
			`"apps/v1" is given as false and as true`},
		{"legacy", "api/legacy stands for versions that are served", []miniapitest.Option{miniapitest.Legacy(), miniapitest.WithAPIs("api/legacy=false")},
			`"api/legacy" is given as true and as false`},
		{"legacy, twice", "a suite's options and a test's may both have it", []miniapitest.Option{miniapitest.Legacy(), miniapitest.Legacy()}, ""},
		{"audit", "one of the functions would never be called", []miniapitest.Option{audit(), audit()}, "WithAudit is given twice"},
		{"data folder", "one would stay empty", []miniapitest.Option{miniapitest.WithDataDir(folder), miniapitest.WithDataDir(another)},
			fmt.Sprintf("WithDataDir is given as %q and as %q", folder, another)},
		{"data folder, the same", "a suite's options and a test's may both name it", []miniapitest.Option{miniapitest.WithDataDir(folder), miniapitest.WithDataDir(folder)}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), test.options...)
			if err == nil {
				_ = srv.Stop()
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q because %s, got %v", test.want, test.reason, err)
			}
		})
	}
}
