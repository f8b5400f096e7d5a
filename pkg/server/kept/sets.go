package kept

import (
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

const (
	// mostSets and mostBytes limit the number of sets and their total stored size. A process may generate objects without
	// end, and must not keep them all.
	mostSets  = 100
	mostBytes = 16 << 20
)

// Sets are sets of objects, each under a name: the objects that clients have made on a server since its start. Servers
// of a process share Sets, and change no object of a set. Above a limit, Sets drops the sets whose last use is the
// longest ago.
type Sets struct {
	byName *lru.Cache // of *set, by name
	mu     sync.Mutex
	size   int
}

// NewSets returns Sets without a set.
func NewSets() *Sets {
	s := &Sets{}
	s.byName = lru.NewWithEvictionFunc(mostSets, func(_ lru.Key, dropped any) { s.size -= dropped.(*set).size })
	return s
}

// set has the objects of one name in Sets, with the note and the total stored size of the objects.
type set struct {
	objects []keptObject
	note    any
	size    int
}

// keptObject is a stored object: its key, a template of its content, and its resource.
type keptObject struct {
	storage.Record
	storage.Template
	resource schema.GroupResource
}

// configures tells whether the object is a webhook configuration, an admission policy or a binding of a policy.
func (o keptObject) configures() bool { return o.resource.Group == admissionregistrationv1.GroupName }

func (s *Sets) get(name string) *set {
	found, _ := s.byName.Get(name)
	kept, _ := found.(*set)
	return kept
}

// add keeps a set under a name that has none yet. It doesn't keep a set that is larger than mostBytes.
func (s *Sets) add(name string, kept *set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept.size > mostBytes || s.get(name) != nil {
		return
	}
	s.byName.Add(name, kept)
	for s.size += kept.size; s.size > mostBytes; {
		s.byName.RemoveOldest()
	}
}
