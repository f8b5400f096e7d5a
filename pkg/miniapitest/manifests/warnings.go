package manifests

import (
	"context"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// collector is a transport. It adds the warnings of a response to the list in the request's context (see collect).
type collector struct{ http.RoundTripper }

type collectedKey struct{}

// collect returns a context. The warnings of requests with this context are added to the list. The requests must not
// run at the same time.
func collect(ctx context.Context, warnings *[]string) context.Context {
	return context.WithValue(ctx, collectedKey{}, warnings)
}

// warningCode is the code of Kubernetes' Warning headers.
const warningCode = 299

// RoundTrip implements http.RoundTripper.
func (c collector) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	warnings, collects := r.Context().Value(collectedKey{}).(*[]string)
	if err != nil || !collects {
		return response, err
	}
	// If the headers can't be parsed, there are no warnings.
	headers, _ := utilnet.ParseWarningHeaders(response.Header["Warning"])
	for _, header := range headers {
		if header.Code == warningCode && header.Text != "" {
			*warnings = append(*warnings, header.Text)
		}
	}
	return response, nil
}

// WrappedRoundTripper implements net.RoundTripperWrapper.
func (c collector) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// warned is an applied object with the server's warnings.
type warned struct {
	Object
	warnings []string
}

// warn passes warnings about an object to Warn. Warnings about a webhook configuration or a policy are kept for
// warnAtEnd, because the configuration or the policy may name an object that is applied later.
func (a *application) warn(object Object, warnings []string) {
	if len(warnings) > 0 && object.GroupVersionKind().Group == admissionregistrationv1.GroupName {
		a.warned = append(a.warned, warned{object, warnings})
		return
	}
	a.Tell(object, warnings)
}

// Tell calls Warn with each warning, if Warn is set.
func (a Applier) Tell(object Object, warnings []string) {
	if a.Warn == nil {
		return
	}
	for _, text := range warnings {
		a.Warn(object, text)
	}
}

// warnAtEnd applies webhook configurations and policies with warnings again, as a dry run, and reports the warnings of
// the dry run. If the dry run fails, warnAtEnd reports the earlier warnings. An API server calls no webhooks for these
// objects, so the dry run calls none.
func (a *application) warnAtEnd(ctx context.Context) {
	for _, w := range a.warned {
		var now []string
		if err := a.apply(collect(ctx, &now), w.Object, metav1.DryRunAll); err != nil {
			now = w.warnings
		}
		a.Tell(w.Object, now)
	}
}
