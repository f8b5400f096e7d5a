package integration_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// family has ConfigMaps of a namespace that own one another.
type family struct {
	client    kubernetes.Interface
	namespace string
	members   map[string]*corev1.ConfigMap
}

func newFamily(t *testing.T, client kubernetes.Interface, namespace string) *family {
	t.Helper()
	must(client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))(t)
	return &family{client, namespace, map[string]*corev1.ConfigMap{}}
}

// ownerOf returns an owner reference to a ConfigMap. The argument blocks is the value of blockOwnerDeletion.
func ownerOf(owner *corev1.ConfigMap, blocks bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: &blocks}
}

// add creates a ConfigMap with owners. A ! after an owner's name sets blockOwnerDeletion.
func (f *family) add(t *testing.T, name string, owners ...string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, owner := range owners {
		bare, blocks := strings.CutSuffix(owner, "!")
		object.OwnerReferences = append(object.OwnerReferences, ownerOf(f.members[bare], blocks))
	}
	f.members[name] = must(f.client.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), object, metav1.CreateOptions{}))(t)
}

func (f *family) delete(t *testing.T, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	ok(t, f.client.CoreV1().ConfigMaps(f.namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
}

// state returns the ConfigMaps by name, each as a text with its owners and finalizers.
func (f *family) state(ctx context.Context) (map[string]string, error) {
	list, err := f.client.CoreV1().ConfigMaps(f.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	state := map[string]string{}
	for _, object := range list.Items {
		var parts []string
		for _, owner := range object.OwnerReferences {
			parts = append(parts, owner.Name)
		}
		state[object.Name] = strings.Join(append(parts, object.Finalizers...), " ")
	}
	return state, nil
}

func (f *family) becomes(t *testing.T, want map[string]string) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		got, err := f.state(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("objects and their owners differ (-want +got):\n%s", diff)
		}
		return nil
	})
}

// The propagation policy of a deletion decides when dependents are deleted: after the object, before the object, or
// not at all.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("garbagecollector"))
	const held = "example.com/hold"
	for i, test := range []struct {
		name, reason string
		members      [][]string // the name of a ConfigMap, followed by the names of its owners
		policy       metav1.DeletionPropagation
		want         map[string]string
	}{
		{
			"background", "dependents are deleted after their owner, and the dependents' own dependents last",
			[][]string{{"owner"}, {"child", "owner"}, {"grandchild", "child"}}, metav1.DeletePropagationBackground,
			map[string]string{},
		},
		{
			"orphan", "dependents stay, and lose the reference",
			[][]string{{"owner"}, {"child", "owner"}, {"grandchild", "child"}}, metav1.DeletePropagationOrphan,
			map[string]string{"child": "", "grandchild": "child"},
		},
		{
			"foreground", "dependents are deleted first",
			[][]string{{"owner"}, {"child", "owner!"}, {"grandchild", "child!"}}, metav1.DeletePropagationForeground,
			map[string]string{},
		},
		{
			"another owner", "a dependent stays as long as one owner exists, and loses the reference to the deleted owner",
			[][]string{{"owner"}, {"other"}, {"child", "owner", "other"}}, metav1.DeletePropagationBackground,
			map[string]string{"other": "", "child": "other"},
		},
		{
			"another owner in the foreground", "a dependent with another owner doesn't delay the deletion",
			[][]string{{"owner"}, {"other"}, {"child", "owner!", "other!"}}, metav1.DeletePropagationForeground,
			map[string]string{"other": "", "child": "other"},
		},
		{
			"two generations, two owners", "all owners are deleted in the end",
			[][]string{{"owner"}, {"a", "owner!"}, {"b", "owner!"}, {"child", "a!", "b!"}}, metav1.DeletePropagationForeground,
			map[string]string{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, srv.Client(), fmt.Sprint("policy-", i))
			for _, member := range test.members {
				f.add(t, member[0], member[1:]...)
			}
			f.delete(t, "owner", test.policy)
			f.becomes(t, test.want)
		})
	}

	t.Run("a circle", func(t *testing.T) { // each object blocks the deletion of the next one: the deletion must still end
		t.Parallel()
		f := newFamily(t, srv.Client(), "circle")
		f.add(t, "a")
		f.add(t, "b", "a!")
		f.add(t, "c", "b!")
		a := f.members["a"].DeepCopy()
		a.OwnerReferences = []metav1.OwnerReference{ownerOf(f.members["c"], true)}
		must(f.client.CoreV1().ConfigMaps(f.namespace).Update(t.Context(), a, metav1.UpdateOptions{}))(t)
		f.delete(t, "a", metav1.DeletePropagationForeground)
		f.becomes(t, map[string]string{})
	})

	t.Run("blocked", func(t *testing.T) {
		t.Parallel()
		f := newFamily(t, srv.Client(), "blocked")
		f.add(t, "owner")
		f.add(t, "free", "owner")
		f.add(t, "blocking", "owner!")
		maps := f.client.CoreV1().ConfigMaps(f.namespace)
		for _, name := range []string{"free", "blocking"} {
			must(maps.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+held+`"]}}`), metav1.PatchOptions{}))(t)
		}
		f.delete(t, "owner", metav1.DeletePropagationForeground)
		f.becomes(t, map[string]string{"owner": "foregroundDeletion", "free": "owner " + held, "blocking": "owner " + held})
		eventually(t, func(ctx context.Context) error { // the collector deletes both objects, and their finalizers delay the end
			for _, name := range []string{"free", "blocking"} {
				if o, err := maps.Get(ctx, name, metav1.GetOptions{}); err != nil || o.DeletionTimestamp == nil {
					return fmt.Errorf("want %s to be deleted, got %v, %w", name, o, orNone(err))
				}
			}
			return nil
		})
		must(maps.Patch(t.Context(), "blocking", types.MergePatchType, noFinalizers, metav1.PatchOptions{}))(t)
		f.becomes(t, map[string]string{"free": "owner " + held})
	})
}

