package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// kindOf is a kind of the objects that a test creates in a namespace.
type kindOf struct {
	schema.GroupVersionResource
	name string
}

const customKinds = 24

// kindsOfContent returns thirty kinds: a few built-in kinds, and custom kinds.
func kindsOfContent() []kindOf {
	core := func(resource, kind string) kindOf {
		return kindOf{corev1.SchemeGroupVersion.WithResource(resource), kind}
	}
	kinds := []kindOf{
		core("configmaps", "ConfigMap"), core("secrets", "Secret"), core("serviceaccounts", "ServiceAccount"),
		core("podtemplates", "PodTemplate"), core("limitranges", "LimitRange"),
		{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "Lease"},
	}
	for i := range customKinds {
		kinds = append(kinds, kindOf{schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: fmt.Sprintf("kind%ds", i)}, fmt.Sprintf("Kind%d", i)})
	}
	return kinds
}

func defineKinds(t *testing.T, config *rest.Config) {
	t.Helper()
	definitions, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kindsOfContent() {
		if kind.Group != "example.com" {
			continue
		}
		if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: kind.Resource + ".example.com"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: kind.Resource, Kind: kind.name},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"},
				}}},
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// content is a namespace with objects. After a restart of the server, a test makes a new content with clients of the
// new process.
type content struct {
	namespace string
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
}

func contentOf(t *testing.T, config *rest.Config, namespace string) *content {
	t.Helper()
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &content{namespace, client(t, config), d}
}

// create makes the namespace, with ten objects of each kind. Four of the ten objects have a ConfigMap as their owner.
func (c *content) create(t *testing.T) {
	t.Helper()
	if _, err := c.typed.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	owner, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var creating sync.WaitGroup
	for _, kind := range kindsOfContent() {
		creating.Go(func() {
			for i := range 10 {
				o := &unstructured.Unstructured{}
				o.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.name))
				o.SetName(fmt.Sprint("object-", i))
				if i%3 == 0 {
					o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}})
				}
				if kind.name == "PodTemplate" {
					o.Object["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "c"}}}}
				}
				if _, err := c.dynamic.Resource(kind.GroupVersionResource).Namespace(c.namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					t.Errorf("create %s %s: %v", kind.name, o.GetName(), err)
				}
			}
		})
	}
	creating.Wait()
}

// objects returns the kind and the name of each object, by the UID.
func (c *content) objects(ctx context.Context) (map[types.UID]string, error) {
	all := map[types.UID]string{}
	for _, kind := range kindsOfContent() {
		list, err := c.dynamic.Resource(kind.GroupVersionResource).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			all[list.Items[i].GetUID()] = kind.name + " " + list.Items[i].GetName()
		}
	}
	return all, nil
}

// onDeletions calls f once, after the nth deletion of an object.
func (c *content) onDeletions(t *testing.T, n int32, f func()) {
	t.Helper()
	var deleted atomic.Int32
	for _, kind := range kindsOfContent() {
		watching, err := c.dynamic.Resource(kind.GroupVersionResource).Namespace(c.namespace).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watching.Stop)
		go func() {
			for event := range watching.ResultChan() {
				if event.Type == watch.Deleted && deleted.Add(1) == n {
					f()
				}
			}
		}()
	}
}

