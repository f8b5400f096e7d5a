package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/discovery"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// discoverable is an API server that answers /apis in the form of aggregated discovery, and records the requests for
// /apis. The documents of its group versions are empty.
type discoverable struct {
	aggregated.ResourceManager
	// answers is called before a response to /apis. If it returns false, the server doesn't respond.
	answers func(context.Context) bool
	// broken makes the server respond with an empty list.
	broken atomic.Bool

	mu    sync.Mutex
	asked []string
}

// tools returns a discoverable server with versions of tools.example.com.
func tools(versions ...string) *discoverable {
	d := &discoverable{ResourceManager: aggregated.NewResourceManager("apis"), answers: func(context.Context) bool { return true }}
	for _, version := range versions {
		d.AddGroupVersion("tools.example.com", hammersIn(version))
	}
	return d
}

// hammersIn returns the resource hammers, with details that the document of a group version lacks: a singular name, and
// a subresource of another kind.
func hammersIn(version string) apidiscoveryv2.APIVersionDiscovery {
	kind := func(kind string) *metav1.GroupVersionKind {
		return &metav1.GroupVersionKind{Group: "tools.example.com", Version: version, Kind: kind}
	}
	return apidiscoveryv2.APIVersionDiscovery{
		Version: version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		Resources: []apidiscoveryv2.APIResourceDiscovery{{
			Resource: "hammers", SingularResource: "hammer", ResponseKind: kind("Hammer"), Scope: apidiscoveryv2.ScopeNamespace,
			Verbs: []string{"get", "list"}, ShortNames: []string{"ham"}, Categories: []string{"all"},
			Subresources: []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "blow", ResponseKind: kind("Blow"), Verbs: []string{"create"}}},
		}},
	}
}

func (d *discoverable) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case d.broken.Load():
		http.Error(w, "not here", http.StatusNotFound)
	case req.URL.Path == "/apis":
		d.mu.Lock()
		d.asked = append(d.asked, fmt.Sprintf("%s of %s: %s", req.Header.Get("X-Remote-User"), req.Header.Get("X-Remote-Group"), req.Header.Get("If-None-Match")))
		d.mu.Unlock()
		if d.answers(req.Context()) {
			d.ResourceManager.ServeHTTP(w, req)
		}
	case strings.HasPrefix(req.URL.Path, "/apis/tools.example.com/"):
		w.WriteHeader(http.StatusOK)
	default:
		http.Error(w, "not here", http.StatusNotFound)
	}
}

// aggregatedVersions returns the versions of a group in the server's aggregated discovery.
func aggregatedVersions(ctx context.Context, srv *miniapitest.Server, group string) ([]apidiscoveryv2.APIVersionDiscovery, error) {
	document, err := srv.Client().Discovery().RESTClient().Get().AbsPath("/apis").SetHeader("Accept", discovery.AcceptV2).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return nil, err
	}
	for _, g := range list.Items {
		if g.Name == group {
			return g.Versions, nil
		}
	}
	return nil, nil
}

// expectVersions waits until aggregated discovery has the wanted versions of tools.example.com.
func expectVersions(t *testing.T, srv *miniapitest.Server, reason string, want ...apidiscoveryv2.APIVersionDiscovery) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		got, err := aggregatedVersions(ctx, srv, "tools.example.com")
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			err = fmt.Errorf("%s: -want +got\n%s", reason, diff)
		}
		return err
	})
}

// stale returns the entry of a version in discovery, before the version's server has answered.
func stale(version string) apidiscoveryv2.APIVersionDiscovery {
	return apidiscoveryv2.APIVersionDiscovery{Version: version, Freshness: apidiscoveryv2.DiscoveryFreshnessStale}
}

// register creates APIServices for versions of tools.example.com. The APIServices name a service.
func register(t *testing.T, srv *miniapitest.Server, service string, versions ...string) {
	t.Helper()
	for i, version := range versions {
		s := toolsService(service)
		s.SetName(version + ".tools.example.com")
		spec := s.Object["spec"].(map[string]any)
		spec["version"], spec["versionPriority"] = version, int64(100-i)
		must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), s, metav1.CreateOptions{}))(t)
	}
}

