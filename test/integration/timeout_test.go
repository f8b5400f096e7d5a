package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// The server waits for a webhook's answer for the time timeoutSeconds: by default 10 s, and 30 s in v1beta1. It never
// waits longer than the remaining time of the request itself. The URL of the call has the time as a parameter.
func TestTimeoutIsSent(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	create := func(t *testing.T, requestTimeout time.Duration) {
		t.Helper()
		prepare(t, srv.Client(), false)
		ok(t, srv.Client().CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").
			Timeout(requestTimeout).Body(thing()).Do(t.Context()).Error())
	}
	for _, tc := range []struct {
		name, reason string
		change       change
		request      time.Duration
		want         string // the parameter, as a regular expression
	}{
		{"default", "the default of v1 is 10 s", func(*hook) {}, 0, "10s"},
		{"short", "each webhook has its own timeout", timeoutSeconds(5), 0, "5s"},
		{"longest", "each webhook has its own timeout", timeoutSeconds(30), 0, "30s"},
		{"short request", "the webhook has at most the remaining time of the request", timeoutSeconds(30), 9 * time.Second, "[1-9]s"},
		{"long request", "the request has more time than the webhook", timeoutSeconds(5), 20 * time.Second, "5s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onCreate := on("CREATE", "v1", "configmaps")
			recorder := install(t, srv, mutating("mutate", allow(), onCreate, tc.change), validating("validate", allow(), onCreate, tc.change))
			create(t, tc.request)
			var got []string
			for _, review := range recorder.Reviews() {
				got = append(got, review.Query.Get("timeout"))
			}
			if want := fmt.Sprintf(`^\[%s %[1]s\]$`, tc.want); !regexp.MustCompile(want).MatchString(fmt.Sprint(got)) {
				t.Errorf("%s: want %s, got %v", tc.reason, want, got)
			}
		})
	}
	for _, kind := range configurationKinds {
		t.Run("default of v1beta1 "+kind, func(t *testing.T) {
			recorder := installV1beta1(t, srv, kind, allow(), fields{"rules": ruleWith(fields{"resources": []any{"configmaps"}})})
			create(t, 0)
			if reviews := recorder.Reviews(); len(reviews) != 1 || reviews[0].Query.Get("timeout") != "30s" {
				t.Errorf("want one review, with 30s, got %v", reviews)
			}
		})
	}
}

// After its timeout, a call has failed: the server closes the connection, and the failure policy decides. Each webhook
// has its own timeout. TestWaits in pkg/admission/webhook measures times.
func TestTimeoutExpires(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, kind := range []func(string, http.Handler, ...change) hook{mutating, validating} {
		silent := silent()
		h := kind("silent", silent, timeoutSeconds(1))
		t.Run(fmt.Sprintf("Fail, validates: %t", h.validates), func(t *testing.T) {
			prepare(t, srv.Client(), false)
			install(t, srv, h)
			_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
			const prefix, suffix = `Internal error occurred: failed calling webhook "silent.example.com": failed to call webhook: Post "https://127.0.0.1:`, `/silent?timeout=1s": context deadline exceeded`
			if !apierrors.IsInternalError(err) || !strings.HasPrefix(err.Error(), prefix) || !strings.HasSuffix(err.Error(), suffix) {
				t.Errorf("want %s…%s\ngot %v", prefix, suffix, err)
			}
			silent.givenUp(t)
			if found := stored(t, srv.Client()); found != nil {
				t.Errorf("stored: %v", found)
			}
		})
		t.Run(fmt.Sprintf("Ignore, validates: %t", h.validates), func(t *testing.T) {
			prepare(t, srv.Client(), false)
			ignored := []change{timeoutSeconds(1), failurePolicy(admissionregistrationv1.Ignore)}
			recorder := install(t, srv, kind("a", silent, ignored...), kind("b", silent, ignored...), kind("c", allow()))
			must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
			silent.givenUp(t)
			if diff := cmp.Diff([]string{"a", "b", "c"}, calledSorted(recorder)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
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
			// If the server has begun the response, it can only break it off at the timeout.
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