// The test kills the server while the server deletes a namespace, after the deletion of some of the namespace's
// objects. After the restart, the server deletes the rest of the namespace, and nothing else.
func TestKilledWhileNamespaceIsDeleted(t *testing.T) {
	t.Parallel()
	// On a busy machine, a kill may come after the last deletion. Such a round shows nothing, so further rounds follow.
	const rounds, limit = 3, 12
	folder := filepath.Join(t.TempDir(), "data")
	p, config := serve(t, "--data-dir="+folder)
	defineKinds(t, config)
	stays := contentOf(t, config, "stays")
	stays.create(t)
	want, err := stays.objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	interrupted := 0
	for round := 0; round < rounds || interrupted == 0 && round < limit; round++ {
		name := fmt.Sprint("goes-", round)
		goes := contentOf(t, config, name)
		goes.create(t)
		before, err := goes.objects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		killed := make(chan struct{})
		after := 1 + rand.Int32N(int32(len(before)*3/4))
		goes.onDeletions(t, after, func() {
			_ = p.cmd.Process.Signal(syscall.SIGKILL)
			close(killed)
		})
		if err := goes.typed.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		<-killed
		<-p.done

		p, config = serve(t, "--data-dir="+folder, "--controllers=")
		left, err := contentOf(t, config, name).objects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("the server was killed after %d deletions, and %d of %d objects were left", after, len(left), len(before))
		if len(left) > 0 && len(left) < len(before) {
			interrupted++
		}
		p.signal(t, syscall.SIGKILL)
		<-p.done

		p, config = serve(t, "--data-dir="+folder)
		goes, stays = contentOf(t, config, name), contentOf(t, config, "stays")
		comesTrue(t, "the namespace isn't gone", func(ctx context.Context) error {
			found, err := goes.typed.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("want none, got %v, %w", found, err)
		})
		if left, err := goes.objects(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("of the namespace, %v are left, %v", left, err)
		}
		if got, err := stays.objects(t.Context()); !cmp.Equal(want, got) || err != nil {
			t.Errorf("of another namespace, what is there differs, %v (-want +got):\n%s", err, cmp.Diff(want, got))
		}
	}
	if interrupted == 0 {
		t.Errorf("in none of %d rounds, the server was killed in the midst of a deletion: the test shows nothing", limit)
	}
}

// Two servers use one etcd, and only one of them runs its controllers. When that server ends, the controllers of the
// other server finish the work.
func TestLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		end          syscall.Signal
		releases     bool
	}{
		{"killed", "the other server waits until the Lease is over", syscall.SIGKILL, false},
		{"stopped", "the server gives the Lease up", syscall.SIGTERM, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			etcd := "--etcd-servers=" + startEtcd(t)
			leader, configHere := serve(t, etcd)
			here := client(t, configHere).CoreV1()
			holder := func(ctx context.Context, c kubernetes.Interface) (string, error) {
				lease, err := c.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, "kube-controller-manager", metav1.GetOptions{})
				if err != nil {
					return "", err
				}
				if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
					return "", fmt.Errorf("the lease is nobody's: %v", lease.Spec)
				}
				return *lease.Spec.HolderIdentity, nil
			}
			var first string
			comesTrue(t, "the first server doesn't lead", func(ctx context.Context) (err error) {
				first, err = holder(ctx, client(t, configHere))
				return err
			})
			_, configThere := serve(t, etcd)
			there := client(t, configThere).CoreV1()

			if _, err := here.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "half"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := here.ConfigMaps("half").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			owner, err := here.ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := here.ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name:            "dependent",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
			}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := here.Namespaces().Delete(t.Context(), "half", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			comesTrue(t, "the leader hasn't begun", func(ctx context.Context) error {
				held, err := there.ConfigMaps("half").Get(ctx, "held", metav1.GetOptions{})
				if err == nil && held.DeletionTimestamp == nil {
					err = fmt.Errorf("want it to be deleted, got %v", held.ObjectMeta)
				}
				return err
			})
			leader.signal(t, test.end)
			<-leader.done
			if now, err := holder(t.Context(), client(t, configThere)); (err == nil && now == first) == test.releases {
				t.Errorf("%s: the lease was held by %s, and is held by %q, %v", test.reason, first, now, err)
			}

			if _, err := there.ConfigMaps("half").Patch(t.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := there.ConfigMaps(metav1.NamespaceDefault).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			comesTrue(t, test.reason+": the deleted namespace stays", func(ctx context.Context) error {
				found, err := there.Namespaces().Get(ctx, "half", metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return fmt.Errorf("want none, got %v, %w", found, err)
			})
			comesTrue(t, test.reason+": garbage stays", func(ctx context.Context) error {
				found, err := there.ConfigMaps(metav1.NamespaceDefault).Get(ctx, "dependent", metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return fmt.Errorf("want none, got %v, %w", found, err)
			})
			if second, err := holder(t.Context(), client(t, configThere)); err != nil || second == first {
				t.Errorf("want the lease to be another server's than %s, got %s, %v", first, second, err)
			}
		})
	}
}
