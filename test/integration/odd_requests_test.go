package integration_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The server answers requests that no good client sends as kube-apiserver does.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client := must(rest.HTTPClientFor(srv.Config()))(t)
	const list, refused = http.StatusOK, http.StatusMethodNotAllowed
	type response struct {
		code    int
		message string // a part of the body
	}
	const deployment = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}`
	for _, test := range []struct {
		name, reason       string
		method, path, body string
		want               response
	}{
		{"groups by POST", "the handler of /apis looks at no method", "POST", "/apis", "", response{list, `"kind":"APIGroupList"`}},
		{"groups by DELETE", "the handler of /apis looks at no method", "DELETE", "/apis", "", response{list, `"kind":"APIGroupList"`}},
		{"a group by PUT", "the handler of most groups looks at no method", "PUT", "/apis/apps", "", response{list, `"kind":"APIGroup"`}},
		{"the group of the aggregation layer", "the group has a route, because no other server adds to it", "PUT", "/apis/apiregistration.k8s.io", "",
			response{refused, "the server does not allow this method on the requested resource"}},
		{"the group of the aggregation layer by GET", "the route is for GET", "GET", "/apis/apiregistration.k8s.io", "",
			response{list, `"kind":"APIGroup"`}},
		{"core versions by PUT", "the path has a route", "PUT", "/api", "", response{refused, "the server does not allow this method"}},
		{"a version by PUT", "the path has a route", "PUT", "/apis/apps/v1", "",
			response{refused, "the server does not allow this method"}},
		{"an object of another kind", "the error has the name of kube-apiserver's internal type", "POST", "/api/v1/namespaces/default/configmaps", deployment,
			response{http.StatusBadRequest, `Deployment in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion`}},
		{"a subresource of another kind", "the internal type is of the kind's group", "PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", deployment,
			response{http.StatusBadRequest, `converting (v1.Deployment) to (autoscaling.Scale): unknown conversion`}},
		{"a document that isn't there", "only documents depend on the header Accept", "GET", "/openapi/v3/nosuch", "",
			response{http.StatusNotFound, ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			req := must(http.NewRequestWithContext(t.Context(), test.method, srv.Config().Host+test.path, strings.NewReader(test.body)))(t)
			req.Header.Set("Content-Type", "application/json")
			resp := must(client.Do(req))(t)
			defer resp.Body.Close()
			body := must(io.ReadAll(resp.Body))(t)
			got := response{resp.StatusCode, ""}
			if strings.Contains(string(body), test.want.message) {
				got.message = test.want.message
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(response{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s%s", test.reason, diff, body)
			}
			if resp.StatusCode == http.StatusNotFound && resp.Header.Get("Vary") != "" {
				t.Errorf("%s: the header Vary is %q", test.reason, resp.Header.Get("Vary"))
			}
		})
	}
}
