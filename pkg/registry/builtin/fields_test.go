package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

func TestFieldLabels(t *testing.T) {
	t.Parallel()
	gvk := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	for _, test := range []struct {
		name, reason string
		gvk          schema.GroupVersionKind
		label        string
		want, err    string
	}{
		{
			name: "own field", reason: "pods are watched by their node",
			gvk: gvk("", "v1", "Pod"), label: "spec.nodeName", want: "spec.nodeName",
		},
		{
			name: "alias", reason: "clients from before v1 call it so",
			gvk: gvk("", "v1", "Pod"), label: "spec.host", want: "spec.nodeName",
		},
		{
			name: "namespace", reason: "metadata is selectable wherever there is some",
			gvk: gvk("", "v1", "Pod"), label: "metadata.namespace", want: "metadata.namespace",
		},
		{
			name: "namespace of a node", reason: "it has none",
			gvk: gvk("", "v1", "Node"), label: "metadata.namespace", err: "field label not supported: metadata.namespace",
		},
		{
			name: "event as core v1", reason: "it is stored under these names",
			gvk: gvk("", "v1", "Event"), label: "involvedObject.name", want: "involvedObject.name",
		},
		{
			name: "event as events.k8s.io", reason: "the group has names of its own",
			gvk: gvk("events.k8s.io", "v1", "Event"), label: "regarding.name", want: "involvedObject.name",
		},
		{
			name: "event as events.k8s.io, core's name", reason: "and no others",
			gvk: gvk("events.k8s.io", "v1", "Event"), label: "involvedObject.name", err: "field label not supported: involvedObject.name",
		},
		{
			name: "job", reason: "jobs have their own words for what they don't have",
			gvk: gvk("batch", "v1", "Job"), label: "a", err: `field label "a" not supported for batchv1.Job`,
		},
		{
			name: "kind without fields", reason: "the library's words",
			gvk: gvk("", "v1", "ConfigMap"), label: "data",
			err: `"data" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, value, err := builtin.Table().Scheme().ConvertFieldLabel(test.gvk, test.label, "v")
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error %v, want %s (%s)", err, test.err, test.reason)
				}
				return
			}
			if err != nil || got != test.want || value != "v" {
				t.Errorf("%s=%s, %v; want %s=v (%s)", got, value, err, test.want, test.reason)
			}
		})
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{NodeName: "n", HostNetwork: true},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.1.1.1"}, {IP: "fd00::1"}}},
	}
	labels, set, err := row(t, "", "pods").Attributes(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, map[string]string(labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	want := fields.Set{
		"metadata.name": "p", "metadata.namespace": "ns",
		"spec.nodeName": "n", "spec.restartPolicy": "", "spec.schedulerName": "", "spec.serviceAccountName": "", "spec.hostNetwork": "true",
		"status.phase": "Running", "status.podIP": "10.1.1.1", "status.nominatedNodeName": "",
	}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// row is a row of the table.
func row(t *testing.T, group, resource string) *registry.Kind {
	t.Helper()
	if k := builtin.Table().Row(schema.GroupResource{Group: group, Resource: resource}); k != nil {
		return k
	}
	t.Fatalf("there is no row for %s.%s", resource, group)
	return nil
}