// An object whose owner doesn't exist is deleted, unless the server doesn't serve the owner's kind. An object counts as
// the owner only if it has the kind, the name and the UID of the reference. It must also be in the namespace of the
// dependent, or have no namespace.
func TestAbsentOwners(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("garbagecollector"))
	client := srv.Client()
	f := newFamily(t, client, "absent")
	f.add(t, "present")
	elsewhere := newFamily(t, client, "elsewhere")
	elsewhere.add(t, "there")
	role := must(client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "absent-owners"}}, metav1.CreateOptions{}))(t)
	clusterRole := metav1.OwnerReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: role.Name, UID: role.UID}
	present, there := ownerOf(f.members["present"], false), ownerOf(elsewhere.members["there"], false)
	other := func(change func(*metav1.OwnerReference)) metav1.OwnerReference {
		r := present
		change(&r)
		return r
	}
	want := map[string]string{"present": ""}
	for _, test := range []struct {
		name, reason string
		owner        metav1.OwnerReference
		stays        bool
	}{
		{"here", "the owner exists", present, true},
		{"cluster-scoped", "an owner without a namespace may own objects in all namespaces", clusterRole, true},
		{"no-such-owner", "no object has the name of the owner",
			other(func(r *metav1.OwnerReference) { r.Name, r.UID = "none", "8b3d2b0e-8f2c-4c55-a3f3-7f1d7a0d8f10" }),
			false},
		{"other-uid", "the UID is that of an earlier object with the same name",
			other(func(r *metav1.OwnerReference) { r.UID = "8b3d2b0e-8f2c-4c55-a3f3-7f1d7a0d8f11" }), false},
		{"other-name", "the object with the UID has another name", other(func(r *metav1.OwnerReference) { r.Name = "other" }), false},
		{"other-kind", "the object with the UID has another kind", other(func(r *metav1.OwnerReference) { r.Kind = "Secret" }), false},
		{"other-namespace", "an owner owns nothing in another namespace", there, false},
		{"unknown-kind", "the kind may be served later",
			other(func(r *metav1.OwnerReference) { r.APIVersion, r.Kind = "example.com/v1", "Unknown" }), true},
	} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: test.name, OwnerReferences: []metav1.OwnerReference{test.owner}}}
		must(client.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), object, metav1.CreateOptions{}))(t)
		if test.stays {
			want[test.name] = test.owner.Name
		}
	}
	f.becomes(t, want)

	t.Run("the event for another namespace", func(t *testing.T) {
		eventually(t, func(ctx context.Context) error {
			events, err := client.CoreV1().Events(f.namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			var got []string
			for _, e := range events.Items {
				got = append(got, fmt.Sprintf("%s %s %s %s: %s", e.Source.Component, e.Type, e.InvolvedObject.Name, e.Reason, e.Message))
			}
			want := []string{fmt.Sprintf(`garbage-collector-controller Warning other-namespace OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: absent, name: there, uid: %s] does not exist in namespace "absent"`, there.UID)}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("events differ (-want +got):\n%s", diff)
			}
			return nil
		})
	})

	// A cluster-scoped object can't have an owner in a namespace, so the reference has no effect.
	t.Run("a cluster-scoped object", func(t *testing.T) {
		role.OwnerReferences = []metav1.OwnerReference{there}
		must(client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}))(t)
		elsewhere.delete(t, "there", metav1.DeletePropagationBackground)
		elsewhere.becomes(t, map[string]string{})
		f.delete(t, "present", metav1.DeletePropagationBackground)
		f.becomes(t, map[string]string{"cluster-scoped": role.Name, "unknown-kind": "present"})
		must(client.RbacV1().ClusterRoles().Get(t.Context(), role.Name, metav1.GetOptions{}))(t)
	})
}

