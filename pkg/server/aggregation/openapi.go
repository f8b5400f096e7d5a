package aggregation

import (
	"context"
	"encoding/json"
	"net/http"
	"path"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
)

// openAPIName is what /openapi/v3 lists the API as.
func openAPIName(gv schema.GroupVersion) string { return apiPath(gv)[1:] }

// describe makes /openapi/v3 have what the server says of the API. A server need not say anything.
func (r *remoteAPI) describe(ctx context.Context, t http.RoundTripper, host string) {
	document, err := read(ctx, t, urlOf(host, path.Join("/openapi/v3", apiPath(r.gv))))
	if err != nil {
		return
	}
	var spec spec3.OpenAPI
	if err := json.Unmarshal(document, &spec); err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() == nil {
		r.described = true
		r.config.OpenAPI.UpdateGroupVersion(openAPIName(r.gv), &spec)
	}
}

// undescribe takes the API from /openapi/v3 for good.
func (r *remoteAPI) undescribe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.described {
		r.config.OpenAPI.DeleteGroupVersion(openAPIName(r.gv))
	}
}