// The server requests the discovery of another server with the permissions of an administrator, and serves every detail
// of the response.
func TestAggregatedDiscoveryOfAnotherServer(t *testing.T) {
	t.Parallel()
	server := tools("v2", "v1", "v1beta1")
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, server, "tools.default.svc")))
	register(t, srv, "tools", "v2", "v1")
	expectVersions(t, srv, "v1beta1 has no APIService", hammersIn("v2"), hammersIn("v1"))
	server.mu.Lock()
	defer server.mu.Unlock()
	for _, asked := range server.asked {
		if want := "system:kube-aggregator of system:masters: "; !strings.HasPrefix(asked, want) {
			t.Errorf("/apis was asked for by %q, want %q", asked, want)
		}
	}
}

// The server's request for another server's discovery has the ETag of the last response, so that an unchanged response
// isn't sent again.
func TestUnchangedDiscoveryOfAnotherServer(t *testing.T) {
	t.Parallel()
	server := tools("v1")
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, server, "tools.default.svc")))
	register(t, srv, "tools", "v1")
	expectVersions(t, srv, "the server has answered", hammersIn("v1"))
	patch := []byte(`{"spec": {"versionPriority": 7}}`)
	must(clusterResources(srv, apiRegistration, "apiservices").Patch(t.Context(), "v1.tools.example.com", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	expectVersions(t, srv, "the other server has answered that its discovery hasn't changed", hammersIn("v1"))
	server.mu.Lock()
	defer server.mu.Unlock()
	if !slices.ContainsFunc(server.asked, func(asked string) bool { return strings.HasSuffix(asked, `"`) }) {
		t.Errorf("no request has named the answer that is known: %q", server.asked)
	}
}

// A group version whose server hasn't answered yet is listed as stale, in discovery of every form.
func TestDiscoveryOfSilentServer(t *testing.T) {
	t.Parallel()
	server, answer := tools("v1"), make(chan struct{})
	server.answers = func(ctx context.Context) bool {
		select {
		case <-answer:
			return true
		case <-ctx.Done():
			return false
		}
	}
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, server, "tools.default.svc")))
	register(t, srv, "tools", "v1")
	becomes(t, srv, "Available True")
	expectVersions(t, srv, "the server is silent", stale("v1"))
	for path, want := range map[string]string{
		"/":                       `"/apis/tools.example.com/v1"`,
		"/apis":                   `"groupVersion":"tools.example.com/v1"`,
		"/apis/tools.example.com": `"preferredVersion":{"groupVersion":"tools.example.com/v1"`,
	} {
		document := must(srv.Client().Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context()))(t)
		if !strings.Contains(strings.Join(strings.Fields(string(document)), ""), want) {
			t.Errorf("%s doesn't have %s: %s", path, want, document)
		}
	}
	close(answer)
	expectVersions(t, srv, "the server answers", hammersIn("v1"))
	ok(t, clusterResources(srv, apiRegistration, "apiservices").Delete(t.Context(), "v1.tools.example.com", metav1.DeleteOptions{}))
	if got := must(aggregatedVersions(t.Context(), srv, "tools.example.com"))(t); len(got) > 0 {
		t.Errorf("after the deletion of its APIService, the group has %v", got)
	}
}

// If a server becomes unavailable, its group versions are listed as stale until it is available again.
func TestDiscoveryOfServerThatFails(t *testing.T) {
	t.Parallel()
	server := tools("v1")
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, server, "tools.default.svc")))
	register(t, srv, "tools", "v1")
	expectVersions(t, srv, "the server has answered", hammersIn("v1"))
	server.broken.Store(true)
	// If the APIService has no condition Available, this server checks the other server at once.
	forgotten := []byte(`{"status": {"conditions": null}}`)
	must(clusterResources(srv, apiRegistration, "apiservices").Patch(t.Context(), "v1.tools.example.com", types.MergePatchType, forgotten, metav1.PatchOptions{}, "status"))(t)
	becomes(t, srv, "Available False FailedDiscoveryCheck")
	expectVersions(t, srv, "the server has failed", stale("v1"))
	server.broken.Store(false)
	becomes(t, srv, "Available True")
	expectVersions(t, srv, "the server is back", hammersIn("v1"))
}

// If an APIService names a version that its server doesn't have any more, the version is listed without resources.
func TestDiscoveryOfMissingVersion(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, tools("v2"), "tools.default.svc")))
	register(t, srv, "tools", "v1")
	expectVersions(t, srv, "the other server has only v2", apidiscoveryv2.APIVersionDiscovery{Version: "v1", Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent})
}
