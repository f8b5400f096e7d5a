package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// deletedNamespace creates a namespace, calls fill, and deletes the namespace.
func deletedNamespace(t *testing.T, client kubernetes.Interface, name string, fill func()) {
	t.Helper()
	must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
	fill()
	ok(t, client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
}

func namespaceGone(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	gone(t, "namespace "+name, func(ctx context.Context) (*corev1.Namespace, error) {
		return client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	})
}

// Deleting a namespace deletes the objects in it, of every namespaced kind.
func TestDeletedNamespaceIsEmptied(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("namespace"), miniapitest.WithAPIs("api/all"), miniapitest.WithFeatureGates(workloads),
		// The plugin would add finalizers to objects, and no controller would remove them.
		miniapitest.WithoutAdmissionPlugins("StorageObjectInUseProtection"))
	define(t, srv, "widgets", "Widget", "v1")
	w := newWalk(t, srv)
	var namespaced []schema.GroupVersionResource
	for _, gvr := range w.order {
		served := w.served[gvr]
		if served.Namespaced && !strings.Contains(gvr.Resource, "/") && slices.Contains(served.Verbs, "delete") && slices.Contains(served.Verbs, "create") {
			namespaced = append(namespaced, gvr)
		}
	}
	const name = "full"
	created := sets.New[schema.GroupVersionResource]()
	deletedNamespace(t, srv.Client(), name, func() {
		for _, gvr := range namespaced {
			o := w.object(t, gvr)
			o.SetNamespace(name)
			o.SetName(o.GetName() + "-" + strings.ReplaceAll(gvr.Version, "/", "-"))
			if _, err := w.client.Resource(gvr).Namespace(name).Create(t.Context(), o, metav1.CreateOptions{}); err == nil {
				created.Insert(gvr)
			}
		}
	})
	if created.Len() < len(namespaced)/2 {
		t.Fatalf("only %d of %d resources could be created: the test proves little", created.Len(), len(namespaced))
	}
	namespaceGone(t, srv.Client(), name)
	for gvr := range created {
		if list := must(w.client.Resource(gvr).Namespace(name).List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) > 0 {
			t.Errorf("%s: %d objects are left", gvr, len(list.Items))
		}
	}
}

// conditionsOf returns the messages of the namespace's conditions that report a problem, by type, and the number of all
// conditions.
func conditionsOf(n *corev1.Namespace) (bad map[corev1.NamespaceConditionType]string, all int) {
	bad = map[corev1.NamespaceConditionType]string{}
	for _, c := range n.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			bad[c.Type] = c.Reason + ": " + c.Message
		}
	}
	return bad, len(n.Status.Conditions)
}

// waitsFor waits until the conditions of a namespace have the wanted messages.
func waitsFor(t *testing.T, client kubernetes.Interface, name string, want map[corev1.NamespaceConditionType]string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		n, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		got, all := conditionsOf(n)
		if diff := cmp.Diff(want, got); diff != "" || all != 5 {
			return fmt.Errorf("of %d conditions, those that are true differ (-want +got):\n%s", all, diff)
		}
		return nil
	})
}

// The conditions of a namespace that is being deleted name the remaining objects, in kube-controller-manager's words.
// Soon after these objects are deleted, the namespace is deleted.
func TestConditionsOfADeletedNamespace(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("namespace"))
	client := srv.Client()

	t.Run("a finalizer", func(t *testing.T) {
		t.Parallel()
		const name = "held"
		maps := client.CoreV1().ConfigMaps(name)
		deletedNamespace(t, client, name, func() {
			must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}, metav1.CreateOptions{}))(t)
		})
		waitsFor(t, client, name, map[corev1.NamespaceConditionType]string{
			corev1.NamespaceContentRemaining:    "SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
			corev1.NamespaceFinalizersRemaining: "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
		})
		must(maps.Patch(t.Context(), "held", types.MergePatchType, noFinalizers, metav1.PatchOptions{}))(t)
		namespaceGone(t, client, name)
	})
	t.Run("a pod", func(t *testing.T) {
		t.Parallel()
		const name = "running"
		deletedNamespace(t, client, name, func() {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "c"}}}}
			must(client.CoreV1().Pods(name).Create(t.Context(), pod, metav1.CreateOptions{}))(t)
			must(client.CoreV1().ConfigMaps(name).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "map"}}, metav1.CreateOptions{}))(t)
		})
		waitsFor(t, client, name, map[corev1.NamespaceConditionType]string{})
		// The controller deletes pods before other objects, so the ConfigMap exists as long as the pod.
		must(client.CoreV1().ConfigMaps(name).Get(t.Context(), "map", metav1.GetOptions{}))(t)
		ok(t, client.CoreV1().Pods(name).Delete(t.Context(), "pod", atOnce()))
		namespaceGone(t, client, name)
	})
	t.Run("another finalizer of the namespace", func(t *testing.T) {
		t.Parallel()
		const name = "kept"
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes", "example.com/hold"}}}
		must(client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))(t)
		ok(t, client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
		eventually(t, func(ctx context.Context) error {
			n, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if want := []corev1.FinalizerName{"example.com/hold"}; !slices.Equal(n.Spec.Finalizers, want) {
				return fmt.Errorf("want finalizers %v, got %v", want, n.Spec.Finalizers)
			}
			return nil
		})
	})
}