// The garbage collector handles custom resources as owners and dependents as soon as their definition exists.
func TestGarbageCollectionOfCustomResources(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("garbagecollector"))
	define(t, srv, "widgets", "Widget", "v1", "v2")
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			name := strings.ToLower(string(policy))
			widgets := resources(srv, "example.com/v2", "widgets")
			owner := must(widgets.Create(t.Context(), object("example.com/v2", "Widget", name, nil), metav1.CreateOptions{}))(t)
			dependent := object("example.com/v2", "Widget", name+"-dependent", nil)
			dependent.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v2", Kind: "Widget", Name: name, UID: owner.GetUID(), BlockOwnerDeletion: new(true)}})
			must(widgets.Create(t.Context(), dependent, metav1.CreateOptions{}))(t)
			ok(t, widgets.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}))
			gone(t, name, func(ctx context.Context) (any, error) { return widgets.Get(ctx, name, metav1.GetOptions{}) })
			if policy != metav1.DeletePropagationOrphan {
				gone(t, "the dependent", func(ctx context.Context) (any, error) {
					return widgets.Get(ctx, dependent.GetName(), metav1.GetOptions{})
				})
				return
			}
			left := must(widgets.Get(t.Context(), dependent.GetName(), metav1.GetOptions{}))(t)
			if owners := left.GetOwnerReferences(); len(owners) > 0 || left.GetDeletionTimestamp() != nil {
				t.Errorf("want the dependent to stay without an owner, got %v, deleted %v", owners, left.GetDeletionTimestamp())
			}
		})
	}
}

// The owner of an object may be missing before a restore. If the restore brings back both, the collector doesn't delete
// the object. The order in which the objects are restored doesn't matter.
func TestRestoredObjectsStay(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withControllers("*"))
	f := newFamily(t, srv.Client(), "restored")
	want := map[string]string{"owner": ""}
	f.add(t, "owner")
	for i := range 40 {
		name := fmt.Sprint("child-", i)
		f.add(t, name, "owner!")
		want[name] = "owner"
	}
	all := func(ctx context.Context) (map[string]string, error) {
		state, err := f.state(ctx)
		maps.DeleteFunc(state, func(name, _ string) bool { return name == "kube-root-ca.crt" })
		return state, err
	}
	snapshot := must(srv.Snapshot())(t)
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		f.delete(t, "owner", policy)
		gone(t, "the owner", func(ctx context.Context) (any, error) {
			return srv.Client().CoreV1().ConfigMaps(f.namespace).Get(ctx, "owner", metav1.GetOptions{})
		})
		ok(t, srv.Restore(snapshot))
		// With the policy Foreground, the probe stays until the collector has handled its deletion. When the probe is
		// gone, the collector has handled all restored objects too.
		f.add(t, "probe", "owner")
		f.delete(t, "probe", metav1.DeletePropagationForeground)
		gone(t, "the probe", func(ctx context.Context) (any, error) {
			return srv.Client().CoreV1().ConfigMaps(f.namespace).Get(ctx, "probe", metav1.GetOptions{})
		})
		got := must(all(t.Context()))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after %s: objects and their owners differ (-want +got):\n%s", policy, diff)
		}
	}
	ok(t, srv.Client().CoreV1().Namespaces().Delete(t.Context(), f.namespace, metav1.DeleteOptions{}))
	namespaceGone(t, srv.Client(), f.namespace)
	ok(t, srv.Restore(snapshot))
	if got := slices.Sorted(maps.Keys(must(all(t.Context()))(t))); len(got) != len(want) {
		t.Errorf("want %d objects after the namespace is restored, got %v", len(want), got)
	}
	if n, err := srv.Client().CoreV1().Namespaces().Get(t.Context(), f.namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) || n.Status.Phase != corev1.NamespaceActive {
		t.Errorf("want the namespace to be active again, got %v, %v", n, err)
	}
}
