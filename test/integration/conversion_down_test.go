package integration_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// converter is a conversion webhook that a test can take down.
type converter struct {
	next  http.Handler
	down  atomic.Bool
	calls atomic.Int64
}

// ServeHTTP implements http.Handler.
func (c *converter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.calls.Add(1)
	if c.down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	c.next.ServeHTTP(w, req)
}

// withConverter starts a server with a widget that is stored in v1. The webhook that converts widgets to v1beta1 is
// down.
func withConverter(t *testing.T, options ...miniapitest.Option) (*miniapitest.Server, *converter) {
	t.Helper()
	srv := miniapitest.Start(t, options...)
	define(t, srv, "widgets", "Widget", "v1", "v1beta1")
	webhook := &converter{next: renaming(map[string]string{"v1": "size", "v1beta1": "length"})}
	convertBy(t, srv, "widgets", webhook)
	must(resources(srv, "example.com/v1", "widgets").Create(t.Context(), object("example.com/v1", "Widget", "w", nil), metav1.CreateOptions{}))(t)
	webhook.down.Store(true)
	return srv, webhook
}

// While the conversion webhook is down, a deletion with ignoreStoreReadErrorWithClusterBreakingPotential takes the object
// for corrupt, as in Kubernetes 1.37, and deletes it. Without the feature gate, the deletion fails. The cases
// conversion.down.* of the conformance suite are about other requests.
func TestConversionDown(t *testing.T) {
	t.Parallel()
	unsafe := metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)}
	t.Run("by default", func(t *testing.T) {
		t.Parallel()
		srv, webhook := withConverter(t)
		widgets := resources(srv, "example.com/v1beta1", "widgets")
		ok(t, widgets.Delete(t.Context(), "w", unsafe))
		webhook.down.Store(false)
		if _, err := widgets.Get(t.Context(), "w", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("want the object deleted, got %v", err)
		}
	})
	t.Run("without the feature gate", func(t *testing.T) {
		t.Parallel()
		srv, webhook := withConverter(t, miniapitest.WithFeatureGates(map[string]bool{"AllowUnsafeMalformedObjectDeletion": false}))
		widgets := resources(srv, "example.com/v1beta1", "widgets")
		err := widgets.Delete(t.Context(), "w", unsafe)
		if err == nil || !strings.HasPrefix(err.Error(), "conversion webhook for example.com/v1, Kind=Widget failed: ") {
			t.Errorf("want the webhook's failure, got %v", err)
		}
		webhook.down.Store(false)
		must(widgets.Get(t.Context(), "w", metav1.GetOptions{}))(t)
	})
}

// With a broken conversion webhook, a watch gets an error. The server repeats the call at intervals, and the watch
// begins when the webhook answers again.
func TestWatchWithConversionDown(t *testing.T) {
	t.Parallel()
	srv, webhook := withConverter(t)
	webhook.calls.Store(0)
	err := srv.Client().Discovery().RESTClient().Get().AbsPath("/apis/example.com/v1beta1/namespaces/default/widgets").
		Param("watch", "true").MaxRetries(0).Do(t.Context()).Error()
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "conversion webhook for example.com/v1, Kind=Widget failed: ") {
		t.Errorf("want the webhook's failure, got %v", err)
	}
	// The request took seconds. If the server didn't wait between its calls of the webhook, it would make some hundred
	// calls in that time.
	if calls := webhook.calls.Load(); calls > 50 {
		t.Errorf("want the webhook to be left alone for a while, got %d calls", calls)
	}
	webhook.down.Store(false)
	events := must(resources(srv, "example.com/v1beta1", "widgets").Watch(t.Context(), metav1.ListOptions{}))(t)
	t.Cleanup(events.Stop)
	if e, open := <-events.ResultChan(); !open || e.Object.(*unstructured.Unstructured).GetName() != "w" {
		t.Errorf("want to be told of the widget, got %v", e)
	}
}