// As long as an aggregated API can't be discovered, a namespace that is being deleted stays, because it may have
// objects of that API.
func TestDeletedNamespaceWaitsForDiscovery(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("namespace"))
	client := srv.Client()
	services := clusterResources(srv, apiRegistration, "apiservices")
	must(services.Create(t.Context(), toolsService("missing"), metav1.CreateOptions{}))(t)
	deletedNamespace(t, client, "waiting", func() {})
	eventually(t, func(ctx context.Context) error {
		n, err := client.CoreV1().Namespaces().Get(ctx, "waiting", metav1.GetOptions{})
		if err != nil {
			return err
		}
		bad, _ := conditionsOf(n)
		if got := bad[corev1.NamespaceDeletionDiscoveryFailure]; !strings.HasPrefix(got, "DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: tools.example.com/v1: ") {
			return fmt.Errorf("want the condition to name the API, got %q", got)
		}
		return nil
	})
	ok(t, services.Delete(t.Context(), "v1.tools.example.com", metav1.DeleteOptions{}))
	namespaceGone(t, client, "waiting")
}

// Deleting a namespace also deletes custom resources whose definition was created only a moment before.
func TestDeletedNamespaceHasNewKinds(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("namespace"))
	client := srv.Client()
	define(t, srv, "widgets", "Widget", "v1")
	widgets := srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	deletedNamespace(t, client, "new", func() {
		must(widgets.Namespace("new").Create(t.Context(), object("example.com/v1", "Widget", "widget", nil), metav1.CreateOptions{}))(t)
	})
	namespaceGone(t, client, "new")
	if left := must(widgets.List(t.Context(), metav1.ListOptions{}))(t); len(left.Items) > 0 {
		t.Errorf("custom resources are left: %v", left.Items)
	}
}

// A kind may be served again while a namespace is being deleted. Objects of that kind in the namespace are deleted,
// too.
func TestDeletedNamespaceHasKindsThatAppear(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("namespace"))
	client, maps := srv.Client(), srv.Client().CoreV1().ConfigMaps("waiting")
	define(t, srv, "widgets", "Widget", "v1")
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	widgets := srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	serve := func(served bool) {
		t.Helper()
		definition := must(definitions.Get(t.Context(), "widgets.example.com", metav1.GetOptions{}))(t)
		versions := fieldOf(definition, "spec", "versions").([]any)
		versions[0].(map[string]any)["served"] = served
		must(definitions.Update(t.Context(), definition, metav1.UpdateOptions{}))(t)
	}
	deletedNamespace(t, client, "waiting", func() {
		must(widgets.Namespace("waiting").Create(t.Context(), object("example.com/v1", "Widget", "hidden", nil), metav1.CreateOptions{}))(t)
		must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}, metav1.CreateOptions{}))(t)
		serve(false)
	})
	waitsFor(t, client, "waiting", map[corev1.NamespaceConditionType]string{
		corev1.NamespaceContentRemaining:    "SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
		corev1.NamespaceFinalizersRemaining: "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
	})
	serve(true)
	define(t, srv, "gears", "Gear", "v1")
	must(widgets.Namespace("waiting").Get(t.Context(), "hidden", metav1.GetOptions{}))(t)
	must(maps.Patch(t.Context(), "held", types.MergePatchType, noFinalizers, metav1.PatchOptions{}))(t)
	namespaceGone(t, client, "waiting")
	if left := must(widgets.List(t.Context(), metav1.ListOptions{}))(t); len(left.Items) > 0 {
		t.Errorf("custom resources are left: %v", left.Items)
	}
}

// Admission may allow a create before the deletion of its namespace, and the server may store the object only after the
// namespace is gone, because a webhook answers slowly. Soon afterwards, the object is deleted.
func TestDeletedNamespaceKeepsNoLateObject(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("namespace"))
	asked, answer := make(chan struct{}), make(chan struct{})
	install(t, srv, mutating("slow", answering(func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		close(asked)
		<-answer
		return miniapitest.Allowed()
	}), on("CREATE", "v1", "configmaps")))
	client, stored := srv.Client(), make(chan error, 1)
	deletedNamespace(t, client, "ended", func() {
		go func() {
			_, err := client.CoreV1().ConfigMaps("ended").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
			stored <- err
		}()
		<-asked
	})
	namespaceGone(t, client, "ended")
	close(answer)
	ok(t, <-stored)
	gone(t, "a ConfigMap of a namespace that doesn't exist", func(ctx context.Context) (*corev1.ConfigMap, error) {
		return client.CoreV1().ConfigMaps("ended").Get(ctx, "late", metav1.GetOptions{})
	})
}
