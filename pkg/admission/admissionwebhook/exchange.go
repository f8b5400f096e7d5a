package admissionwebhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// send sends the review and decodes the response. negotiator returns the decoders of responses of any version.
//
// It calls the client's transport itself, because rest.Request and http.Client take more processor time than the
// transport. They handle errors, redirects, retries and other versions, so they get an outcome that isn't an
// AdmissionReview of the version v1.
func (r *review) send(ctx context.Context, client *rest.RESTClient, negotiator func() runtime.ClientNegotiator) error {
	target, timeout := client.Post().URL(), client.Client.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			timeout = roundUp(left)
		}
	}
	if timeout > 0 {
		// The query parameter timeout tells the webhook how long the server waits.
		target.RawQuery = "timeout=" + timeout.String()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	request.URL, request.Host = target, target.Host
	request.Header = http.Header{"Accept": {runtime.ContentTypeJSON + ", */*"}, "Content-Type": {runtime.ContentTypeJSON}}

	began := time.Now()
	first := &answered{RoundTripper: client.Client.Transport}
	first.roundTrip(request)
	if first.err == nil && first.response.StatusCode == http.StatusOK && first.response.Header["Warning"] == nil && r.decode(first.body) {
		r.received = first.body
		metrics.RequestLatency.Observe(ctx, request.Method, *target, time.Since(began))
		metrics.RequestSize.Observe(ctx, request.Method, target.Host, float64(len(r.body)))
		metrics.ResponseSize.Observe(ctx, request.Method, target.Host, float64(len(r.received)))
		metrics.RequestResult.Increment(ctx, strconv.Itoa(http.StatusOK), request.Method, target.Host)
		return nil
	}

	if first.err != nil {
		ctx = context.WithoutCancel(ctx) // of a context that has ended, rest.Request returns the error in place of first.err
	}
	content := rest.ClientContentConfig{ContentType: runtime.ContentTypeJSON, Negotiator: negotiator()}
	result := rest.NewRequestWithClient(client.Post().URL(), "", content, &http.Client{Transport: first, Timeout: client.Client.Timeout}).
		Verb(request.Method).SetHeader("Content-Type", runtime.ContentTypeJSON).Timeout(timeout).Body(r.body).Do(ctx)
	if r.received, err = result.Raw(); err == nil && r.decode(r.received) {
		return nil
	}
	return result.Into(r.response)
}

// answered is a transport that makes its first round trip before anybody asks for it.
type answered struct {
	http.RoundTripper
	// response and err are the outcome of the first round trip, and body is what could be read of the response.
	response *http.Response
	body     []byte
	err      error
	told     bool
}

// roundTrip makes the first round trip.
func (a *answered) roundTrip(req *http.Request) {
	if a.response, a.err = a.RoundTripper.RoundTrip(req); a.err != nil { //nolint:bodyclose // the next line closes the body of the field
		return
	}
	defer a.response.Body.Close()
	a.body, a.err = io.ReadAll(a.response.Body)
}

// RoundTrip implements http.RoundTripper. It returns the first round trip at its first call, and makes those of redirects
// and retries.
func (a *answered) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.told {
		return a.RoundTripper.RoundTrip(req)
	}
	a.told = true
	if a.response == nil {
		return nil, a.err
	}
	response := *a.response
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(a.body), failing{a.err}))
	return &response, nil
}

// failing is a reader that fails with err, or has reached the end if err is nil.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// newNegotiator returns the decoders that k8s.io/apiserver uses for the responses of webhooks.
func newNegotiator() runtime.ClientNegotiator {
	scheme := runtime.NewScheme()
	utilruntime.Must(admissionv1.AddToScheme(scheme)) // the types are constant, and the tests add them
	utilruntime.Must(admissionv1beta1.AddToScheme(scheme))
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion)
	return runtime.NewClientNegotiator(serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec}), metav1.SchemeGroupVersion)
}

// roundUp rounds up to whole seconds.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
