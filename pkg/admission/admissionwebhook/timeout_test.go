package admissionwebhook

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	webhooktesting "k8s.io/apiserver/pkg/admission/plugin/webhook/testing"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// silence is a transport to webhooks that never answer. A call ends when its context ends.
type silence struct {
	mu sync.Mutex
	// waits are the durations of the calls. announced are the timeouts that the requests named.
	waits     []time.Duration
	announced []string
}

// RoundTrip implements http.RoundTripper.
func (s *silence) RoundTrip(r *http.Request) (*http.Response, error) {
	began := time.Now()
	<-r.Context().Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, time.Since(began))
	s.announced = append(s.announced, r.URL.Query().Get("timeout"))
	return nil, r.Context().Err()
}

// ClientConfigFor implements webhookutil.AuthenticationInfoResolver.
func (s *silence) ClientConfigFor(string) (*rest.Config, error) {
	return &rest.Config{Transport: s}, nil
}

// ClientConfigForService implements webhookutil.AuthenticationInfoResolver.
func (s *silence) ClientConfigForService(string, string, int) (*rest.Config, error) {
	return s.ClientConfigFor("")
}

var _ webhookutil.AuthenticationInfoResolver = &silence{}

// A call lasts for timeoutSeconds at most, and no longer than the request. The call names its timeout in the URL.
// The test runs in a synctest bubble, so no real time passes.
func TestWaits(t *testing.T) {
	t.Parallel()
	fail, ignore := admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	for _, test := range []struct {
		name, reason string
		seconds      []*int32 // timeoutSeconds of each webhook
		policy       admissionregistrationv1.FailurePolicyType
		request      time.Duration
		// mutating and validating are the durations of the calls. Mutating webhooks are called one after the other,
		// validating ones in parallel.
		mutating, validating []time.Duration
		// mutated and validated are the durations of the request.
		mutated, validated time.Duration
	}{
		{"shortest", "the smallest timeout is a second", seconds(1), fail, time.Minute, waits(1), waits(1), time.Second, time.Second},
		{"default of v1", "the API stores the default of 10 s", seconds(10), fail, time.Minute, waits(10), waits(10),
			10 * time.Second, 10 * time.Second},
		{"default of v1beta1", "the API stores the default of 30 s", seconds(30), fail, time.Minute, waits(30),
			waits(30), 30 * time.Second, 30 * time.Second},
		{"no timeout", "the request's own time is left", []*int32{nil}, fail, 34 * time.Second, waits(34), waits(34),
			34 * time.Second, 34 * time.Second},
		{"short request", "no webhook has more time than the request", seconds(30), fail, 3 * time.Second, waits(3),
			waits(3), 3 * time.Second, 3 * time.Second},
		{"several that fail", "the first failure ends the mutating phase, and the validating phase waits for all webhooks", seconds(2, 5), fail, time.Minute,
			waits(2), waits(2, 5), 2 * time.Second, 5 * time.Second},
		{"several that are ignored", "each call has its own timeout", seconds(2, 5), ignore, time.Minute, waits(2, 5),
			waits(2, 5), 7 * time.Second, 5 * time.Second},
		{"several and a short request", "the second call has the rest of the request's time", seconds(2, 5), ignore, 5500 * time.Millisecond,
			waits(2, 3.5), waits(2, 5), 5500 * time.Millisecond, 5 * time.Second},
	} {
		var hooks []admissionregistrationv1.MutatingWebhook
		for i, s := range test.seconds {
			hooks = append(hooks, admissionregistrationv1.MutatingWebhook{
				Name:         string(rune('a'+i)) + ".example.com",
				ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://webhook.example.com/")},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
					Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"},
						Resources: []string{"*/*"}},
				}},
				NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
				FailurePolicy: &test.policy, TimeoutSeconds: s, AdmissionReviewVersions: []string{"v1"},
			})
		}
		check := func(t *testing.T, silent *silence, err error, took, wantTook time.Duration, want []time.Duration) {
			t.Helper()
			slices.Sort(silent.waits)
			if diff := cmp.Diff(want, silent.waits); diff != "" || took != wantTook {
				t.Errorf("%s: the request took %s, want %s; waits (-want +got):\n%s", test.reason, took, wantTook, diff)
			}
			var told []string
			for _, wait := range want {
				told = append(told, fmt.Sprintf("%.0fs", math.Ceil(wait.Seconds()))) // the URL has whole seconds
			}
			slices.Sort(told)
			slices.Sort(silent.announced)
			if diff := cmp.Diff(told, silent.announced); diff != "" {
				t.Errorf("%s: what the webhooks were told (-want +got):\n%s", test.reason, diff)
			}
			switch over := wantTook == test.request; {
			case test.policy == fail && (!apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `": context deadline exceeded`)):
				t.Errorf("%s: want the failure of a call, got %v", test.reason, err)
			case test.policy == ignore && over && !apierrors.IsTimeout(err):
				t.Errorf("%s: want the request to have timed out, got %v", test.reason, err)
			case test.policy == ignore && !over && err != nil:
				t.Errorf("%s: want the failures ignored, got %v", test.reason, err)
			}
		}
		t.Run(test.name+", mutating", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plugin, err := NewMutating(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				silent := &silence{}
				client, factory := webhooktesting.NewFakeMutatingDataSource(namespace, hooks, t.Context().Done())
				start(t, plugin, &url.URL{}, silent, client, factory)
				synctest.Wait() // until the informers' handlers have run
				ctx, cancel := context.WithTimeout(t.Context(), test.request)
				defer cancel()
				began := time.Now()
				err = plugin.Admit(ctx, testAttributes(false, nil, false), webhooktesting.NewObjectInterfacesForTest())
				check(t, silent, err, time.Since(began), test.mutated, test.mutating)
			})
		})
		t.Run(test.name+", validating", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plugin, err := NewValidating(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				silent := &silence{}
				var validatingHooks []admissionregistrationv1.ValidatingWebhook
				for _, h := range hooks {
					validatingHooks = append(validatingHooks, admissionregistrationv1.ValidatingWebhook{
						Name: h.Name, ClientConfig: h.ClientConfig, Rules: h.Rules,
						NamespaceSelector: h.NamespaceSelector, ObjectSelector: h.ObjectSelector,
						FailurePolicy: h.FailurePolicy, TimeoutSeconds: h.TimeoutSeconds,
						AdmissionReviewVersions: h.AdmissionReviewVersions,
					})
				}
				client, factory := webhooktesting.NewFakeValidatingDataSource(namespace, validatingHooks, t.Context().Done())
				start(t, plugin, &url.URL{}, silent, client, factory)
				synctest.Wait() // until the informers' handlers have run
				ctx, cancel := context.WithTimeout(t.Context(), test.request)
				defer cancel()
				began := time.Now()
				err = plugin.Validate(ctx, testAttributes(false, nil, false), webhooktesting.NewObjectInterfacesForTest())
				check(t, silent, err, time.Since(began), test.validated, test.validating)
			})
		})
	}
}

func seconds(list ...int32) []*int32 {
	var pointers []*int32
	for _, s := range list {
		pointers = append(pointers, &s)
	}
	return pointers
}

func waits(list ...float64) []time.Duration {
	var durations []time.Duration
	for _, s := range list {
		durations = append(durations, time.Duration(s*float64(time.Second)))
	}
	return durations
}
