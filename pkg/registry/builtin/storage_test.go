package builtin_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestStorageEncoding checks that all kinds of Kubernetes are stored in protobuf, except for APIServices, as in
// kube-apiserver. A Go type of our own may have no protobuf encoding.
func TestStorageEncoding(t *testing.T) {
	t.Parallel()
	inJSON := builtin.Table().StoredInJSON()
	apiServices := schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
	if !slices.Contains(inJSON, apiServices) {
		t.Errorf("%s must be stored in JSON", apiServices)
	}
	eachRow(t, func(t *testing.T, g *registry.Group, k *registry.Kind) {
		resource := schema.GroupResource{Group: g.Name, Resource: k.Resource}
		if resource != apiServices && slices.Contains(inJSON, resource) && strings.HasPrefix(reflect.TypeOf(k.Object).Elem().PkgPath(), "k8s.io/") {
			t.Errorf("the table stores %s in JSON, because the Go type has no protobuf encoding", resource)
		}
	})
}

// TestListItems checks that the items of a list have no apiVersion and kind, as in kube-apiserver.
func TestListItems(t *testing.T) {
	t.Parallel()
	s := registrytest.New(t, builtin.Table(), registry.Dependencies{})
	store := s.Store(corev1.Resource("configmaps"))
	for _, name := range []string{"a", "b"} {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
		if _, err := store.Create(s.Context, obj, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.List(s.Context, &metainternalversion.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	items := list.(*corev1.ConfigMapList).Items
	if len(items) != 2 {
		t.Fatalf("%d items, want 2", len(items))
	}
	for _, item := range items {
		if item.TypeMeta != (metav1.TypeMeta{}) {
			t.Errorf("%s is %v", item.Name, item.TypeMeta)
		}
	}
}
