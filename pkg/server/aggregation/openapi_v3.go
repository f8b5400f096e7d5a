package aggregation

import (
	"context"
	"encoding/json"
	"net/http"
	"path"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
)

// openAPIName returns the API's name in /openapi/v3.
func openAPIName(gv schema.GroupVersion) string { return apiPath(gv)[1:] }

// describe adds the other server's OpenAPI document of the API to /openapi/v3. If the other server doesn't return a
// valid document, /openapi/v3 stays as it is.
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

// undescribe removes the document of the API from /openapi/v3.
func (r *remoteAPI) undescribe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.described {
		r.config.OpenAPI.DeleteGroupVersion(openAPIName(r.gv))
	}
}
