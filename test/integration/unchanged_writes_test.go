package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A request that doesn't change the object writes nothing: the resource version and the managed fields with their
// times stay the same. So a controller that applies the same object again and again makes no writes. The test makes
// each request twice for every resource of discovery, in every version. The second request is in a later second,
// because times in managed fields are in seconds. The cases write.unchanged.* and apply.unchanged of the conformance
// suite test only ConfigMaps.
func TestUnchangedWrites(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithAPIs("api/all", "api/legacy"), miniapitest.WithFeatureGates(workloads), miniapitest.WithCRDs("testdata/gadgets.yaml"),
		// The plugin would add finalizers to objects, and no controller would remove them.
		miniapitest.WithoutAdmissionPlugins("StorageObjectInUseProtection"))
	define(t, srv, "widgets", "Widget", "v1", "v1beta1")
	w := rewriting{unreviewed(t, srv), srv.Client().CoreV1().RESTClient()}
	rounds := w.rounds(t)
	for _, tc := range []struct {
		name, reason string
		write        func(*testing.T, endpoint) (version string, err error)
	}{
		{"update in JSON", "the object is written as it is read", w.update(runtime.ContentTypeJSON)},
		{"update in protobuf", "the object is written as it is read", w.update(runtime.ContentTypeProtobuf)},
		{"update in YAML", "an update needn't have the server's own metadata", w.updateOfLess},
		{
			"merge patch", "the patch sets a value to itself, and null for a field that doesn't exist",
			w.patch(types.MergePatchType,
				`{"metadata":{"creationTimestamp":null,"annotations":{"patched":"yes"},"labels":{"none":null}}}`),
		},
		{
			"strategic merge patch", "the patch sets a value to itself, and null for a field that doesn't exist",
			w.patch(types.StrategicMergePatchType,
				`{"metadata":{"creationTimestamp":null,"annotations":{"patched":"yes"},"labels":{"none":null}}}`),
		},
		{"JSON patch", "a value is replaced by itself",
			w.patch(types.JSONPatchType, `[{"op":"copy","from":"/metadata/name","path":"/metadata/name"}]`)},
		{"apply", "a manager applies the values that it has applied", w.apply(func(map[string]any) {})},
		{
			"apply with null", "typed Go clients before 0.34 send a creation time of null",
			w.apply(func(metadata map[string]any) { metadata["creationTimestamp"] = nil }),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, round := range rounds {
				for _, e := range round {
					for range e.settles() {
						if _, err := tc.write(t, e); err != nil {
							t.Errorf("%s: %v", e, err)
						}
					}
				}
				nextSecond(t)
				for _, e := range round {
					was := w.read(t, e)
					if version, err := tc.write(t, e); err != nil {
						t.Errorf("%s, again: %v", e, err)
					} else if version != was.GetResourceVersion() {
						t.Errorf("%s, again: the object was written (-was +is):\n%s%s", e, cmp.Diff(was, w.read(t, e)), tc.reason)
					}
				}
			}
		})
	}
}

// nextSecond returns at the beginning of the next second.
func nextSecond(t *testing.T) {
	t.Helper()
	now := time.Now().Unix()
	eventually(t, func(context.Context) error {
		if time.Now().Unix() == now {
			return errors.New("the clock's second hasn't changed")
		}
		return nil
	})
}

// endpoint is a resource or subresource by which the test writes an object, in the version of the object or in another
// version.
type endpoint struct {
	through schema.GroupVersionResource
	object  *unstructured.Unstructured
}

func (e endpoint) String() string {
	return e.object.GetAPIVersion() + " " + e.object.GetKind() + " through " + e.through.GroupVersion().String() + " " + e.through.Resource
}

// custom tells whether the resource is a custom resource. Custom resources have neither protobuf nor strategic merge
// patches.
func (e endpoint) custom() bool { return e.through.Group == "example.com" }

func (e endpoint) scale() bool { return strings.HasSuffix(e.through.Resource, "/scale") }

// settles returns the number of writes that still change the object. It is two for a scale: the first write removes the
// time from the managed fields of spec.replicas, and the second write removes these managed fields.
func (e endpoint) settles() int {
	if e.scale() {
		return 2
	}
	return 1
}

// rewriting writes the objects of a walk (all resources of a server) a second time.
type rewriting struct {
	*walk
	client rest.Interface
}

