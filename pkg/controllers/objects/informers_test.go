package objects

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// kinds is a fake of discovery. It lists resources by their names.
type kinds struct {
	discovery.ServerResourcesInterface
	names []string
}

func (k *kinds) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: "v1"}
	for _, name := range k.names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: name, Verbs: []string{"list", "watch", "delete"}})
	}
	return []*metav1.APIResourceList{list}, nil
}

// Informers run for the resources that are both served and selected.
func TestUpdate(t *testing.T) {
	t.Parallel()
	runner := work.NewRunner(t.Context())
	t.Cleanup(runner.Close)
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	discovered := &kinds{}
	var selected []string
	informers := &Informers{
		Runner: runner, Client: metadatafake.NewSimpleMetadataClient(scheme), Resources: served.New(discovered, nil),
		Select: func() func(served.Resource) bool {
			return func(r served.Resource) bool { return slices.Contains(selected, r.Resource) }
		},
		handler: Handlers{}, synced: func() {}, running: map[schema.GroupVersionResource]running{},
	}
	for _, step := range []struct {
		name, reason           string
		served, selected, want []string
	}{
		{"both", "both resources are served and selected", []string{"pods", "secrets"}, []string{"pods", "secrets"},
			[]string{"pods", "secrets"}},
		{"not selected", "another source reports the objects of the resource", []string{"pods", "secrets"},
			[]string{"pods"}, []string{"pods"}},
		{"selected again", "the objects of the resource have no other source again", []string{"pods", "secrets"},
			[]string{"pods", "secrets"}, []string{"pods", "secrets"}},
		{"not served", "the resource was removed", []string{"secrets"}, []string{"pods", "secrets"}, []string{"secrets"}},
	} {
		discovered.names, selected = step.served, step.selected
		informers.Resources.Changed()
		if _, err := informers.update(t.Context(), struct{}{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for gvr := range informers.running {
			got = append(got, gvr.Resource)
		}
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: informers of %v, want %v: %s", step.name, got, step.want, step.reason)
		}
	}
}
