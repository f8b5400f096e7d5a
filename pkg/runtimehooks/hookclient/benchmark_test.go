package hookclient_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
)

// BenchmarkCall measures a call of a hook, and the plain HTTPS request in it. The difference is the cost of the
// client and the extension.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b)
	w.extend("a", answering("a", success("", 0)))
	b.Run("hook", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.client.CallExtension(b.Context(), clusterapi.BeforeClusterCreate, cluster, "a.a", request(nil), &clusterapi.BeforeClusterCreateResponse{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	plain := w.serve("plain", http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(rw, `{"status":"Success","retryAfterSeconds":0}`)
	}))
	connection, err := newConnector(b).Connect(plain.Spec.ClientConfig)
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"BeforeClusterCreateRequest","cluster":{"kind":"Cluster","metadata":{"name":"c"}}}`)
	b.Run("https", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := connection.HTTP.Post(connection.URL.String(), "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
	})
}
