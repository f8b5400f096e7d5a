package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// If several groups have a resource with the same name, clients choose the same group as with kube-apiserver.
func TestAmbiguousResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	define(t, srv, "networkpolicies", "NetworkPolicy", "v1")
	client, err := discovery.NewDiscoveryClientForConfig(srv.Config())
	ok(t, err)
	groups, err := restmapper.GetAPIGroupResources(client)
	ok(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, test := range []struct{ resource, want, reason string }{
		{"deployments", "apps/v1", "the group extensions has deployments only for old clients"},
		{"ingresses", "networking.k8s.io/v1", "the group extensions has ingresses only for old clients"},
		{"events", "/v1", "the core group is before all others"},
		{"horizontalpodautoscalers", "autoscaling/v2", "the preferred version isn't the first one"},
		{"networkpolicies", "networking.k8s.io/v1",
			"custom resources of example.com, before it in the alphabet, don't hide those of Kubernetes"},
	} {
		got, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: test.resource})
		if err != nil || got.Group+"/"+got.Version != test.want {
			t.Errorf("%s are those of %s/%s, %v, want %s: %s", test.resource, got.Group, got.Version, err, test.want, test.reason)
		}
	}
}

// When the server answers a change of a CustomResourceDefinition, discovery already has the change.
func TestChangedDefinitionIsDiscovered(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gears", "Gear", "v1")
	client, err := apiextensions.NewForConfig(srv.Config())
	ok(t, err)
	type definition = apiextensionsv1.CustomResourceDefinition
	for _, test := range []struct {
		name, reason string
		change       func(*definition)
		want         string
	}{
		{"short name", "kubectl finds a resource by the short name",
			func(d *definition) { d.Spec.Names.ShortNames = []string{"gr"} }, "v1: gears [gr] []"},
		{"another short name", "the old short name is free again",
			func(d *definition) { d.Spec.Names.ShortNames = []string{"ge"} }, "v1: gears [ge] []"},
		{"category", "the command kubectl get all uses the category",
			func(d *definition) { d.Spec.Names.Categories = []string{"all"} }, "v1: gears [ge] [all]"},
		{"subresource", "clients look for the subresource in discovery", func(d *definition) {
			d.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
		}, "v1: gears [ge] [all], gears/status [] []"},
		{"new version", "clients prefer the newer version", func(d *definition) {
			v2 := *d.Spec.Versions[0].DeepCopy()
			v2.Name, v2.Storage, v2.Subresources = "v2", false, nil
			d.Spec.Versions = append(d.Spec.Versions, v2)
		}, "v2: gears [ge] [all]; v1: gears [ge] [all], gears/status [] []"},
		{"version no longer served", "clients must not prefer a version that isn't served", func(d *definition) { d.Spec.Versions[1].Served = false },
			"v1: gears [ge] [all], gears/status [] []"},
		{"version served again", "the earlier entry of the version must not be used again", func(d *definition) {
			d.Spec.Versions[1].Served, d.Spec.Names.ShortNames = true, nil
		}, "v2: gears [] [all]; v1: gears [] [all], gears/status [] []"},
		{"version dropped", "the definition no longer has the version", func(d *definition) { d.Spec.Versions = d.Spec.Versions[:1] },
			"v1: gears [] [all], gears/status [] []"},
		{"none served", "the group goes", func(d *definition) { d.Spec.Versions[0].Served = false }, ""},
		{"served again", "the group comes back", func(d *definition) { d.Spec.Versions[0].Served = true },
			"v1: gears [] [all], gears/status [] []"},
	} {
		redefine(t, client, "gears.example.com", test.change)
		if got := discovered(t, srv, "example.com"); got != test.want {
			t.Errorf("%s: got %q, want %q: %s", test.name, got, test.want, test.reason)
		}
	}
}

// A CustomResourceDefinition whose names were refused can get other names. When the server answers that change, it
// serves the resource.
func TestDefinitionWithFreeNames(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gears", "Gear", "v1")
	define(t, srv, "wheels", "Gear", "v1")
	if got, want := discovered(t, srv, "example.com"), "v1: gears [] []"; got != want {
		t.Errorf("two definitions of a kind: got %q, want %q", got, want)
	}
	client, err := apiextensions.NewForConfig(srv.Config())
	ok(t, err)
	redefine(t, client, "wheels.example.com", func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Names.Kind, d.Spec.Names.ListKind, d.Spec.Names.Singular = "Wheel", "WheelList", "wheel"
	})
	if got, want := discovered(t, srv, "example.com"), "v1: gears [] [], wheels [] []"; got != want {
		t.Errorf("of different kinds: got %q, want %q", got, want)
	}
	must(resources(srv, "example.com/v1", "wheels").Create(t.Context(), object("example.com/v1", "Wheel", "w", nil), metav1.CreateOptions{}))(t)

	// Even if one of the definition's names is refused, discovery has other changes of the definition.
	redefine(t, client, "wheels.example.com", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.ShortNames = []string{"gear"} })
	for _, category := range []string{"a", "b", "c", "d"} {
		redefine(t, client, "wheels.example.com", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Categories = []string{category} })
		if got, want := discovered(t, srv, "example.com"), fmt.Sprintf("v1: gears [] [], wheels [] [%s]", category); got != want {
			t.Errorf("in category %s: got %q, want %q", category, got, want)
		}
	}
}

