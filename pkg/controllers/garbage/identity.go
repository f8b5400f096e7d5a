package garbage

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
)

// identity is the kind, the namespace, the name and the UID of an object. It comes from the object itself or from
// an owner reference. A reference has no namespace: its owner is in the namespace of the dependent, or in none.
type identity struct {
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
}

func identityOf(o objects.Object) identity {
	apiVersion, kind := o.Kind.ToAPIVersionAndKind()
	return identity{apiVersion, kind, o.Namespace, o.Name, o.UID}
}

// referred returns the identity of the owner to which an object in the namespace refers.
func referred(r metav1.OwnerReference, namespace string) identity {
	return identity{r.APIVersion, r.Kind, namespace, r.Name, r.UID}
}

// String formats the identity as kube-controller-manager does in its events.
func (i identity) String() string {
	return fmt.Sprintf("[%s/%s, namespace: %s, name: %s, uid: %s]", i.APIVersion, i.Kind, i.Namespace, i.Name, i.UID)
}

func (i identity) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(i.APIVersion, i.Kind)
}

func (i identity) in(namespace string) identity {
	i.Namespace = namespace
	return i
}

// isReferredBy reports whether a reference has the version, kind, name and UID of the identity.
func (i identity) isReferredBy(r metav1.OwnerReference) bool {
	return i == referred(r, i.Namespace)
}

// isMeantBy reports whether a reference has the group, kind, name and UID of the identity. The versions may differ,
// because a reference may use another version of the kind than the stored object.
func (i identity) isMeantBy(r metav1.OwnerReference) bool {
	return r.UID == i.UID && r.Name == i.Name &&
		schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind() == i.groupVersionKind().GroupKind()
}

// compare orders identities, first by their kinds. References may give several identities to the same object.
func (i identity) compare(other identity) int {
	return cmp.Or(
		cmp.Compare(i.Kind, other.Kind), cmp.Compare(i.APIVersion, other.APIVersion),
		cmp.Compare(i.Namespace, other.Namespace), cmp.Compare(i.Name, other.Name), cmp.Compare(i.UID, other.UID),
	)
}

// partition divides dependents into two lists: dependents that refer to an owner by the identity in the argument owner,
// and dependents that refer to this owner by another identity. A dependent with several references may be in both lists.
func partition(dependents []*node, owner identity) (matching, others []*node) {
	for _, d := range dependents {
		matches, differs := false, owner.Namespace != "" && d.Namespace != owner.Namespace
		if !differs {
			for _, r := range d.owners {
				if r.UID != owner.UID {
					continue
				}
				if owner.isReferredBy(r) {
					matches = true
				} else {
					differs = true
				}
			}
		}
		if matches {
			matching = append(matching, d)
		}
		if differs {
			others = append(others, d)
		}
	}
	return matching, others
}

// another returns another identity by which dependents refer to the owner absent, or nil if there is none. In the order
// of compare, it is the next identity after absent, or else the first one.
func another(dependents []*node, absent identity) *identity {
	var first, next *identity
	for _, d := range dependents {
		for _, r := range d.owners {
			if r.UID != absent.UID || absent.isReferredBy(r) && (absent.Namespace == "" || absent.Namespace == d.Namespace) {
				continue
			}
			id := referred(r, d.Namespace)
			if absent.Namespace == "" && id.APIVersion == absent.APIVersion && id.Kind == absent.Kind {
				id.Namespace = "" // a request has shown that the kind isn't namespaced
			}
			if first == nil || id.compare(*first) < 0 {
				first = &id
			}
			if absent.compare(id) < 0 && (next == nil || id.compare(*next) < 0) {
				next = &id
			}
		}
	}
	if next != nil {
		return next
	}
	return first
}
