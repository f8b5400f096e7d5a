package podtopologylabels

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	const zone, region = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{zone: "a", region: "b", "other": "c"}}}
	pod := func(node string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{NodeName: node}}
	}
	tests := []struct {
		name, reason, subresource string
		object                    runtime.Object
		want                      map[string]string
	}{
		{name: "binding", reason: "a bound pod gets the labels of its node", subresource: "binding",
			object: &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n"}},
			want:   map[string]string{zone: "a", region: "b"}},
		{name: "created on a node", reason: "a pod that is created on a node isn't bound later", object: pod("n", nil),
			want: map[string]string{zone: "a", region: "b"}},
		{name: "own label", reason: "the labels of the node replace the user's labels",
			object: pod("n", map[string]string{zone: "x", "other": "y"}),
			want:   map[string]string{zone: "a", region: "b", "other": "y"}},
		{name: "no node yet", reason: "a pod without a node has no topology", object: pod("", nil)},
		{name: "unknown node", reason: "a pod may be created before its node", object: pod("gone", nil)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, node)
			pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
			a := admission.NewAttributesRecord(test.object, nil, schema.GroupVersionKind{}, "ns", "p", pods, test.subresource, admission.Create, nil, false, &user.DefaultInfo{})
			if err := p.Admit(t.Context(), a, nil); err != nil {
				t.Fatal(err)
			}
			object, err := meta.Accessor(test.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, object.GetLabels()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// storeOf is a store for one resource.
type storeOf struct {
	resource schema.GroupResource
	objects  cache.Store
}

func (s storeOf) Store(resource schema.GroupResource) cache.Store {
	if resource == s.resource {
		return s.objects
	}
	return nil
}

// If an informer knows the node, the node isn't requested from the server.
func TestKnownNode(t *testing.T) {
	t.Parallel()
	p := New()
	plugintest.Start(t, p, nil)
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	if err := store.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}); err != nil {
		t.Fatal(err)
	}
	p.stores = storeOf{corev1.Resource("nodes"), store}
	for _, test := range []struct {
		name, reason, node string
		want               map[string]string
	}{
		{"known", "the server itself has no such node, so the labels are the informer's", "n", map[string]string{corev1.LabelTopologyZone: "a"}},
		{"unknown", "another server may have written the node, so the server is asked too", "other", nil},
	} {
		object := &metav1.ObjectMeta{}
		if err := p.label(t.Context(), object, test.node); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, object.Labels); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}
