package hookclient_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// selective registers an extension that is called only for objects in namespaces with the label env: test. The handler
// of DiscoverVariables answers "none". The other handlers answer with a part of the request.
func (w *world) selective() {
	w.t.Helper()
	w.labels["default"], w.labels["other"] = map[string]string{"env": "test"}, map[string]string{}
	e, err := extension.New(
		extension.Options{Catalog: w.catalog},
		beforeCreate("create", func(_ context.Context, request *clusterapi.BeforeClusterCreateRequest, r *clusterapi.BeforeClusterCreateResponse) {
			r.Status, r.Message = hooksv1.ResponseStatusSuccess, string(request.Cluster.Raw)+request.Settings["region"]
		}),
		extension.Of(clusterapi.GeneratePatches, "patch", func(_ context.Context, request *clusterapi.GeneratePatchesRequest, r *clusterapi.GeneratePatchesResponse) {
			r.Status, r.Message = hooksv1.ResponseStatusSuccess, string(request.Items[0].UID)
		}),
		extension.Of(clusterapi.CanUpdateMachine, "update", func(_ context.Context, request *clusterapi.CanUpdateMachineRequest, r *clusterapi.CanUpdateMachineResponse) {
			r.Status, r.Message = hooksv1.ResponseStatusSuccess, string(request.Desired.Machine.Raw)
		}),
		extension.Of(clusterapi.DiscoverVariables, "variables", func(_ context.Context, _ *clusterapi.DiscoverVariablesRequest, r *clusterapi.DiscoverVariablesResponse) {
			r.Status, r.Message = hooksv1.ResponseStatusSuccess, "none"
		}))
	if err != nil {
		w.t.Fatal(err)
	}
	config := w.serve("a", e)
	config.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "test"}}
	w.register(config)
}

// TestDo checks that Do finds the object for which the hook is called, at any place in the request. The object's
// namespace decides which extensions are called, unless the call names a namespace.
func TestDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.selective()
	const inDefault, inOther = `{"kind":"Thing","metadata":{"namespace":"default","name":"c"}}`, `{"kind":"Thing","metadata":{"namespace":"other","name":"c"}}`
	object := func(text string, arguments ...string) json.RawMessage {
		return json.RawMessage(strings.NewReplacer(append(arguments, "DEFAULT", inDefault, "OTHER", inOther)...).Replace(text))
	}
	for _, test := range []struct {
		name, reason string
		call         hookclient.Call
		want         string // part of the answer; "" if no handler is called
		err          string // part of the error of an invalid call
	}{
		{"object", "the object becomes the field of the request that is named after its kind",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(inDefault, "Thing", "Cluster"), Settings: map[string]string{"region": "eu"}},
			strings.Replace(inDefault, "Thing", "Cluster", 1) + "eu", ""},
		{"object of another namespace", "the selector doesn't match",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(inOther, "Thing", "Cluster")}, "", ""},
		{"given namespace", "the given namespace takes precedence over the namespace of the object",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(inDefault, "Thing", "Cluster"), Namespace: "other"},
			"", ""},
		{"request", "a field of the request has the object for which the hook is called",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(`{"kind":"BeforeClusterCreateRequest","cluster":DEFAULT}`)},
			inDefault, ""},
		{"request with items", "the objects of a topology are in a list",
			hookclient.Call{Hook: "GeneratePatches", Object: object(`{"kind":"GeneratePatchesRequest","items":[{"uid":"1","object":DEFAULT}]}`)},
			"1", ""},
		{"request with items of another namespace", "the selector doesn't match",
			hookclient.Call{Hook: "GeneratePatches", Object: object(`{"kind":"GeneratePatchesRequest","items":[{"uid":"1","object":OTHER}]}`)},
			"", ""},
		{"request with two levels", "the objects are two levels below the request",
			hookclient.Call{Hook: "CanUpdateMachine", Object: object(`{"kind":"CanUpdateMachineRequest","current":{"machine":DEFAULT},"desired":{"machine":DEFAULT}}`)},
			inDefault, ""},
		{"request without objects", "a request without objects has no namespace, so the call must name a namespace",
			hookclient.Call{Hook: "DiscoverVariables", Object: object(`{"kind":"DiscoverVariablesRequest"}`), Namespace: "default"},
			"none", ""},
		{"newest version", "a hook may be named with its version",
			hookclient.Call{Hook: "hooks.runtime.cluster.x-k8s.io/v1alpha1/DiscoverVariables", Namespace: "default"},
			"none", ""},
		{"unknown hook", "the name is wrong", hookclient.Call{Hook: "BeforeLunch"}, "", `no hook "BeforeLunch"`},
		{"discovery", "Discovery isn't called for an object", hookclient.Call{Hook: "Discovery"}, "", "can't be called for an object"},
		{"no kind", "the kind determines the field of the request",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(`{}`)}, "", "must have a kind"},
		{"no object", "text isn't an object", hookclient.Call{Hook: "BeforeClusterCreate", Object: object(`"x"`)}, "",
			"must be a JSON object"},
		{"other kind", "the request has no such field",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(inDefault)}, "",
			"with values of their types: json: unknown field \"thing\""},
		{"wrong request", "the fields have types",
			hookclient.Call{Hook: "BeforeClusterCreate", Object: object(`{"kind":"BeforeClusterCreateRequest","settings":1}`)},
			"", "must be a request of the kind BeforeClusterCreateRequest"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result, err := w.client.Do(t.Context(), test.call)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v lacks %q (%s)", err, test.err, test.reason)
				}
				return
			}
			if err != nil || result.Error != "" {
				t.Fatalf("%v: %+v (%s)", err, result, test.reason)
			}
			var response hooksv1.CommonResponse
			if err := json.Unmarshal(result.Response, &response); err != nil {
				t.Fatal(err)
			}
			if called := len(result.Answers) > 0; called != (test.want != "") || response.Message != test.want {
				t.Errorf("%d answers, message %q, not %q (%s)", len(result.Answers), response.Message, test.want, test.reason)
			}
		})
	}
	result, err := w.client.Do(t.Context(), hookclient.Call{Hook: "DiscoverVariables"})
	if err != nil || !strings.Contains(result.Error, "has no namespace") {
		t.Errorf("a call without a namespace, for an extension that selects some: %+v, %v", result, err)
	}
}
