package garbage

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// recorded is a graph, with the UIDs that it has passed to remove, orphan and retry.
type recorded struct {
	*graph
	asked []string
}

func newRecorded() *recorded {
	r := &recorded{graph: newGraph()}
	ask := func(what string) func(types.UID) {
		return func(uid types.UID) { r.asked = append(r.asked, what+" "+string(uid)) }
	}
	r.remove, r.orphan, r.retry = ask("consider"), ask("orphan"), ask("retry")
	r.misplaced = func(dependent identity, owner metav1.OwnerReference) {
		r.asked = append(r.asked, "report "+string(dependent.UID)+" of "+string(owner.UID))
	}
	return r
}

var mapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// an returns an object. Its name and its UID are the same.
func an(name string, owners ...metav1.OwnerReference) objects.Object {
	return objects.Object{Kind: mapKind, Namespace: "ns", Name: name, UID: types.UID(name), Owners: owners}
}

func of(owner string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: types.UID(owner)}
}

func blocking(owner string) metav1.OwnerReference {
	r := of(owner)
	r.BlockOwnerDeletion = new(true)
	return r
}

func changed[T any](of T, change func(*T)) T {
	change(&of)
	return of
}

func TestGraph(t *testing.T) {
	t.Parallel()
	deleting := func(o *objects.Object) { o.Deleting, o.Foreground = true, true }
	for _, test := range []struct {
		name, reason string
		do           func(*recorded)
		want         []string
	}{
		{"owner, dependent", "an owner that exists needs no check", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", of("owner")))
		}, nil},
		{"dependent, owner", "an owner without events may not exist", func(g *recorded) {
			g.Stored(an("child", of("owner")))
			g.Stored(an("owner"))
		}, []string{"consider owner"}},
		{"owner deleted", "the dependents may have to be deleted", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", of("owner")))
			g.Deleted(an("owner"))
		}, []string{"consider child"}},
		{"owner in the foreground", "the dependents are deleted first", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", blocking("owner")))
			g.Stored(changed(an("owner"), deleting))
			g.Stored(changed(an("owner"), deleting))
		}, []string{"consider child", "consider owner"}},
		{"blocking dependent deleted", "the owner may have no blocking dependents any more", func(g *recorded) {
			g.Stored(changed(an("owner"), deleting))
			g.Stored(an("child", blocking("owner")))
			g.Deleted(an("child"))
		}, []string{"consider owner", "consider owner"}},
		{"dependent stops blocking", "the owner may have no blocking dependents any more", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", blocking("owner")))
			g.Stored(an("child", of("owner")))
		}, []string{"consider owner"}},
		{"dependent drops its owner", "the owner may have no blocking dependents any more", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", blocking("owner")))
			g.Stored(an("child"))
			g.Deleted(an("owner"))
		}, []string{"consider owner"}},
		{"orphan", "dependents are orphaned once", func(g *recorded) {
			orphan := func(o *objects.Object) { o.Deleting, o.Orphan = true, true }
			g.Stored(an("owner"))
			g.Stored(changed(an("owner"), orphan))
			g.Stored(changed(an("owner"), orphan))
		}, []string{"orphan owner"}},
		{"restored", "the deletion begins anew", func(g *recorded) {
			g.Stored(changed(an("owner"), deleting))
			g.Stored(an("owner"))
			g.Stored(changed(an("owner"), deleting))
		}, []string{"consider owner", "consider owner"}},
		{"owner elsewhere", "users get an event about an owner in another namespace", func(g *recorded) {
			g.Stored(changed(an("owner"), func(o *objects.Object) { o.Namespace = "elsewhere" }))
			g.Stored(an("child", of("owner")))
		}, []string{"report child of owner", "consider child"}},
		{"owner elsewhere, seen later", "users get an event when the owner's namespace is known", func(g *recorded) {
			g.Stored(an("child", of("owner")))
			g.Stored(changed(an("owner"), func(o *objects.Object) { o.Namespace = "elsewhere" }))
		}, []string{"consider owner", "report child of owner", "consider child"}},
		{"another version", "a reference with another version means the same owner", func(g *recorded) {
			g.Stored(changed(an("owner"), func(o *objects.Object) { o.Kind = schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"} }))
			g.Stored(an("child", changed(of("owner"), func(r *metav1.OwnerReference) { r.APIVersion, r.Kind = "g/v2", "K" })))
		}, nil},
		{"another kind", "the reference may be wrong", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", changed(of("owner"), func(r *metav1.OwnerReference) { r.Kind = "Secret" })))
		}, []string{"consider child"}},
		{"absent owner", "the dependents of an absent owner may have to be deleted", func(g *recorded) {
			g.Stored(an("child", of("owner")))
			g.missed(referred(of("owner"), "ns"))
		}, []string{"consider owner", "consider child"}},
		{"absent as one, present as another", "the collector reads the owner by the identity of each reference", func(g *recorded) {
			g.Stored(an("right", of("owner")))
			g.Stored(an("wrong", changed(of("owner"), func(r *metav1.OwnerReference) { r.Kind = "Secret" })))
			g.missed(referred(of("owner"), "ns"))
		}, []string{"consider owner", "consider wrong", "consider right", "retry owner"}},
		{"missed, but seen as another", "the object stays in the graph", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("wrong", changed(of("owner"), func(r *metav1.OwnerReference) { r.Kind = "Secret" })))
			g.missed(changed(referred(of("owner"), "ns"), func(i *identity) { i.Kind = "Secret" }))
			g.Deleted(an("owner"))
		}, []string{"consider wrong", "consider wrong", "consider wrong"}},
		{"restored owner", "a restored snapshot has an owner again whose dependents were never deleted", func(g *recorded) {
			g.Stored(an("owner"))
			g.Stored(an("child", of("owner")))
			g.Deleted(an("owner"))
			g.Stored(an("owner"))
			g.ownersRestored()
			g.Deleted(an("owner"))
		}, []string{"consider child", "consider child"}},
		{"not listed again", "an object that isn't in the list may be deleted", func(g *recorded) {
			g.Stored(an("kept"))
			g.Stored(an("lost"))
			g.Listed(sets.New[types.UID]("kept"))
		}, []string{"consider lost"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newRecorded()
			test.do(g)
			if diff := cmp.Diff(test.want, g.asked); diff != "" {
				t.Errorf("%s: what is asked for differs (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The graph forgets deleted objects with their references, and owners that don't exist.
func TestGraphForgets(t *testing.T) {
	t.Parallel()
	g := newRecorded()
	g.Stored(an("child", of("owner"), of("other")))
	g.Stored(an("owner"))
	g.Deleted(an("owner"))
	g.Deleted(an("child"))
	g.missed(referred(of("other"), "ns"))
	if len(g.nodes) > 0 {
		t.Errorf("want an empty graph, got %v", g.nodes)
	}
}

// If dependents refer to one owner by different identities, the graph tries all these identities in
// turn.
func TestAnotherIdentity(t *testing.T) {
	t.Parallel()
	var dependents []*node
	for _, kind := range []string{"C", "A", "B"} {
		r := of("owner")
		r.Kind = kind
		dependents = append(dependents, &node{identity: identity{Namespace: "ns"}, owners: []metav1.OwnerReference{r}})
	}
	at := changed(referred(of("owner"), "ns"), func(i *identity) { i.Kind = "A" })
	var tried []string
	for range 4 {
		at = *another(dependents, at)
		tried = append(tried, at.Kind)
	}
	if want := []string{"B", "C", "A", "B"}; !slices.Equal(tried, want) {
		t.Errorf("want %v to be tried, got %v", want, tried)
	}
}
