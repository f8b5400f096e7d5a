package mutations_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If the server can't call the suite's webhooks, only the first case waits for a call. The results of later cases with
// a webhook have the cause, and the error of the method Unreached names the flag that helps. Cases without a webhook
// run as usual.
func TestUnreached(t *testing.T) {
	t.Parallel()
	target := trial.Options{
		Config: miniapitest.Start(t).Config(),
		WrapWebhooks: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		},
	}
	server, cases, err := apiserver.Start(t.Context(), target, conformance.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	results, err := conformance.Run(t.Context(), cases, conformance.Options{Parallel: 1, Selection: conformance.Selection{Only: []string{"matrix.review.create", "matrix.review.update", "write.create"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Unreached(); err == nil || !strings.Contains(err.Error(), "--webhook-address must be an address") || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("want an error with the flag and the server's answer, got %v", err)
	}
	for i, r := range results {
		switch {
		case r.ID == "write.create":
			if r.Status != conformance.Passed {
				t.Errorf("the case needs no webhook: want it to pass, got %+v", r)
			}
		case r.Status != conformance.Failed:
			t.Errorf("%s: want it to fail, got %+v", r.ID, r)
		case i > 0 && !strings.Contains(r.Findings[0].Seen, "no call of a webhook arrives"):
			t.Errorf("%s: want the cause, got %+v", r.ID, r.Findings)
		}
	}
}
