package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/kwok/kustomize/crd"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

var (
	stageObjects   = schema.GroupVersionResource{Group: "kwok.x-k8s.io", Version: "v1alpha1", Resource: "stages"}
	widgetObjects  = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	crdDefinitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// widgetDefinition defines Widgets, whose status has a phase.
const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// widgetReady is the spec of a stage that makes a Widget ready.
const widgetReady = `
resourceRef: {apiGroup: example.com/v1, kind: Widget}
selector:
  matchExpressions:
  - jq: {key: .status.phase, operator: NotIn, values: [%[1]s]}
  - cel: {expression: "self.spec.size > 0"}
steps:
- event: {type: Normal, reason: Staged, message: the widget is %[1]s}
- patch: {subresource: status, root: status, template: 'phase: %[1]s'}
`

// fromYAML returns the object of a document.
func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	ok(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

// stageOf returns a Stage object with a spec in YAML.
func stageOf(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": map[string]any{"name": name}, "spec": fromYAML(t, spec).Object,
	}}
}

// defineBy creates a definition of custom resources.
func defineBy(t *testing.T, client dynamic.Interface, text string) {
	t.Helper()
	must(client.Resource(crdDefinitions).Create(t.Context(), fromYAML(t, text), metav1.CreateOptions{}))(t)
}

// eventOf waits for an Event with a reason about an object, and returns its message.
func eventOf(t *testing.T, srv *miniapitest.Server, name, reason string) (message string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		events, err := srv.Client().CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + reason})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("want an event %s about %s", reason, name)
		}
		if err == nil {
			message = events.Items[0].Message
		}
		return err
	})
	return message
}

// Stage objects take effect when they are created, changed and deleted. The default stages have the other pods.
func TestStageObjects(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	pods := srv.Client().CoreV1().Pods("default")
	defineBy(t, srv.DynamicClient(), string(crd.Stage))
	stages := srv.DynamicClient().Resource(stageObjects)
	create := func(app string) {
		t.Helper()
		pod := podOn(app, "")
		pod.Labels, pod.Spec.RestartPolicy = map[string]string{"app": app}, corev1.RestartPolicyNever
		must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	}
	const waits = `
resourceRef: {apiGroup: v1, kind: Pod}
selector:
  matchLabels: {app: late}
  matchExpressions:
  - jq: {key: .metadata.deletionTimestamp, operator: DoesNotExist}
delay: {durationMilliseconds: 3600000}
`
	const ends = `
resourceRef: {apiGroup: v1, kind: Pod}
selector:
  matchLabels: {app: %s}
  matchExpressions:
  - jq: {key: .status.phase, operator: In, values: [Running]}
steps:
- patch: {subresource: status, root: status, template: '{{ PodStatus . "Succeeded" }}'}
`
	create("batch")
	create("other")
	eventuallyInState(t, pods, "batch", "Running running/0 ready")
	must(stages.Create(t.Context(), stageOf(t, "late-waits", waits), metav1.CreateOptions{}))(t)
	stage := must(stages.Create(t.Context(), stageOf(t, "batch-ends", fmt.Sprintf(ends, "batch")), metav1.CreateOptions{}))(t)
	eventuallyInState(t, pods, "batch", "Succeeded exit 0/0")

	create("late")
	stage.Object["spec"] = fromYAML(t, fmt.Sprintf(ends, "other")).Object
	must(stages.Update(t.Context(), stage, metav1.UpdateOptions{}))(t)
	eventuallyInState(t, pods, "other", "Succeeded exit 0/0")
	eventuallyInState(t, pods, "late", "Pending")
	ok(t, srv.DynamicClient().Resource(crdDefinitions).Delete(t.Context(), "stages.kwok.x-k8s.io", metav1.DeleteOptions{}))
	eventuallyInState(t, pods, "late", "Running running/0 ready")
}

// An invalid Stage object has no effect, and an Event names the field and the value.
func TestInvalidStageObject(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithWorkloads())
	defineBy(t, srv.DynamicClient(), string(crd.Stage))
	must(srv.DynamicClient().Resource(stageObjects).Create(t.Context(),
		stageOf(t, "broken", `{resourceRef: {kind: Pod}, selector: {matchExpressions: [{jq: {key: ".status.phase[", operator: Exists}}]}}`), metav1.CreateOptions{}))(t)
	want := `the stage has no effect: spec.selector.matchExpressions[0].jq: Invalid value: ".status.phase[": `
	if got := eventOf(t, srv, "broken", "InvalidStage"); !strings.HasPrefix(got, want) {
		t.Errorf("want an event with %q, got %q", want, got)
	}
}

// Stages concern custom resources, also such that are defined later.
func TestStagesOfCustomResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithStages("testdata/widget_stages.yaml"))
	client := srv.DynamicClient()
	defineBy(t, client, string(crd.Stage))
	stages, widgets := client.Resource(stageObjects), client.Resource(widgetObjects).Namespace("default")
	must(stages.Create(t.Context(), stageOf(t, "widget-live", fmt.Sprintf(widgetReady, "Live")), metav1.CreateOptions{}))(t)
	if got, want := eventOf(t, srv, "widget-live", "UnservedKind"), "the stage has no effect until example.com/v1 Widget is served"; got != want {
		t.Errorf("want the event %q, got %q", want, got)
	}
	defineBy(t, client, widgetDefinition)
	for _, text := range []string{
		`{apiVersion: example.com/v1, kind: Widget, metadata: {name: sized}, spec: {size: 1}}`,
		`{apiVersion: example.com/v1, kind: Widget, metadata: {name: empty}, spec: {size: 0}}`,
		`{apiVersion: example.com/v1, kind: Widget, metadata: {name: unsized}}`,
	} {
		must(widgets.Create(t.Context(), fromYAML(t, text), metav1.CreateOptions{}))(t)
	}
	phase := func(name, want string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			widget, err := widgets.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(widget.Object, "status", "phase"); got != want {
				err = fmt.Errorf("widget %s: want the phase %q, got %q", name, want, got)
			}
			return err
		})
	}
	phase("sized", "Live")
	phase("empty", "Empty") // by the file
	if got, want := eventOf(t, srv, "sized", "Staged"), "the widget is Live"; got != want {
		t.Errorf("want the event %q, got %q", want, got)
	}
	if widget := must(widgets.Get(t.Context(), "unsized", metav1.GetOptions{}))(t); widget.Object["status"] != nil {
		t.Errorf("want no stage of a widget that lacks the field of the expressions, got %v", widget.Object["status"])
	}
	ok(t, widgets.Delete(t.Context(), "empty", metav1.DeleteOptions{}))
	must(widgets.Patch(t.Context(), "sized", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"end":"yes"}}}`), metav1.PatchOptions{}))(t)
	gone(t, "widget sized", func(ctx context.Context) (*unstructured.Unstructured, error) {
		return widgets.Get(ctx, "sized", metav1.GetOptions{})
	})
}
