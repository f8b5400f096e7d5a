package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

func timeoutSeconds(seconds int32) change {
	return func(h *hook) { h.TimeoutSeconds = &seconds }
}

// silence is a webhook's handler that never answers.
type silence struct{ waiting atomic.Int32 }

func silent() *silence { return &silence{} }

// ServeHTTP implements http.Handler.
func (s *silence) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	<-r.Context().Done()
}

// givenUp waits until the server has ended all calls of the handler.
func (s *silence) givenUp(t testing.TB) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if calls := s.waiting.Load(); calls > 0 {
			return fmt.Errorf("the server still waits for the answers to %d calls", calls)
		}
		return nil
	})
}

// After the timeout of the request itself, the request fails, whatever the failure policy is.
func TestTimeoutOfTheRequest(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, kind := range []func(string, http.Handler, ...change) hook{mutating, validating} {
		silent := silent()
		h := kind("silent", silent, timeoutSeconds(30), failurePolicy(admissionregistrationv1.Ignore))
		t.Run(fmt.Sprintf("validates: %t", h.validates), func(t *testing.T) {
			install(t, srv, h)
			err := srv.Client().CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").
				Param("timeout", "1s").Body(thing()).Do(t.Context()).Error()
			// If the server has begun the response before the timeout, it breaks the response off, and the
			// client gets a stream error.
			if !apierrors.IsTimeout(err) && (err == nil || !strings.Contains(err.Error(), "stream error")) {
				t.Errorf("want the request to have timed out, got %v", err)
			}
			silent.givenUp(t)
			if found := stored(t, srv.Client()); found != nil {
				t.Errorf("stored: %v", found)
			}
		})
	}
}
