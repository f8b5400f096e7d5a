package integration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

const servers = 3

// withGears starts servers with the same definition of gears. A webhook of each server gives new gears a label with the
// number of the server.
func withGears(t *testing.T) (all []*miniapitest.Server) {
	t.Helper()
	for n := range servers {
		srv := miniapitest.Start(t)
		define(t, srv, "gears", "Gear", "v1", "v2")
		install(t, srv, mutating("label.example.com", always(miniapitest.Patched(miniapitest.Add("/metadata/labels", map[string]string{"server": fmt.Sprint(n)}))),
			on("CREATE", "example.com/*", "gears")))
		all = append(all, srv)
	}
	return all
}

func gear(name string) *unstructured.Unstructured { return object("example.com/v1", "Gear", name, nil) }

// If servers of a process have definitions with the same content, they share one handler. The servers' objects,
// webhooks and permissions stay apart.
func TestServersThatShareADefinitionStayApart(t *testing.T) {
	t.Parallel()
	all := withGears(t)
	var writing sync.WaitGroup
	for n, srv := range all {
		for writer := range 4 {
			writing.Go(func() {
				for i := range 5 {
					created, err := resources(srv, "example.com/v1", "gears").Create(t.Context(), gear(fmt.Sprintf("gear-%d-%d", writer, i)), metav1.CreateOptions{})
					if err != nil {
						t.Errorf("server %d: %v", n, err)
					} else if label := created.GetLabels()["server"]; label != fmt.Sprint(n) {
						t.Errorf("server %d: want the label of its own webhook, got that of server %q", n, label)
					}
				}
			})
		}
	}
	writing.Wait()
	for n, srv := range all {
		for _, version := range []string{"example.com/v1", "example.com/v2"} {
			list := must(resources(srv, version, "gears").List(t.Context(), metav1.ListOptions{LabelSelector: fmt.Sprintf("server=%d", n)}))(t)
			if whole := must(resources(srv, version, "gears").List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) != 20 || len(whole.Items) != 20 {
				t.Errorf("server %d: want its own 20 gears and no other in %s, got %d of %d", n, version, len(list.Items), len(whole.Items))
			}
		}
	}

	ok(t, resources(all[0], "example.com/v1", "gears").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	for n, want := range []int{0, 20, 20} {
		if list := must(resources(all[n], "example.com/v1", "gears").List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) != want {
			t.Errorf("server %d, after all gears of server 0 are deleted: want %d gears, got %d", n, want, len(list.Items))
		}
	}

	// An apply that creates an object needs the permission to create, which the handler of the resource checks.
	patch := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Verbs: []string{"get", "patch"}, Resources: []string{"gears"}}
	grant(t, all[0], "eve", patch, rbacRule("example.com", "create", "gears"))
	grant(t, all[1], "eve", patch)
	for n, allowed := range []bool{true, false} {
		asEve := must(dynamic.NewForConfig(all[n].AddUser("eve")))(t).Resource(groupVersionOf("example.com/v1").WithResource("gears")).Namespace(metav1.NamespaceDefault)
		_, err := asEve.Apply(t.Context(), "applied", gear("applied"), metav1.ApplyOptions{FieldManager: "eve"})
		if allowed && err != nil || !allowed && !apierrors.IsForbidden(err) {
			t.Errorf("server %d: want an apply that creates to be allowed: %t, got %v", n, allowed, err)
		}
	}
}

// A change of a definition affects its own server alone, even if other servers share its handler. Watches of the server
// end, and its clients begin new ones.
func TestChangeOfASharedDefinition(t *testing.T) {
	t.Parallel()
	all := withGears(t)
	var watches []watch.Interface
	for _, srv := range all {
		w := must(resources(srv, "example.com/v1", "gears").Watch(t.Context(), metav1.ListOptions{}))(t)
		t.Cleanup(w.Stop)
		watches = append(watches, w)
	}

	definitions := must(apiextensions.NewForConfig(all[0].Config()))(t).CustomResourceDefinitions()
	changed := must(definitions.Get(t.Context(), "gears.example.com", metav1.GetOptions{}))(t)
	for i := range changed.Spec.Versions {
		changed.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["teeth"] = apiextensionsv1.JSONSchemaProps{
			Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("12")},
		}
	}
	must(definitions.Update(t.Context(), changed, metav1.UpdateOptions{}))(t)

	for n, want := range []any{int64(12), nil, nil} {
		created := must(resources(all[n], "example.com/v1", "gears").Create(t.Context(), gear("new"), metav1.CreateOptions{}))(t)
		if got := created.Object["teeth"]; got != want {
			t.Errorf("server %d: the schema of server 0 alone has a default: want %v teeth, got %v", n, want, got)
		}
	}
	closed := func(w watch.Interface) error {
		for {
			select {
			case _, open := <-w.ResultChan():
				if !open {
					return nil
				}
			case <-time.After(time.Minute):
				return fmt.Errorf("the watch doesn't end")
			}
		}
	}
	if err := closed(watches[0]); err != nil {
		t.Errorf("server 0, whose definition has changed: %v", err)
	}
	for n, w := range watches[1:] {
		select {
		case e, open := <-w.ResultChan():
			if !open || e.Type != watch.Added {
				t.Errorf("server %d: want the watch to go on with the new gear, got open %t, %v", n+1, open, e)
			}
		case <-time.After(time.Minute):
			t.Errorf("server %d: the watch gets no event", n+1)
		}
	}
}

// The deletion of a definition deletes the custom resources of its own server alone.
func TestDeletionOfASharedDefinition(t *testing.T) {
	t.Parallel()
	all := withGears(t)
	for _, srv := range all {
		must(resources(srv, "example.com/v1", "gears").Create(t.Context(), gear("g"), metav1.CreateOptions{}))(t)
	}
	definitions := clusterResources(all[0], "apiextensions.k8s.io/v1", "customresourcedefinitions")
	ok(t, definitions.Delete(t.Context(), "gears.example.com", metav1.DeleteOptions{}))
	gone(t, "the definition gears.example.com", func(ctx context.Context) (*unstructured.Unstructured, error) {
		return definitions.Get(ctx, "gears.example.com", metav1.GetOptions{})
	})
	for n, srv := range all[1:] {
		if _, err := resources(srv, "example.com/v2", "gears").Get(t.Context(), "g", metav1.GetOptions{}); err != nil {
			t.Errorf("server %d: want its gear to stay: %v", n+1, err)
		}
	}

	define(t, all[0], "gears", "Gear", "v1", "v2")
	if list := must(resources(all[0], "example.com/v1", "gears").List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) != 0 {
		t.Errorf("want a new definition to begin without gears, got %d", len(list.Items))
	}
	must(resources(all[0], "example.com/v1", "gears").Create(t.Context(), gear("g"), metav1.CreateOptions{}))(t)
}
