package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An object that is being deleted stays as long as it has a finalizer, even if a client writes to it by any endpoint.
// When the last finalizer is removed, the object is deleted. A dry run removes no finalizer.
func TestTerminatingObjectsStay(t *testing.T) {
	t.Parallel()
	const hold = "example.com/hold"
	w := unreviewed(t, miniapitest.Start(t))
	for _, gvr := range w.order {
		served := w.served[gvr]
		if strings.Contains(gvr.Resource, "/") || !slices.Contains(served.Verbs, "delete") || !slices.Contains(served.Verbs, "update") {
			continue
		}
		t.Run(strings.ReplaceAll(w.name(gvr), "/", " "), func(t *testing.T) {
			t.Parallel()
			o := w.object(t, gvr)
			o.SetFinalizers([]string{hold})
			client := w.resource(gvr)
			must(client.Create(t.Context(), o, metav1.CreateOptions{}))(t)
			ok(t, client.Delete(t.Context(), o.GetName(), atOnce()))
			stays := func(after string) {
				t.Helper()
				got, err := client.Get(t.Context(), o.GetName(), metav1.GetOptions{})
				if err != nil || got.GetDeletionTimestamp() == nil || !slices.Contains(got.GetFinalizers(), hold) {
					t.Fatalf("after %s: want the object to be held, got %v, %v", after, got, err)
				}
			}
			stays("its deletion")
			for _, endpoint := range w.order {
				if endpoint.GroupVersion() != gvr.GroupVersion() || !slices.Contains(w.served[endpoint].Verbs, "update") ||
					endpoint != gvr && !strings.HasPrefix(endpoint.Resource, gvr.Resource+"/") || strings.HasSuffix(endpoint.Resource, "/proxy") {
					continue
				}
				for _, step := range w.holdingWrites(endpoint, o.GetName()) {
					what := step.name + " of " + endpoint.Resource
					if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return step.do(t) }); err != nil {
						t.Errorf("%s: %v", what, err)
					}
					stays(what)
				}
			}
			must(client.Patch(t.Context(), o.GetName(), types.MergePatchType, noFinalizers, metav1.PatchOptions{}))(t)
			if gvr.Resource == "namespaces" {
				return // other objects in the namespace delay it, too: see TestTerminatingNamespace
			}
			// A CustomResourceDefinition is gone only after its custom resources, so the test waits.
			gone(t, "the object without finalizers", func(ctx context.Context) (*unstructured.Unstructured, error) {
				return client.Get(ctx, o.GetName(), metav1.GetOptions{})
			})
		})
	}
}

var noFinalizers = []byte(`{"metadata":{"finalizers":null}}`)

// step is a request for an object.
type step struct {
	name string
	do   func(*testing.T) error
}