// A CustomResourceDefinition can add a version to a built-in group. As in kube-apiserver, the version is discovered but
// not served. A definition for a built-in version has no effect.
func TestDefinitionInBuiltInGroup(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"networking.k8s.io", "apiextensions.k8s.io"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t)
			before := discovered(t, srv, group)
			definition := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gears."+group, map[string]any{"spec": map[string]any{
				"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "gears", "kind": "Gear"},
			}})
			for _, version := range []string{"v1", "vextra"} {
				versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
				ok(t, unstructured.SetNestedSlice(definition.Object, append(versions, map[string]any{
					"name": version, "served": true, "storage": version == "v1",
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
				}), "spec", "versions"))
			}
			definition.SetAnnotations(map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for a test"})
			definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
			must(definitions.Create(t.Context(), definition, metav1.CreateOptions{}))(t)

			for _, legacy := range []bool{false, true} {
				if groups := must(groupsIn(srv.Config(), legacy))(t); !slices.Contains(groups, group+" vextra v1") {
					t.Errorf("want the version vextra of the group before v1, as in a cluster, got the groups %v", groups)
				}
			}
			if got := apiServices(srv); !slices.Contains(got, "vextra."+group) {
				t.Errorf("the version has no APIService among %v", got)
			}
			if _, err := resources(srv, group+"/vextra", "gears").List(t.Context(), metav1.ListOptions{}); !isUnknownPath(err) {
				t.Errorf("the version of the definition is served, or not, with the error %v", err)
			}

			ok(t, definitions.Delete(t.Context(), definition.GetName(), metav1.DeleteOptions{}))
			// The server removes the resource after the response to the deletion of the definition, so the test waits.
			eventually(t, func(context.Context) error {
				for _, legacy := range []bool{false, true} {
					if groups, err := groupsIn(srv.Config(), legacy); err != nil || slices.Contains(groups, group+" vextra v1") {
						return errors.Join(fmt.Errorf("want no version vextra of the group in discovery, got the groups %v", groups), err)
					}
				}
				return nil
			})
			if got := discovered(t, srv, group); got != before {
				t.Errorf("without the definition, got %q, want %q", got, before)
			}
		})
	}
}

// isUnknownPath reports whether an error is the Status for a path that no group serves.
func isUnknownPath(err error) bool {
	return apierrors.IsNotFound(err) && err.Error() == "the server could not find the requested resource"
}

// A request below a served group, for a version that the group doesn't have, is answered with a Status. Below a group
// that isn't served, the answer is text.
func TestUnknownVersions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	transport, err := rest.TransportFor(srv.Config())
	ok(t, err)
	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource",` +
		`"reason":"NotFound","details":{},"code":404}` + "\n"
	for _, test := range []struct{ path, reason, mediaType, body string }{
		{"/apis/apps/v9", "the group has other versions", "application/json", status},
		{"/apis/apps/v9/", "a slash at the end doesn't matter", "application/json", status},
		{"/apis/apps/v9/namespaces/default/deployments/x/status", "the resource is served in another version", "application/json", status},
		{"/apis/apps/v1beta1/deployments", "the version is served on demand", "application/json", status},
		{"/apis/apiextensions.k8s.io/v9/customresourcedefinitions", "the group of definitions is a group, too",
			"application/json", status},
		{"/apis/apiregistration.k8s.io/v9/apiservices", "the group of APIServices is a group, too", "application/json", status},
		{"/api/v2/namespaces/default/pods", "the core group has other versions", "application/json", status},
		{"/apis/nosuch.example.com/v1", "nothing serves the group", "text/plain; charset=utf-8", "404 page not found\n"},
		{"/apis//v1", "a group has a name", "text/plain; charset=utf-8", "404 page not found\n"},
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			req := must(http.NewRequestWithContext(t.Context(), method, srv.Config().Host+test.path, strings.NewReader("{}")))(t)
			req.Header.Set("Content-Type", "application/json")
			resp := must((&http.Client{Transport: transport}).Do(req))(t)
			body := must(io.ReadAll(resp.Body))(t)
			ok(t, resp.Body.Close())
			if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusNotFound || got != test.mediaType || string(body) != test.body {
				t.Errorf("%s %s (%s): got %d, %s, %q, want 404, %s, %q", method, test.path, test.reason, resp.StatusCode, got, body, test.mediaType, test.body)
			}
		}
	}
}

// redefine changes a CustomResourceDefinition. It retries after a conflict with a controller.
func redefine(t *testing.T, client apiextensions.CustomResourceDefinitionsGetter, name string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	ok(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d, err := client.CustomResourceDefinitions().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(d)
		_, err = client.CustomResourceDefinitions().Update(t.Context(), d, metav1.UpdateOptions{})
		return err
	}))
}

// discovered returns a group in discovery as text. It fails the test if aggregated discovery and the documents of the
// group versions differ.
func discovered(t *testing.T, srv *miniapitest.Server, group string) string {
	t.Helper()
	var forms []string
	for _, legacy := range []bool{false, true} {
		client := must(discovery.NewDiscoveryClientForConfig(srv.Config()))(t)
		client.UseLegacyDiscovery = legacy
		groups, lists, err := client.ServerGroupsAndResources()
		ok(t, err)
		resources := map[string][]string{}
		for _, list := range lists {
			for _, r := range list.APIResources {
				resources[list.GroupVersion] = append(resources[list.GroupVersion], fmt.Sprintf("%s %v %v", r.Name, r.ShortNames, r.Categories))
			}
		}
		var versions []string
		for _, g := range groups {
			for _, v := range g.Versions {
				if g.Name == group {
					slices.Sort(resources[v.GroupVersion])
					versions = append(versions, v.Version+": "+strings.Join(resources[v.GroupVersion], ", "))
				}
			}
		}
		forms = append(forms, strings.Join(versions, "; "))
	}
	if forms[0] != forms[1] {
		t.Errorf("aggregated discovery says %q, the documents say %q", forms[0], forms[1])
	}
	return forms[0]
}
