package integration_test

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// startElsewhere starts two servers: one server with controllers, and another server with the custom resource
// hammers of tools.example.com. The first server has an APIService for the API of the second server.
func startElsewhere(t *testing.T, selection ...string) (srv, elsewhere *miniapitest.Server) {
	t.Helper()
	elsewhere = miniapitest.Start(t)
	defineIn(t, elsewhere, "tools.example.com", "hammers", "Hammer", "v1")
	proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(elsewhere.Config().Host))(t))
	proxy.Transport = must(rest.TransportFor(elsewhere.Config()))(t)
	proxy.FlushInterval = -1 // the proxy must pass the events of a watch on at once
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for name := range req.Header {
			if len(name) > 9 && name[:9] == "X-Remote-" {
				req.Header.Del(name) // the proxy sends its own credentials, the admin's, to the second server
			}
		}
		proxy.ServeHTTP(w, req)
	}), "tools.default.svc")
	srv = miniapitest.Start(t, withControllers(selection...), placed("default", "tools", 443, port))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	becomes(t, srv, "Available True")
	return srv, elsewhere
}

func hammerGone(t *testing.T, elsewhere *miniapitest.Server, namespace, name string) {
	t.Helper()
	gone(t, "hammer "+name, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return elsewhere.DynamicClient().Resource(groupVersionOf("tools.example.com/v1").WithResource("hammers")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	})
}

// Deleting a namespace also deletes the objects in it that another server stores.
func TestDeletedNamespaceIsEmptiedElsewhere(t *testing.T) {
	t.Parallel()
	srv, elsewhere := startElsewhere(t, "namespace")
	hammers := elsewhere.DynamicClient().Resource(groupVersionOf("tools.example.com/v1").WithResource("hammers"))
	const name = "both"
	must(elsewhere.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
	held := object("tools.example.com/v1", "Hammer", "held", nil)
	held.SetFinalizers([]string{"example.com/hold"})
	deletedNamespace(t, srv.Client(), name, func() {
		must(hammers.Namespace(name).Create(t.Context(), object("tools.example.com/v1", "Hammer", "hammer", nil), metav1.CreateOptions{}))(t)
		must(hammers.Namespace(name).Create(t.Context(), held, metav1.CreateOptions{}))(t)
		must(hammers.Namespace("default").Create(t.Context(), object("tools.example.com/v1", "Hammer", "stays", nil), metav1.CreateOptions{}))(t)
	})
	hammerGone(t, elsewhere, name, "hammer")
	waitsFor(t, srv.Client(), name, map[corev1.NamespaceConditionType]string{
		corev1.NamespaceContentRemaining:    "SomeResourcesRemain: Some resources are remaining: hammers.tools.example.com has 1 resource instances",
		corev1.NamespaceFinalizersRemaining: "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
	})
	must(hammers.Namespace(name).Patch(t.Context(), "held", "application/merge-patch+json", noFinalizers, metav1.PatchOptions{}))(t)
	namespaceGone(t, srv.Client(), name)
	if left := must(hammers.List(t.Context(), metav1.ListOptions{}))(t); len(left.Items) != 1 || left.Items[0].GetName() != "stays" {
		t.Errorf("want the hammer of another namespace to be left, got %v", left.Items)
	}
}

// The garbage collector also works if the owner and the dependent are stored by different servers.
func TestGarbageCollectionElsewhere(t *testing.T) {
	t.Parallel()
	srv, elsewhere := startElsewhere(t, "garbagecollector")
	maps := srv.Client().CoreV1().ConfigMaps("default")
	hammers := resources(elsewhere, "tools.example.com/v1", "hammers")
	owned := func(o *unstructured.Unstructured, owner metav1.OwnerReference) *unstructured.Unstructured {
		o.SetOwnerReferences([]metav1.OwnerReference{owner})
		return o
	}
	here := must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "here"}}, metav1.CreateOptions{}))(t)
	must(hammers.Create(t.Context(), owned(object("tools.example.com/v1", "Hammer", "dependent", nil), ownerOf(here, true)), metav1.CreateOptions{}))(t)
	there := must(hammers.Create(t.Context(), object("tools.example.com/v1", "Hammer", "there", nil), metav1.CreateOptions{}))(t)
	must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "tools.example.com/v1", Kind: "Hammer", Name: "there", UID: there.GetUID()},
	}}}, metav1.CreateOptions{}))(t)
	must(hammers.Create(t.Context(), object("tools.example.com/v1", "Hammer", "stays", nil), metav1.CreateOptions{}))(t)

	// The deletion of this owner waits for its dependent on the other server, so the collector must find the dependent.
	foreground := metav1.DeletePropagationForeground
	ok(t, maps.Delete(t.Context(), "here", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	gone(t, "the owner", func(ctx context.Context) (*corev1.ConfigMap, error) {
		return maps.Get(ctx, "here", metav1.GetOptions{})
	})
	hammerGone(t, elsewhere, "default", "dependent")

	ok(t, hammers.Delete(t.Context(), "there", metav1.DeleteOptions{}))
	gone(t, "the dependent", func(ctx context.Context) (*corev1.ConfigMap, error) {
		return maps.Get(ctx, "dependent", metav1.GetOptions{})
	})
	must(hammers.Get(t.Context(), "stays", metav1.GetOptions{}))(t)

	// An owner of a kind that isn't served may exist, so its dependents stay.
	must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "tools.example.com/v1", Kind: "Hammer", Name: "stays",
			UID: must(hammers.Get(t.Context(), "stays", metav1.GetOptions{}))(t).GetUID()},
	}}}, metav1.CreateOptions{}))(t)
	ok(t, clusterResources(srv, apiRegistration, "apiservices").Delete(t.Context(), "v1.tools.example.com", metav1.DeleteOptions{}))
	first := must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{}))(t)
	must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "second", OwnerReferences: []metav1.OwnerReference{ownerOf(first, false)}}}, metav1.CreateOptions{}))(t)
	ok(t, maps.Delete(t.Context(), "first", metav1.DeleteOptions{}))
	// When the collector has deleted the ConfigMap "second", it has also handled the ConfigMap "kept".
	gone(t, "the ConfigMap second, whose owner was deleted,", func(ctx context.Context) (*corev1.ConfigMap, error) {
		return maps.Get(ctx, "second", metav1.GetOptions{})
	})
	must(maps.Get(t.Context(), "kept", metav1.GetOptions{}))(t)
}