// holdingWrites returns the writes by an endpoint that keep the finalizers of an object.
func (w *walk) holdingWrites(endpoint schema.GroupVersionResource, name string) []step {
	client, sub, verbs := w.resource(endpoint), subresources(endpoint), w.served[endpoint].Verbs
	var steps []step
	for _, dryRun := range [][]string{nil, dry} {
		suffix := ""
		if dryRun != nil {
			suffix = " in a dry run"
		}
		update := func(change func(*unstructured.Unstructured)) func(*testing.T) error {
			return func(t *testing.T) error {
				var read []string
				if slices.Contains(verbs, "get") {
					read = sub
				}
				o, err := client.Get(t.Context(), name, metav1.GetOptions{}, read...)
				if err != nil {
					return err
				}
				change(o)
				_, err = client.Update(t.Context(), o, metav1.UpdateOptions{DryRun: dryRun}, sub...)
				return err
			}
		}
		steps = append(steps, step{"update" + suffix, update(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(nil) })})
		if dryRun != nil {
			steps = append(steps, step{"update without finalizers" + suffix, update(func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })})
		}
		if !slices.Contains(verbs, "patch") {
			continue
		}
		patch := func(kind types.PatchType, content []byte) func(*testing.T) error {
			return func(t *testing.T) error {
				options := metav1.PatchOptions{DryRun: dryRun, FieldManager: "holder"}
				_, err := client.Patch(t.Context(), name, kind, content, options, sub...)
				return err
			}
		}
		steps = append(steps, step{"patch" + suffix, patch(types.MergePatchType, []byte(`{"metadata":{"labels":{"patched":"yes"}}}`))})
		if dryRun != nil {
			steps = append(steps, step{"patch without finalizers" + suffix, patch(types.MergePatchType, noFinalizers)})
		}
		r := w.served[endpoint]
		steps = append(steps, step{"apply" + suffix, patch(types.ApplyPatchType, fmt.Appendf(nil,
			`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, groupVersion(r.Group, r.Version), r.Kind, name))})
	}
	return steps
}

// A namespace that is being deleted stays until its spec.finalizers are empty. A controller removes them by
// namespaces/finalize when the objects in the namespace are deleted. It reports its progress by namespaces/status.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	namespaces := miniapitest.Start(t).Client().CoreV1().Namespaces()
	condition := corev1.NamespaceCondition{Type: corev1.NamespaceDeletionContentFailure, Status: corev1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}
	for _, test := range []struct {
		name, reason string
		finalizers   []string
		do           func(context.Context, corev1client.NamespaceInterface, *corev1.Namespace) error
		stays        bool
	}{
		{"status", "a controller reports the remaining objects", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Status.Conditions = append(n.Status.Conditions, condition)
			_, err := c.UpdateStatus(ctx, n, metav1.UpdateOptions{})
			return err
		}, true},
		{"status, patched", "another controller also reports its progress", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			_, err := c.Patch(ctx, n.Name, types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Test","status":"True"}]}}`), metav1.PatchOptions{}, "status")
			return err
		}, true},
		{"status, applied", "a third controller also reports its progress", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			status := corev1ac.NamespaceStatus().WithConditions(corev1ac.NamespaceCondition().WithType("Test").WithStatus(corev1.ConditionTrue))
			_, err := c.ApplyStatus(ctx, corev1ac.Namespace(n.Name).WithStatus(status), metav1.ApplyOptions{FieldManager: "test"})
			return err
		}, true},
		{"status without metadata.finalizers", "the content remains", []string{"example.com/hold"}, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Finalizers = nil
			_, err := c.UpdateStatus(ctx, n, metav1.UpdateOptions{})
			return err
		}, true},
		{"update without metadata.finalizers", "the content remains", []string{"example.com/hold"}, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Finalizers, n.Spec.Finalizers = nil, nil
			_, err := c.Update(ctx, n, metav1.UpdateOptions{})
			return err
		}, true},
		{"deletion", "the namespace is already being deleted", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			return c.Delete(ctx, n.Name, atOnce())
		}, true},
		{"finalization with a finalizer", "another controller hasn't removed its finalizer", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Spec.Finalizers = []corev1.FinalizerName{"example.com/hold"}
			_, err := c.Finalize(ctx, n, metav1.UpdateOptions{})
			return err
		}, true},
		{"finalization in a dry run", "a dry run removes no finalizer", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Spec.Finalizers = nil
			_, err := c.Finalize(ctx, n, metav1.UpdateOptions{DryRun: dry})
			return err
		}, true},
		{"finalization with metadata.finalizers", "metadata.finalizers delay the deletion of a namespace as of any object", []string{"example.com/hold"}, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Spec.Finalizers = nil
			_, err := c.Finalize(ctx, n, metav1.UpdateOptions{})
			return err
		}, true},
		{"finalization", "the last finalizer is removed", nil, func(ctx context.Context, c corev1client.NamespaceInterface, n *corev1.Namespace) error {
			n.Spec.Finalizers = nil
			_, err := c.Finalize(ctx, n, metav1.UpdateOptions{})
			return err
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := strings.NewReplacer(" ", "-", ",", "", ".", "-").Replace(test.name)
			must(namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: test.finalizers}}, metav1.CreateOptions{}))(t)
			ok(t, namespaces.Delete(t.Context(), name, metav1.DeleteOptions{}))
			ok(t, test.do(t.Context(), namespaces, must(namespaces.Get(t.Context(), name, metav1.GetOptions{}))(t)))
			left, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
			if test.stays && (err != nil || left.Status.Phase != corev1.NamespaceTerminating) || !test.stays && !apierrors.IsNotFound(err) {
				t.Errorf("%s: want the namespace to stay: %t, got %v, %v", test.reason, test.stays, left, err)
			}
		})
	}
}

