package customresources

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
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
	data     []byte
	warnings []string
	// uids and times are the positions in data of the values that differ from server to server.
	uids, times []int
}

// placeholders are the values of a prepared definition in the places where servers have different values. They are
// random, so that no definition before preparation contains them.
type placeholders struct {
	uid  types.UID
	time metav1.Time
}

func newPlaceholders() placeholders {
	const thousands = 100_000_000_000 // an unusual time: 3,000 years are about 100,000,000,000 seconds
	return placeholders{uuid.NewUUID(), metav1.Unix(thousands+rand.Int64N(thousands), 0)}
}

// newPrepared records the positions of the placeholders in the encoded definition.
func newPrepared(crd *apiextensionsv1.CustomResourceDefinition, data []byte, warnings []string, p placeholders) *prepared {
	return &prepared{
		crd: crd, data: data, warnings: warnings,
		uids: placesOf(data, string(p.uid)), times: placesOf(data, p.time.UTC().Format(time.RFC3339)),
	}
}

func placesOf(data []byte, text string) []int {
	var places []int
	for from := 0; ; {
		at := bytes.Index(data[from:], []byte(text))
		if at < 0 {
			return places
		}
		places = append(places, from+at)
		from += at + len(text)
	}
}

// copy returns the definition for one server, in the form for informers and in the form for etcd. The copy has a UID of
// its own, and all its times are the argument now. All copies share one spec, so callers must not change the spec.
func (p *prepared) copy(now metav1.Time) (*apiextensionsv1.CustomResourceDefinition, []byte) {
	uid, data := uuid.NewUUID(), bytes.Clone(p.data)
	for _, at := range p.uids {
		copy(data[at:], uid)
	}
	for _, at := range p.times {
		copy(data[at:], now.UTC().Format(time.RFC3339))
	}
	crd := *p.crd
	crd.UID = uid
	setTimes(&crd.ObjectMeta, now)
	crd.Status.Conditions = slices.Clone(crd.Status.Conditions)
	for i := range crd.Status.Conditions {
		crd.Status.Conditions[i].LastTransitionTime = now
	}
	return &crd, data
}

// setTimes sets the creation time of an object and the times of its managed fields.
func setTimes(meta *metav1.ObjectMeta, now metav1.Time) {
	meta.CreationTimestamp = now
	meta.ManagedFields = slices.Clone(meta.ManagedFields)
	for i := range meta.ManagedFields {
		meta.ManagedFields[i].Time = &now
	}
}
