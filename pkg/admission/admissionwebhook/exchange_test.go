package admissionwebhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// A review is answered, refused, redirected and sent again as by client-go, with the same error.
func TestExchangesAreThoseOfClientGo(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	const allowed = `{"apiVersion": "admission.k8s.io/%s", "kind": "AdmissionReview", "response": {"uid": "1", "allowed": true}}`
	v1, v1beta1 := fmt.Sprintf(allowed, "v1"), fmt.Sprintf(allowed, "v1beta1")
	// handler answers the nth request.
	type handler = func(w http.ResponseWriter, req *http.Request, n int64)
	answer := func(status int, body string, header ...string) handler {
		return func(w http.ResponseWriter, _ *http.Request, _ int64) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, test := range []struct {
		name, reason string
		handle       handler
		calls        int64
	}{
		{"v1", "the usual response", answer(200, v1), 1},
		{"v1beta1", "the decoder converts other versions", answer(200, v1beta1, "Content-Type", "application/json"), 1},
		{"warning", "client-go reads the header Warning", answer(200, v1, "Warning", `299 - "old"`), 1},
		{"another type", "the response has no decoder", answer(200, "", "Content-Type", "text/plain"), 1},
		{"no review", "the error tells what was decoded",
			answer(200, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no"}`), 1},
		{"no JSON", "the error is the decoder's", answer(200, "{"), 1},
		{"empty", "the error tells the length", answer(200, ""), 1},
		{"other success", "client-go accepts the status codes 200 to 206", answer(201, v1), 1},
		{"failure", "the error has the status code", answer(500, "broken"), 1},
		{"status", "a Status is the error",
			answer(403, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "code": 403}`, "Content-Type", "application/json"),
			1},
		{"redirect", "net/http follows redirects", func(w http.ResponseWriter, req *http.Request, n int64) {
			if n == 1 {
				http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
				return
			}
			answer(200, v1)(w, req, n)
		}, 2},
		{"retry", "client-go tries again when the header Retry-After allows", func(w http.ResponseWriter, req *http.Request, n int64) {
			if n == 1 {
				answer(503, "", "Retry-After", "0")(w, req, n)
				return
			}
			answer(200, v1)(w, req, n)
		}, 2},
		{"cut", "the body is shorter than the response says", answer(200, v1, "Content-Length", "1000"), 1},
		{"aborted", "there is no response", func(http.ResponseWriter, *http.Request, int64) { panic(http.ErrAbortHandler) }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				test.handle(w, req, calls.Add(1))
			}))
			t.Cleanup(server.Close)
			base, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			content := rest.ClientContentConfig{ContentType: runtime.ContentTypeJSON, Negotiator: newNegotiator()}
			client, err := rest.NewRESTClient(base, "/review", content, nil, &http.Client{Transport: server.Client().Transport})
			if err != nil {
				t.Fatal(err)
			}
			answered := func(send func(context.Context, *admissionv1.AdmissionReview) error) (admissionv1.AdmissionReview, string, int64) {
				var review admissionv1.AdmissionReview
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				calls.Store(0)
				return review, fmt.Sprint(send(ctx, &review)), calls.Load()
			}
			want, wantErr, _ := answered(func(ctx context.Context, review *admissionv1.AdmissionReview) error {
				return client.Post().Timeout(timeout).Body([]byte("{}")).Do(ctx).Into(review)
			})
			got, gotErr, gotCalls := answered(func(ctx context.Context, response *admissionv1.AdmissionReview) error {
				return (&review{body: []byte("{}"), response: response}).send(ctx, client, newNegotiator)
			})
			if diff := cmp.Diff(want, got); diff != "" || gotErr != wantErr || gotCalls != test.calls {
				t.Errorf("%s: want %d calls and the error %s, got %d calls and the error %s; response (-want +got):\n%s", test.reason, test.calls, wantErr, gotCalls, gotErr, diff)
			}
		})
	}
}