// The options of a deletion decide about the dependents of a namespace, by propagationPolicy or by the deprecated field
// orphanDependents.
func TestNamespacePropagation(t *testing.T) {
	t.Parallel()
	namespaces := miniapitest.Start(t).Client().CoreV1().Namespaces()
	for _, test := range []struct {
		name, reason string
		options      metav1.DeleteOptions
		want         string
	}{
		{"orphan", "the dependents stay", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}, metav1.FinalizerOrphanDependents},
		{"foreground", "the dependents are deleted first", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}, metav1.FinalizerDeleteDependents},
		{"background", "the dependents are deleted later", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, ""},
		// Old clients send this field.
		{"orphaned", "the dependents stay", metav1.DeleteOptions{OrphanDependents: new(true)}, metav1.FinalizerOrphanDependents}, //nolint:staticcheck // older clients send the deprecated field
		// Old clients send the field orphanDependents.
		{"not-orphaned", "the dependents of a namespace are deleted first", metav1.DeleteOptions{OrphanDependents: new(false)}, metav1.FinalizerDeleteDependents}, //nolint:staticcheck // older clients send the deprecated field
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			must(namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: test.name}}, metav1.CreateOptions{}))(t)
			ok(t, namespaces.Delete(t.Context(), test.name, test.options))
			got := must(namespaces.Get(t.Context(), test.name, metav1.GetOptions{}))(t)
			if joined := strings.Join(got.Finalizers, ","); joined != test.want {
				t.Errorf("%s: want finalizers %q, got %q", test.reason, test.want, joined)
			}
		})
	}
}

// A deleted pod that is bound to a node stays until its grace period is over, even if a client writes to the pod,
// because the kubelet ends the pod.
func TestTerminatingPod(t *testing.T) {
	t.Parallel()
	pods := miniapitest.Start(t).Client().CoreV1().Pods("default")
	for _, test := range []struct {
		name, reason string
		finalizers   []string
		do           func(context.Context, *corev1.Pod) error
		stays        bool
	}{
		{"status", "the kubelet reports its progress", nil, func(ctx context.Context, p *corev1.Pod) error {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds, p.Status.Phase = nil, nil, corev1.PodRunning
			_, err := pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
			return err
		}, true},
		{"last-finalizer", "the pod's containers are still running", []string{"example.com/hold"}, func(ctx context.Context, p *corev1.Pod) error {
			_, err := pods.Patch(ctx, p.Name, types.MergePatchType, noFinalizers, metav1.PatchOptions{}, "status")
			return err
		}, true},
		{"grace-period", "a client can shorten the grace period only by a deletion", nil, func(ctx context.Context, p *corev1.Pod) error {
			_, err := pods.Patch(ctx, p.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		}, true},
		{"deletion-in-a-dry-run", "a dry run deletes nothing", nil, func(ctx context.Context, p *corev1.Pod) error {
			return pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), DryRun: dry})
		}, true},
		{"deletion", "the kubelet has ended the pod's containers", nil, func(ctx context.Context, p *corev1.Pod) error {
			return pods.Delete(ctx, p.Name, atOnce())
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			running := pod(test.name)
			running.Spec.NodeName, running.Finalizers = "node", test.finalizers
			must(pods.Create(t.Context(), running, metav1.CreateOptions{}))(t)
			ok(t, pods.Delete(t.Context(), test.name, metav1.DeleteOptions{}))
			ok(t, test.do(t.Context(), must(pods.Get(t.Context(), test.name, metav1.GetOptions{}))(t)))
			left, err := pods.Get(t.Context(), test.name, metav1.GetOptions{})
			if test.stays && (err != nil || left.DeletionTimestamp == nil || *left.DeletionGracePeriodSeconds != 30) || !test.stays && !apierrors.IsNotFound(err) {
				t.Errorf("%s: want the pod to stay: %t, got %v, %v", test.reason, test.stays, left, err)
			}
		})
	}
}

// When a service is deleted, its addresses and ports can be allocated again, whichever endpoint removed the last
// finalizer.
func TestTerminatingServiceReleases(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, sub := range [][]string{nil, {"status"}} {
		services := srv.Client().CoreV1().Services("default")
		create := func(name, ip string, nodePort int32, finalizers ...string) (*corev1.Service, error) {
			return services.Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80, NodePort: nodePort}}},
			}, metav1.CreateOptions{})
		}
		held := must(create("held", "", 0, "example.com/hold"))(t)
		ok(t, services.Delete(t.Context(), "held", metav1.DeleteOptions{}))
		if _, err := create("next", held.Spec.ClusterIP, held.Spec.Ports[0].NodePort); !apierrors.IsInvalid(err) {
			t.Errorf("%v: want the address to be taken as long as the service stays, got %v", sub, err)
		}
		must(services.Patch(t.Context(), "held", types.MergePatchType, noFinalizers, metav1.PatchOptions{}, sub...))(t)
		must(create("next", held.Spec.ClusterIP, held.Spec.Ports[0].NodePort))(t)
		ok(t, services.Delete(t.Context(), "next", metav1.DeleteOptions{}))
	}
}
