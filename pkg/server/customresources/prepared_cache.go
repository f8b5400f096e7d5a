package customresources

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// mostPrepared is the number of definitions after which Prepared drops all of them. A process may generate definitions
// without end, and must not keep them all.
const mostPrepared = 1000

// Prepared caches the final states of definitions: the states after an apply request and the work of the controllers.
// The servers of a process share a Prepared, and must not change its elements. The zero value is ready for use.
type Prepared struct {
	mu        sync.Mutex
	byContent map[content]func() *prepared
}

// content is a key of the cache: a definition before preparation, its field manager, and the settings (feature gates
// and versions) of the server. Servers with other settings may store another state.
type content struct{ settings, manager, given string }

// of returns the final state of a definition. The first caller prepares it; the other callers wait for the result.
func (p *Prepared) of(settings, manager string, given []byte, prepare func() *prepared) *prepared {
	return p.get(settings, manager, given, prepare)()
}

func (p *Prepared) get(settings, manager string, given []byte, prepare func() *prepared) func() *prepared {
	p.mu.Lock()
	defer p.mu.Unlock()
	// The lookup doesn't copy the given definition, and takes a tenth of the time that a cryptographic hash of the
	// definition would take.
	if found := p.byContent[content{settings, manager, string(given)}]; found != nil {
		return found
	}
	if len(p.byContent)%mostPrepared == 0 {
		p.byContent = map[content]func() *prepared{}
	}
	once := sync.OnceValue(prepare)
	p.byContent[content{settings, manager, string(given)}] = once
	return once
}

// prepared is a definition in its final state, in two forms: as etcd stores it, and as informers have it. It is nil for
// a definition that only a request can create.
type prepared struct {
	crd      *apiextensionsv1.CustomResourceDefinition
	encoded  storage.Template
	warnings []string
}

// copy returns the definition for one server, in the form for informers and in the form for etcd. The copy has a UID of
// its own, and all its times are the argument now. All copies share one spec, so callers must not change the spec.
func (p *prepared) copy(now metav1.Time) (*apiextensionsv1.CustomResourceDefinition, []byte, error) {
	crd, uid := *p.crd, uuid.NewUUID()
	return &crd, p.encoded.Copy(uid, now.Time), storage.Renew(&crd, uid, now)
}
