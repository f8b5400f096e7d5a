package customresources

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// mostPrepared is the number of definitions after which Prepared begins anew: a process may make up definitions without
// end.
const mostPrepared = 1000

// Prepared are definitions in the form in which servers store them, by what was given. Servers of a process share them:
// nothing changes what is prepared. The zero value is ready for use.
type Prepared struct {
	mu        sync.Mutex
	byContent map[content]func() *prepared
}

// content is a definition that was given to a server. Servers with other settings, which are feature gates and versions,
// may store something else.
type content struct {
	settings, manager string
	sum               [sha256.Size]byte
}

// of returns the form of a definition, which the first caller prepares.
func (p *Prepared) of(key content, prepare func() *prepared) *prepared {
	return p.get(key, prepare)()
}

func (p *Prepared) get(key content, prepare func() *prepared) func() *prepared {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found := p.byContent[key]; found != nil {
		return found
	}
	if len(p.byContent)%mostPrepared == 0 {
		p.byContent = map[content]func() *prepared{}
	}
	p.byContent[key] = sync.OnceValue(prepare)
	return p.byContent[key]
}

// prepared is a definition as it is stored and as informers have it. It is nil for a definition that requests must
// create.
type prepared struct {
	crd      *apiextensionsv1.CustomResourceDefinition
	data     []byte
	warnings []string
	// uids and times are where data has what differs from server to server.
	uids, times []int
}

// placeholders stand for what differs from server to server. They are random, so that no definition has them itself.
type placeholders struct {
	uid  types.UID
	time metav1.Time
}

func newPlaceholders() placeholders {
	const thousands = 100_000_000_000 // seconds, about 3,000 years
	return placeholders{uuid.NewUUID(), metav1.Unix(thousands+rand.Int64N(thousands), 0)}
}

// newPrepared notes where the encoded definition has the placeholders.
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

// copy returns the definition for one server, with a UID of its own and created now. The copies share their specs, which
// are for reading alone.
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

// setTimes sets when an object was created and its fields were set.
func setTimes(meta *metav1.ObjectMeta, now metav1.Time) {
	meta.CreationTimestamp = now
	meta.ManagedFields = slices.Clone(meta.ManagedFields)
	for i := range meta.ManagedFields {
		meta.ManagedFields[i].Time = &now
	}
}
