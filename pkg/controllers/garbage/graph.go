package garbage

import (
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// absentOwners is the largest number of absent owners that the graph remembers. The collector makes no request for
// an owner that the graph remembers as absent.
const absentOwners = 500

// node is an object in the graph, with its dependents.
type node struct {
	identity
	owners     []metav1.OwnerReference
	dependents map[*node]struct{}
	// virtual is true for an owner that no event has reported: only references of its dependents name the owner.
	// The identity of the node comes from one of these references, and may be wrong.
	virtual bool
	// deleting, orphan and foreground are the fields of the same name of objects.Object.
	deleting, orphan, foreground bool
	// waits is true if the object is being deleted with the policy Foreground and waits for its dependents.
	waits bool
}

// graph has a node for each object, and for each owner that an object names. It implements objects.Handler to get
// the events of objects.
type graph struct {
	// The graph calls these functions with the UID of an object. remove checks whether the object must be deleted.
	// orphan removes the references to the object from its dependents. retry does the same as remove, after a
	// delay.
	remove, orphan, retry func(types.UID)
	// misplaced is called with a dependent that refers to an owner in another namespace.
	misplaced func(dependent identity, owner metav1.OwnerReference)
	absent    *lru.Cache // the identities of owners that don't exist

	mu    sync.Mutex
	nodes map[types.UID]*node
}

var _ objects.Handler = &graph{}

func newGraph() *graph { return &graph{absent: lru.New(absentOwners), nodes: map[types.UID]*node{}} }

// isAbsent reports whether the graph remembers that an owner doesn't exist.
func (g *graph) isAbsent(owner identity) bool {
	_, ok := g.absent.Get(owner)
	return ok
}

// setAbsent remembers that an owner doesn't exist.
func (g *graph) setAbsent(owner identity) { g.absent.Add(owner, nil) }

// Stored implements objects.Handler.
func (g *graph) Stored(o objects.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, found := g.nodes[o.UID]
	var before node
	if found {
		before = *n
		g.observe(n, identityOf(o))
		g.replaceOwners(n, o.Owners)
	} else {
		n = &node{identity: identityOf(o), owners: o.Owners}
		g.nodes[o.UID] = n
		g.addToOwners(n, n.owners)
	}
	n.deleting, n.orphan, n.foreground = o.Deleting, o.Orphan, o.Foreground
	n.waits = n.waits && o.Deleting
	if !o.Deleting {
		return
	}
	begins := !before.deleting
	switch {
	case o.Orphan && (begins || !before.orphan):
		g.orphan(n.UID)
	case o.Foreground && (begins || !before.foreground):
		n.waits = true
		g.removeAll(maps.Keys(n.dependents))
		g.remove(n.UID)
	}
}

// observe records that an owner with the identity seen exists, if until now only references named the owner. If the
// graph had another identity for the owner, the collector checks the dependents that don't refer to the identity seen,
// because their owner may not exist.
func (g *graph) observe(n *node, seen identity) {
	if !n.virtual {
		return
	}
	n.virtual = false
	if n.identity == seen {
		return
	}
	_, others := partition(slices.Collect(maps.Keys(n.dependents)), seen)
	for _, d := range others {
		if seen.Namespace != "" && d.Namespace != seen.Namespace {
			g.reportMisplaced(d, seen.UID)
		}
		g.remove(d.UID)
	}
	n.identity = seen
}

func (g *graph) reportMisplaced(dependent *node, owner types.UID) {
	i := slices.IndexFunc(dependent.owners, func(r metav1.OwnerReference) bool { return r.UID == owner })
	if i >= 0 {
		g.misplaced(dependent.identity, dependent.owners[i])
	}
}

// replaceOwners replaces the owners of an object. If the object no longer blocks the deletion of an owner, the
// collector checks that owner.
func (g *graph) replaceOwners(n *node, owners []metav1.OwnerReference) {
	before := byUID(n.owners)
	after := byUID(owners)
	if maps.EqualFunc(before, after, equalReferences) {
		return
	}
	var added []metav1.OwnerReference
	for uid, r := range after {
		if _, ok := before[uid]; !ok {
			added = append(added, r)
		}
	}
	n.owners = owners
	for uid, r := range before {
		now, kept := after[uid]
		if owner := g.nodes[uid]; owner != nil {
			if !kept {
				delete(owner.dependents, n)
			}
			if blocks(r) && (!kept || !blocks(now)) {
				g.remove(uid)
			}
		}
	}
	g.addToOwners(n, added)
}

func byUID(owners []metav1.OwnerReference) map[types.UID]metav1.OwnerReference {
	if len(owners) == 0 {
		return nil
	}
	references := make(map[types.UID]metav1.OwnerReference, len(owners))
	for _, r := range owners {
		references[r.UID] = r
	}
	return references
}

func equalReferences(a, b metav1.OwnerReference) bool {
	return referred(a, "") == referred(b, "") && blocks(a) == blocks(b)
}

// blocks reports whether a reference blocks the deletion of its owner with the policy Foreground.
func blocks(r metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// addToOwners adds an object to the dependents of its owners. If the graph has no node for an owner, the collector
// checks that owner, because it may not exist. If a reference has another identity than the node of its owner, the
// collector checks the object with the reference.
func (g *graph) addToOwners(n *node, owners []metav1.OwnerReference) {
	doubtful := false
	for _, r := range owners {
		owner, found := g.nodes[r.UID]
		if !found {
			owner = &node{identity: referred(r, n.Namespace), virtual: true}
			g.nodes[r.UID] = owner
		}
		owner.add(n)
		switch {
		case !found:
			g.remove(r.UID)
		case doubtful:
		case owner.Namespace != "" && owner.Namespace != n.Namespace:
			if !owner.virtual {
				g.misplaced(n.identity, r)
			}
			doubtful = true
		case owner.virtual && !owner.isReferredBy(r), !owner.isMeantBy(r):
			doubtful = true
		case owner.virtual && owner.Namespace != n.Namespace:
			doubtful = true // if the owner's kind is namespaced, the reference of n is wrong
		}
	}
	if doubtful {
		g.remove(n.UID)
	}
}

func (g *graph) removeAll(nodes func(func(*node) bool)) {
	for n := range nodes {
		g.remove(n.UID)
	}
}

// Deleted implements objects.Handler.
func (g *graph) Deleted(o objects.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n, found := g.nodes[o.UID]; found {
		g.delete(n, identityOf(o))
	}
}

// Listed implements objects.Handler. The collector checks each object that isn't in the list, because it may be gone,
// or belong to another source.
func (g *graph) Listed(all sets.Set[types.UID]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid, n := range g.nodes {
		if !n.virtual && !all.Has(uid) {
			n.deleting = false // the check must not skip the object because it was being deleted
			g.remove(uid)
		}
	}
}

// delete removes an object from the graph. The collector then checks the object's dependents, and the owners that wait
// for the object's deletion.
func (g *graph) delete(n *node, last identity) {
	delete(g.nodes, n.UID)
	for _, r := range n.owners {
		if owner := g.nodes[r.UID]; owner != nil {
			delete(owner.dependents, n)
			if owner.waits {
				g.remove(owner.UID)
			}
		}
	}
	if len(n.dependents) > 0 {
		g.setAbsent(last)
	}
	g.removeAll(maps.Keys(n.dependents))
}

// ownersRestored must be called when deleted owners may be stored again, with the same UIDs. When an owner was deleted, the
// graph dropped its node, which had its dependents.
func (g *graph) ownersRestored() {
	g.absent.Clear()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		for _, r := range n.owners {
			if owner := g.nodes[r.UID]; owner != nil {
				owner.add(n)
			}
		}
	}
}

// add adds a dependent to an owner.
func (n *node) add(dependent *node) {
	if n.dependents == nil {
		n.dependents = map[*node]struct{}{}
	}
	n.dependents[dependent] = struct{}{}
}

// missed records that a request for the object with the identity absent didn't find the object.
func (g *graph) missed(absent identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, found := g.nodes[absent.UID]
	if !found {
		return
	}
	matching, others := partition(slices.Collect(maps.Keys(n.dependents)), absent)
	switch {
	case n.virtual && len(others) == 0, !n.virtual && n.identity == absent:
		g.delete(n, absent)
		return
	case len(matching) > 0:
		g.setAbsent(absent)
		g.removeAll(slices.Values(matching))
	}
	if n.virtual && n.identity == absent {
		// Other dependents refer to the owner by other identities, so the collector tries the next identity.
		if id := another(others, absent); id != nil {
			n.identity = *id
			g.retry(n.UID)
		}
	}
}

// view returns a copy of the node of an object, without its dependents. It returns false if the graph has no such node.
func (g *graph) view(uid types.UID) (node, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, found := g.nodes[uid]
	if !found {
		return node{}, false
	}
	copied := *n
	copied.dependents = nil
	return copied, true
}

// dependents returns copies of the dependents of an object.
func (g *graph) dependents(uid types.UID) []node {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, found := g.nodes[uid]
	if !found {
		return nil
	}
	dependents := make([]node, 0, len(n.dependents))
	for d := range n.dependents {
		copied := *d
		copied.dependents = nil
		dependents = append(dependents, copied)
	}
	return dependents
}

// blocks reports whether the object blocks the deletion of the owner with the policy Foreground.
func (n *node) blocks(owner types.UID) bool {
	return slices.ContainsFunc(n.owners, func(r metav1.OwnerReference) bool { return r.UID == owner && blocks(r) })
}
