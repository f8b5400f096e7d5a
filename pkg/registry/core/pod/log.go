package pod

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericrest "k8s.io/apiserver/pkg/registry/generic/rest"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/core/connect"
)

// logREST serves pods/log. The log comes from the kubelet of the pod's node.
type logREST struct {
	pods       rest.Getter
	kubelets   connect.Kubelets
	unverified http.RoundTripper
}

var (
	_ rest.GetterWithOptions = &logREST{}
	_ rest.StorageMetadata   = &logREST{}
)

func newLog(pods *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	kubelets, err := connect.NewKubelets(deps)
	if err != nil {
		return nil, err
	}
	unverified, err := kubelets.Unverified()
	if err != nil {
		return nil, err
	}
	return &logREST{pods, kubelets, unverified}, nil
}

// New returns a Pod. Discovery shows this kind for pods/log.
func (r *logREST) New() runtime.Object { return &corev1.Pod{} }

// Destroy closes idle connections to kubelets.
func (r *logREST) Destroy() {
	utilnet.CloseIdleConnectionsFor(r.kubelets.Transport)
	utilnet.CloseIdleConnectionsFor(r.unverified)
}

// ProducesMIMETypes returns the media type of a log, which is text.
func (r *logREST) ProducesMIMETypes(string) []string { return []string{"text/plain"} }

// ProducesObject returns the Go type of a log, for the OpenAPI document.
func (r *logREST) ProducesObject(string) any { return "" }

// OverrideMetricsVerb makes metrics count the read of a log as a CONNECT.
func (r *logREST) OverrideMetricsVerb(verb string) string {
	if verb == http.MethodGet {
		return "CONNECT"
	}
	return verb
}

// NewGetOptions returns empty PodLogOptions. They don't contain a part of the URL path.
func (r *logREST) NewGetOptions() (runtime.Object, bool, string) {
	return &corev1.PodLogOptions{}, false, ""
}

// Get returns a stream with the log. A pod without a node has an empty log.
func (r *logREST) Get(ctx context.Context, name string, o runtime.Object) (runtime.Object, error) {
	options, ok := o.(*corev1.PodLogOptions)
	if !ok {
		return nil, fmt.Errorf("invalid options object: %#v", o)
	}
	if errs := validatePodLogOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), name, errs)
	}
	pod, err := connect.GetPod(ctx, r.pods, name)
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, options.Container)
	if err != nil {
		return nil, err
	}
	streamer := &genericrest.LocationStreamer{
		Transport:       r.kubelets.Transport,
		ContentType:     "text/plain",
		Flush:           options.Follow,
		ResponseChecker: genericrest.NewGenericHttpResponseChecker(corev1.Resource("pods/log"), name),
		RedirectChecker: genericrest.PreventRedirects,
	}
	if pod.Spec.NodeName == "" {
		return streamer, nil
	}
	if options.InsecureSkipTLSVerifyBackend {
		streamer.Transport = r.unverified
	}
	path := fmt.Sprintf("/containerLogs/%s/%s/%s", pod.Namespace, pod.Name, container)
	if streamer.Location, err = r.kubelets.Serving(ctx, pod, path, logQuery(options)); err != nil {
		return nil, err
	}
	return streamer, nil
}

// logQuery returns the query parameters of the request to the kubelet. The name of the container is
// in the path instead.
func logQuery(o *corev1.PodLogOptions) url.Values {
	query := url.Values{}
	for name, set := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if set {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		query.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	return query
}

func validatePodLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if n := o.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0"))
	}
	if n := o.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	switch n := o.SinceSeconds; {
	case n != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case n != nil && *n < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *n, "must be greater than 0"))
	}
	// The feature gate for the log of a single stream is off (KEP-3288).
	if o.Stream != nil {
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	}
	return errs
}
