package aggregation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/transport"
)

// maxDocumentBytes limits the size of a document that is read from another server.
const maxDocumentBytes = 16 << 20

// checker is the user of this server's requests for the discovery and OpenAPI documents of other servers. The requests
// name the group system:masters, which may read everything.
const checker = "system:kube-aggregator"

// apiPath returns the path of the discovery document of a group version.
func apiPath(gv schema.GroupVersion) string {
	return path.Join(genericapiserver.APIGroupPrefix, gv.Group, gv.Version)
}

// read gets a document of another server by an HTTP request.
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