// rounds returns groups of endpoints that write different objects. If two endpoints must write the same object, because
// its name is fixed, they are in different groups. In one group, their field managers would write by turns. That would
// change the order of managed fields, which are sorted by time.
func (w rewriting) rounds(t *testing.T) [][]endpoint {
	t.Helper()
	var rounds [][]endpoint
	taken := map[schema.GroupVersionResource]int{}
	add := func(through, resource schema.GroupVersionResource) {
		resource.Resource, _, _ = strings.Cut(resource.Resource, "/")
		o, round := w.object(t, resource), taken[resource]
		taken[resource]++
		if _, named, _ := unstructured.NestedString(w.objects[resource.Resource], "metadata", "name"); !named {
			o.SetName(fmt.Sprintf("%s-%d", o.GetName(), round))
			round = 0
		}
		if round == 0 {
			must(w.resource(resource).Create(t.Context(), o, metav1.CreateOptions{}))(t)
			w.settle(t, resource, o.GetName())
		}
		if round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], endpoint{through, o})
	}
	for _, gvr := range w.order {
		verbs := w.served[gvr].Verbs
		if !slices.Contains(verbs, "get") || !slices.Contains(verbs, "update") || strings.HasSuffix(gvr.Resource, "/proxy") {
			continue
		}
		add(gvr, gvr)
		if i := slices.IndexFunc(w.order, func(other schema.GroupVersionResource) bool {
			return other.Group == gvr.Group && other.Resource == gvr.Resource && other.Version != gvr.Version
		}); i >= 0 {
			add(w.order[i], gvr)
		}
	}
	return rounds
}

func (w rewriting) update(contentType string) func(*testing.T, endpoint) (string, error) {
	return func(t *testing.T, e endpoint) (string, error) {
		t.Helper()
		if contentType == runtime.ContentTypeProtobuf && e.custom() {
			contentType = runtime.ContentTypeJSON
		}
		return w.send(t, "PUT", e, contentType, w.get(t, e, contentType))
	}
}

func (w rewriting) updateOfLess(t *testing.T, e endpoint) (string, error) {
	t.Helper()
	o := w.without(t, e, "managedFields", "generation", "uid", "creationTimestamp")
	return w.send(t, "PUT", e, runtime.ContentTypeYAML, must(yaml.Marshal(o))(t))
}

func (w rewriting) patch(patchType types.PatchType, patch string) func(*testing.T, endpoint) (string, error) {
	return func(t *testing.T, e endpoint) (string, error) {
		t.Helper()
		if patchType == types.StrategicMergePatchType && e.custom() {
			return w.send(t, "PATCH", e, string(types.MergePatchType), []byte(patch))
		}
		return w.send(t, "PATCH", e, string(patchType), []byte(patch))
	}
}

// apply returns a function that applies the whole object with changed metadata, except for the fields that clients
// don't apply.
func (w rewriting) apply(change func(metadata map[string]any)) func(*testing.T, endpoint) (string, error) {
	return func(t *testing.T, e endpoint) (string, error) {
		t.Helper()
		o := w.without(t, e, "managedFields", "generation", "uid", "creationTimestamp", "resourceVersion")
		change(o["metadata"].(map[string]any))
		patchType := types.ApplyPatchType
		switch {
		case !strings.Contains(e.through.Resource, "/"):
			delete(o, "status")
		case e.custom() && e.scale():
			patchType = types.MergePatchType // the library can't apply a Scale to a custom resource
		}
		return w.send(t, "PATCH", e, string(patchType), must(json.Marshal(o))(t))
	}
}

// without returns the stored object without some fields of its metadata.
func (w rewriting) without(t *testing.T, e endpoint, metadata ...string) map[string]any {
	t.Helper()
	o := w.read(t, e)
	for _, field := range metadata {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o.Object
}

func (w rewriting) read(t *testing.T, e endpoint) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	ok(t, o.UnmarshalJSON(w.get(t, e, runtime.ContentTypeJSON)))
	return o
}

func (w rewriting) get(t *testing.T, e endpoint, contentType string) []byte {
	t.Helper()
	return must(w.client.Get().AbsPath(w.path(e)...).SetHeader("Accept", contentType).DoRaw(t.Context()))(t)
}

// send makes a request, and returns the resource version in the response.
func (w rewriting) send(t *testing.T, verb string, e endpoint, contentType string, body []byte) (string, error) {
	t.Helper()
	request := w.client.Verb(verb).AbsPath(w.path(e)...).Param("fieldManager", "rewriting").
		SetHeader("Content-Type", contentType).SetHeader("Accept", runtime.ContentTypeJSON).Body(body)
	if contentType == string(types.ApplyPatchType) {
		request.Param("force", "true")
	}
	answer, err := request.DoRaw(t.Context())
	if err != nil {
		return "", err
	}
	o := metav1.PartialObjectMetadata{}
	err = json.Unmarshal(answer, &o)
	return o.ResourceVersion, err
}

func (w rewriting) path(e endpoint) []string {
	path := []string{"/apis", e.through.Group, e.through.Version}
	if e.through.Group == "" {
		path = []string{"/api", e.through.Version}
	}
	if w.served[e.through].Namespaced {
		path = append(path, "namespaces", metav1.NamespaceDefault)
	}
	resource, subresource, _ := strings.Cut(e.through.Resource, "/")
	return append(path, resource, e.object.GetName(), subresource)
}
