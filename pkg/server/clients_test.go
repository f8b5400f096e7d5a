package server

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// TestNewInformer checks which informer the server uses. With an embedded etcd, the informer of a stored type takes
// its events from the etcd. For other types, and with an external etcd, newInformer returns nil, and the server uses
// client-go's informer. For a resource that isn't served, the informer is empty.
func TestNewInformer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		external     bool
		config       string
		obj          runtime.Object
		resource     string
		direct, none bool
	}{
		{name: "stored here", reason: "the informer takes its events from the embedded etcd", obj: &corev1.ConfigMap{},
			resource: "configmaps", direct: true},
		{name: "stored elsewhere", reason: "another server may write to an external etcd", external: true,
			obj: &corev1.ConfigMap{}, resource: "configmaps", none: true},
		{name: "no stored type", reason: "nothing of the type is stored", obj: &metav1.Status{}, resource: "configmaps", none: true},
		{name: "not served", reason: "a resource that isn't served has no objects", config: "apps/v1/deployments=false",
			obj: &appsv1.Deployment{}, resource: "deployments.apps"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			options := NewOptions()
			if test.config != "" {
				if err := options.APIs.RuntimeConfig.Set(test.config); err != nil {
					t.Fatal(err)
				}
			}
			completed, err := options.Complete()
			if err != nil {
				t.Fatal(err)
			}
			store := &etcd.Etcd{}
			if !test.external {
				if store, err = etcd.New(t.Context(), etcd.Config{Options: completed.Etcd, Following: t.Context(), Life: t.Context()}); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := store.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			got := informing{completed.Table, completed.enabled, store}.newInformer(test.obj, schema.ParseGroupResource(test.resource))
			if _, direct := got.(*informer.Informer); direct != test.direct || (got == nil) != test.none {
				t.Errorf("got %T: %s", got, test.reason)
			}
		})
	}
}
