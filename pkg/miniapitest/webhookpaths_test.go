package miniapitest_test

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// asked makes the server call a webhook by its ClientConfig, and then resets the server.
func asked(t *testing.T, srv *miniapitest.Server, webhook *miniapitest.Webhook) error {
	t.Helper()
	client := srv.Client()
	if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), refusing(webhook.ClientConfig()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, answer := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{})
	if err := srv.Reset(); err != nil {
		t.Fatal(err)
	}
	return answer
}

// A webhook is called by its ClientConfig, with any path.
func TestWebhookPaths(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for path, reason := range map[string]string{
		"/a":      "it is a path",
		"/b/":     "the server leaves out the slash at the end",
		"/c%20d":  "it isn't encoded, but to be",
		"/e f?#ä": "it must be encoded",
	} {
		if err := asked(t, srv, srv.Webhook(path, miniapitest.AdmissionHandler(refuseBad))); !apierrors.IsForbidden(err) {
			t.Errorf("want %s called because %s, got %v", path, reason, err)
		}
	}
}

// A webhook that can't be served is an error at the start, or of its calls.
func TestRefusedWebhooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	handler := miniapitest.AdmissionHandler(allow)
	for _, test := range []struct {
		path    string
		handler http.Handler
		want    string
	}{
		{"", handler, "the path of a webhook must begin with a slash"},
		{"validate", handler, "the path of a webhook must begin with a slash"},
		{"//a", handler, "webhook //a: the server would call /a instead"},
		{"/a//", handler, "webhook /a//: the server would call /a instead"},
		{"/a/../b", handler, "webhook /a/../b: the server would call /b instead"},
		{"/a", nil, "webhook /a: the handler is nil"},
		{"/a", http.HandlerFunc(nil), "webhook /a: the handler is nil"},
		{"/a", (*http.ServeMux)(nil), "webhook /a: the handler is nil"},
	} {
		if err := asked(t, srv, srv.Webhook(test.path, test.handler)); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), test.want) {
			t.Errorf("want calls to fail with %q, got %v", test.want, err)
		}
		other, err := miniapitest.New(t.Context(), miniapitest.WithWebhook(test.path, test.handler))
		if err == nil {
			_ = other.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want no start and %q, got %v", test.want, err)
		}
	}
}
