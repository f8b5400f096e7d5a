package manifests

import (
	"context"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// collector is a transport that adds the warnings of a response to the list that collect put into the context of the
// request.
type collector struct{ http.RoundTripper }

type collectedKey struct{}

// collect returns a context for requests whose warnings are added to the list. The requests must be made one after the
// other.
func collect(ctx context.Context, warnings *[]string) context.Context {
	return context.WithValue(ctx, collectedKey{}, warnings)
}

// warningCode is the HTTP warning code that Kubernetes APIs use.
const warningCode = 299

// RoundTrip implements http.RoundTripper.
func (c collector) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	warnings, collects := r.Context().Value(collectedKey{}).(*[]string)
	if err != nil || !collects {
		return response, err
	}
	headers, _ := utilnet.ParseWarningHeaders(response.Header["Warning"]) // headers that can't be read are no warnings
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

// warn passes the server's warnings to Warn. Warnings about the configuration of a webhook are kept until
// the end: the configuration may name something that is applied later.
func (a *application) warn(object Object, warnings []string) {
	if len(warnings) > 0 && object.GroupVersionKind().Group == admissionregistrationv1.GroupName {
		a.warned = append(a.warned, warned{object, warnings})
		return
	}
	a.Tell(object, warnings)
}

// Tell passes warnings of the server to Warn, if there is one.
func (a Applier) Tell(object Object, warnings []string) {
	if a.Warn == nil {
		return
	}
	for _, text := range warnings {
		a.Warn(object, text)
	}
}

// warnAtEnd repeats the kept objects as a dry run, and passes on the warnings that the server still has. A dry run has
// no effect on webhooks: they aren't called for their own configurations.
func (a *application) warnAtEnd(ctx context.Context) {
	for _, w := range a.warned {
		var now []string
		if err := a.apply(collect(ctx, &now), w.Object, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			now = w.warnings
		}
		a.Tell(w.Object, now)
	}
}
