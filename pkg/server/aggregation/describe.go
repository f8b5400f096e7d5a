package aggregation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/spec3"
)

// maxDocumentBytes bounds what is read of a server's description of itself.
const maxDocumentBytes = 16 << 20

// checker is who other servers see asking for what they serve, who may ask for everything.
const checker = "system:kube-aggregator"

// described is what discovery says of the server's API.
type described struct {
	version *apidiscoveryv2.APIVersionDiscovery // nil if nothing is said
	ended   bool
}

// apiPath is the path of the API's discovery document.
func (r *remoteAPI) apiPath() string {
	return path.Join(genericapiserver.APIGroupPrefix, r.gv.Group, r.gv.Version)
}

// describe asks the server what it serves, and makes it known.
func (r *remoteAPI) describe(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	t, err := r.renewedTransport(ctx)
	if err != nil {
		return err
	}
	document, err := read(ctx, t, r.url(host, r.apiPath()))
	if err != nil {
		return err
	}
	var resources metav1.APIResourceList
	err = json.Unmarshal(document, &resources)
	discovered, invalid := genericapi.ConvertGroupVersionIntoToDiscovery(resources.APIResources)
	if err := errors.Join(err, invalid); err != nil {
		klog.FromContext(ctx).Error(err, "what an aggregated API has isn't known", "APIService", r.service.Name)
		r.undescribe() // which doesn't make it unavailable: it has answered
		return nil
	}
	r.list(apidiscoveryv2.APIVersionDiscovery{
		Version: r.gv.Version, Resources: discovered, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
	})
	// A server need not have this one.
	if document, err = read(ctx, t, r.url(host, path.Join("/openapi/v3", r.apiPath()))); err == nil {
		var spec spec3.OpenAPI
		if err := json.Unmarshal(document, &spec); err == nil {
			r.publish(&spec)
		}
	}
	return nil
}

// openAPIName is what /openapi/v3 lists the API as.
func (r *remoteAPI) openAPIName() string { return r.apiPath()[1:] }

// read reads a document of the server.
func read(ctx context.Context, t http.RoundTripper, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	transport.SetAuthProxyHeaders(req, checker, "", []string{user.SystemPrivilegedGroup}, nil)
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: %w", url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("failing or missing response from %s: bad status from %s: %d", url, url, resp.StatusCode)
	}
	document, err := io.ReadAll(io.LimitReader(resp.Body, maxDocumentBytes))
	if err != nil {
		return nil, fmt.Errorf("failing or missing response from %s: %w", url, err)
	}
	return document, nil
}

// list makes discovery say what the server has.
func (r *remoteAPI) list(version apidiscoveryv2.APIVersionDiscovery) {
	if r.listed(version) {
		r.config.Changed()
	}
}

// listed says whether that is news.
func (r *remoteAPI) listed(version apidiscoveryv2.APIVersionDiscovery) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.described.ended || r.described.version != nil && apiequality.Semantic.DeepEqual(*r.described.version, version) {
		return false
	}
	r.described.version = &version
	r.config.Discovery.AddGroupVersion(r.gv.Group, version)
	r.config.Discovery.SetGroupVersionPriority(metav1.GroupVersion(r.gv), int(r.service.Spec.GroupPriorityMinimum), int(r.service.Spec.VersionPriority))
	return true
}

// publish makes /openapi/v3 have a document of the API.
func (r *remoteAPI) publish(spec *spec3.OpenAPI) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.described.ended {
		r.config.OpenAPI.UpdateGroupVersion(r.openAPIName(), spec)
	}
}

// undescribe makes discovery say that what the server has isn't known at the moment.
func (r *remoteAPI) undescribe() {
	stale := apidiscoveryv2.APIVersionDiscovery{}
	r.mu.Lock()
	if r.described.version != nil {
		stale = *r.described.version
	}
	r.mu.Unlock()
	stale.Version, stale.Freshness = r.gv.Version, apidiscoveryv2.DiscoveryFreshnessStale
	r.list(stale)
}

// remove takes the API from discovery for good.
func (r *remoteAPI) remove() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.described.ended = true
	if r.described.version != nil {
		r.config.Discovery.RemoveGroupVersion(metav1.GroupVersion(r.gv))
		r.config.OpenAPI.DeleteGroupVersion(r.openAPIName())
	}
}
