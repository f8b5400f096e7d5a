package kept

import (
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

const (
	// mostSets and mostBytes limit the number of sets and their total stored size. When a new set would exceed a limit,
	// Sets drops all earlier sets. A process may generate objects without end, and must not keep them all. A set that is
	// larger than mostBytes isn't kept.
	mostSets  = 100
	mostBytes = 16 << 20
)

// Sets are sets of objects, each under a name: the objects that clients have made on a server since its start. Servers
// of a process share Sets, and change no object of a set. The zero value is ready for use.
type Sets struct {
	mu     sync.Mutex
	byName map[string]*set
	size   int
}

// set has the objects of one name in Sets, with the note and the total stored size of the objects.
type set struct {
	objects []keptObject
	note    any
	size    int
}

// keptObject is a stored object. The Record has its key, and the Object has its decoded content.
type keptObject struct {
	storage.Record
	runtime.Object
}

func (o keptObject) resource() schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	return plural.GroupResource()
}

// configures tells whether the object is a webhook configuration, an admission policy or a binding of a policy.
func (o keptObject) configures() bool { return o.resource().Group == admissionregistrationv1.GroupName }

func (s *Sets) get(name string) *set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

func (s *Sets) add(name string, kept *set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name] != nil || kept.size > mostBytes {
		return
	}
	if s.byName == nil || len(s.byName) == mostSets || s.size+kept.size > mostBytes {
		s.byName, s.size = map[string]*set{}, 0
	}
	s.byName[name] = kept
	s.size += kept.size
}
