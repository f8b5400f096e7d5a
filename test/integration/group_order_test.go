package integration_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// groupsIn returns the groups of a client's discovery, each with its versions.
func groupsIn(config *rest.Config, legacy bool) ([]string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	client.UseLegacyDiscovery = legacy
	list, err := client.ServerGroups()
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, g := range list.Groups {
		if g.Name == "" { // the core group, which the client adds
			continue
		}
		described := g.Name
		for _, v := range g.Versions {
			described += " " + v.Version
		}
		groups = append(groups, described)
	}
	return groups, nil
}

// Groups and their versions are listed by priority, in every form of discovery. The server that has a group, and the
// time when it was added, don't matter.
func TestGroupsAreInOrder(t *testing.T) {
	t.Parallel()
	tools := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": %q, "resources": []}`, strings.TrimPrefix(req.URL.Path, "/apis/"))
	})
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, tools, "tools.default.svc")))
	builtIn := must(groupsIn(srv.Config(), true))(t)
	for _, group := range []string{"zebras.example.com", "ants.example.com"} {
		defineIn(t, srv, group, "legs", "Leg", "v1", "v2beta1")
	}
	for _, remote := range []struct {
		name, group, version           string
		groupPriority, versionPriority int64
	}{
		{"v1.tools.example.com", "tools.example.com", "v1", 17720, 10},
		{"v9.batch", "batch", "v9", 17400, 20},
	} {
		service := toolsService("tools")
		service.SetName(remote.name)
		spec := service.Object["spec"].(map[string]any)
		spec["group"], spec["version"] = remote.group, remote.version
		spec["groupPriorityMinimum"], spec["versionPriority"] = remote.groupPriority, remote.versionPriority
		must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), service, metav1.CreateOptions{}))(t)
	}

	want := slices.Clone(builtIn)
	want[slices.Index(want, "batch v1")] = "batch v9 v1"
	want = slices.Insert(want, slices.Index(want, "events.k8s.io v1")+1, "tools.example.com v1")
	want = append(want, "ants.example.com v1 v2beta1", "zebras.example.com v1 v2beta1")
	for _, discovered := range []struct {
		name, reason string
		legacy       bool
	}{
		{"aggregated", "clients since 1.27 request aggregated discovery", false},
		{"each group for itself", "older clients request the documents of single groups", true},
	} {
		t.Run(discovered.name, func(t *testing.T) {
			// The server reads the discovery of another server some time after it has answered the creation of the
			// APIService.
			eventually(t, func(context.Context) error {
				got, err := groupsIn(srv.Config(), discovered.legacy)
				if diff := cmp.Diff(want, got); err == nil && diff != "" {
					err = fmt.Errorf("%s: -want +got\n%s", discovered.reason, diff)
				}
				return err
			})
		})
	}
	batch := must(srv.Client().Discovery().RESTClient().Get().AbsPath("/apis/batch").DoRaw(t.Context()))(t)
	if !strings.Contains(string(batch), `"preferredVersion":{"groupVersion":"batch/v9"`) {
		t.Errorf("a version of another server in a group of this one's isn't in the group's document: %s", batch)
	}
}
