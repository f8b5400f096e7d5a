package integration_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// A trace names the fields that a webhook sets and that the server doesn't store, because the kind lacks them. A trace
// of a custom resource has the stored object.
func TestTraceOfFieldsThatAreNotStored(t *testing.T) {
	t.Parallel()
	gadget := func(version string) *unstructured.Unstructured {
		return object("example.com/"+version, "Gadget", "thing", map[string]any{"spec": map[string]any{"color": "red"}})
	}
	tests := []struct {
		name, reason string
		object       *unstructured.Unstructured
		resource     string
		path         string
		value        any
		// lost is the field that the webhook sets and that the server doesn't store, according to the trace. because is
		// the reason in the trace. stored is true if the trace has the stored object.
		lost, because string
		stored        bool
	}{
		{name: "a field of a custom resource", reason: "the storage removes the field", object: gadget("v1"),
			resource: "gadgets", path: "/spec/flavour", value: "sweet", lost: "spec.flavour",
			because: "Gadget in v1 has no such field", stored: true},
		{name: "a part of a new field", reason: "the trace names the part alone that the schema lacks",
			object: gadget("v1"), resource: "gadgets", path: "/spec/box",
			value: map[string]any{"size": "1", "flavour": "sweet"}, lost: "spec.box.flavour",
			because: "Gadget in v1 has no such field", stored: true},
		{name: "another version than the stored one", reason: "the stored version decides", object: gadget("v1beta1"),
			resource: "gadgets", path: "/spec/flavour", value: "sweet", lost: "spec.flavour",
			because: "Gadget is stored in v1, and that version or the conversion to it has no such field",
			stored:  true},
		{name: "a field that the schema has", reason: "nothing is lost", object: gadget("v1"), resource: "gadgets",
			path: "/spec/box", value: map[string]any{"size": "1"}, stored: true},
		{name: "a field of a built-in kind", reason: "the Go type of the kind lacks the field",
			object: object("v1", "ConfigMap", "thing", nil), resource: "configmaps", path: "/flavour", value: "sweet",
			lost: "flavour", because: "ConfigMap in v1 has no such field"},
		{name: "a zero value of a built-in kind", reason: "the Go type leaves out an empty map, which isn't lost",
			object: object("v1", "ConfigMap", "thing", nil), resource: "configmaps", path: "/data",
			value: map[string]any{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithCRDs("testdata/gadgets.yaml"), miniapitest.WithFlags(recording))
			install(t, srv, mutating("a", patch(miniapitest.Add(test.path, test.value)), on("CREATE", "*/*", test.resource)))
			resource := test.object.GroupVersionKind().GroupVersion().WithResource(test.resource)
			created := must(must(dynamic.NewForConfig(srv.Config()))(t).Resource(resource).Namespace("default").Create(t.Context(), test.object, metav1.CreateOptions{}))(t)

			request := recorded(t, srv, test.resource)[0]
			pass := request.Admissions[0]
			var call *trace.Call
			for _, step := range pass.Steps {
				for _, webhook := range step.Webhooks {
					if webhook.Call != nil {
						call = webhook.Call
					}
				}
			}
			if (len(pass.Stored) > 0) != test.stored || strings.Contains(string(pass.Stored), "flavour") {
				t.Errorf("%s: want stored=%v without the lost field, got %s", test.reason, test.stored, pass.Stored)
			}
			if test.stored && pass.StoredVersion != "v1" {
				t.Errorf("want the stored version v1, got %q", pass.StoredVersion)
			}
			if changes := trace.Diff(pass.Stored, must(created.MarshalJSON())(t)); test.stored && len(changes) > 0 {
				t.Errorf("the stored object differs from the response: %v", changes)
			}
			answer := why(t, srv, "MutatingWebhookConfiguration/a", test.resource, "default", "thing").Sentence
			var timeline strings.Builder
			ok(t, trace.WriteTimeline(&timeline, request, trace.Brief))
			if test.lost == "" {
				if call.Lost != nil || strings.Contains(answer+timeline.String(), "stored") {
					t.Errorf("%s: got %v, %s, %s", test.reason, call.Lost, answer, &timeline)
				}
				return
			}
			if call.Lost == nil || strings.Join(call.Lost.Fields, " ") != test.lost || call.Lost.Because != test.because {
				t.Errorf("%s: want %s, because %s, got %v", test.reason, test.lost, test.because, call.Lost)
			}
			if want := "but the server didn't store " + test.lost + ", because " + test.because + "."; !strings.Contains(answer, want) {
				t.Errorf("%s: want the answer to end with %q, got %s", test.reason, want, answer)
			}
			if want := "not stored, because " + test.because + ": " + test.lost; !strings.Contains(timeline.String(), want) {
				t.Errorf("%s: want %q in the timeline, got\n%s", test.reason, want, &timeline)
			}
		})
	}
}

// The trace of a dry run has no stored object. The trace of a write of a subresource has none either if the object of
// the subresource is of another kind, such as Scale.
func TestTraceWithoutStoredObject(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithCRDs("testdata/gadgets.yaml"), miniapitest.WithFlags(recording))
	gadgets := must(dynamic.NewForConfig(srv.Config()))(t).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}).Namespace("default")
	thing := object("example.com/v1", "Gadget", "thing", map[string]any{"spec": map[string]any{"replicas": int64(1)}})
	must(gadgets.Create(t.Context(), thing, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))(t)
	must(gadgets.Create(t.Context(), thing, metav1.CreateOptions{}))(t)
	scale := must(gadgets.Get(t.Context(), "thing", metav1.GetOptions{}, "scale"))(t)
	must(gadgets.Update(t.Context(), scale, metav1.UpdateOptions{}, "scale"))(t)
	ok(t, gadgets.Delete(t.Context(), "thing", metav1.DeleteOptions{}))
	var stored []bool
	for _, request := range recorded(t, srv, "gadgets") {
		stored = append(stored, len(request.Admissions[0].Stored) > 0)
	}
	if len(stored) != 4 || stored[0] || !stored[1] || stored[2] || stored[3] {
		t.Errorf("want a stored object for the second request alone, got %v", stored)
	}
}
