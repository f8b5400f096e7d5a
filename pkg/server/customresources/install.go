package customresources

import (
	"context"
	"path"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// preparing is the maximum number of CustomResourceDefinitions whose final state is computed at the same time. The
// computation mostly needs processor time.
const preparing = 4

// Installation has definitions to store before the informers start. The stored definitions are the same as after apply
// requests by FieldManager.
type Installation struct {
	// Definitions are in JSON, one in each element.
	Definitions [][]byte
	// Prepared caches the definitions in the form in which they are stored. The servers of a process share it, to
	// compute this form only once. Servers with other Settings (feature gates and versions) may store another form.
	Prepared *Prepared
	Settings string
	// FieldManager is the manager of the fields of the definitions.
	FieldManager string
}

// Installed is a definition that Install has stored.
type Installed struct {
	// Index is the index of the definition in Installation.Definitions.
	Index int
	// Warnings are the warnings that a client would have got if it had applied the definition.
	Warnings []string
}

// Install stores definitions in an embedded etcd that has none yet. It stores each definition in the final state: as
// after an apply request and the work of the controllers. If the final state of a definition isn't certain, Install
// leaves the definition out, and the caller must apply it by a request. With an external etcd, or if --runtime-config
// turns the API of definitions off, Install leaves out all definitions. Informers start after Install, and find the
// definitions in their first list.
func (r *Resources) Install(ctx context.Context, i Installation) ([]Installed, error) {
	if r.member == nil || r.preparer == nil {
		return nil, nil
	}
	all, err := r.prepareAll(ctx, i)
	if err != nil {
		return nil, err
	}
	feed, now := r.feed(), metav1.Now().Rfc3339Copy()
	var installed []Installed
	var crds []*apiextensionsv1.CustomResourceDefinition
	var records []storage.Record
	for index, p := range withoutConflicts(all) {
		if p == nil {
			continue
		}
		crd, data, err := p.copy(now)
		if err != nil {
			return nil, err
		}
		record, err := feed.Record(ctx, "", crd.Name, data)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
		crds = append(crds, crd)
		installed = append(installed, Installed{index, p.warnings})
	}
	if err := r.member.Keys().Create(ctx, records); err != nil {
		return nil, err
	}
	for n, crd := range crds {
		if err := storage.SetRevision(crd, records[n].Revision()); err != nil {
			return nil, err
		}
		r.installed.add(crd)
	}
	return installed, nil
}

// prepareAll returns the definitions in their final state. An element is nil if only a request can create the
// definition.
func (r *Resources) prepareAll(ctx context.Context, i Installation) ([]*prepared, error) {
	all := make([]*prepared, len(i.Definitions))
	preparer := sync.OnceValues(r.preparer)
	var group errgroup.Group
	group.SetLimit(preparing)
	for index, given := range i.Definitions {
		group.Go(func() error {
			var failed error
			all[index] = i.Prepared.of(i.Settings, i.FieldManager, given, func() *prepared {
				p, err := preparer()
				if err != nil {
					failed = err
					return nil
				}
				// Other servers use the result, so the end of this server's context must not interrupt the work.
				return p.prepare(context.WithoutCancel(ctx), given, managers{i.FieldManager, r.statusManager})
			})
			return failed
		})
	}
	return all, group.Wait()
}

func (r *Resources) feed() *storage.Feed { return r.member.Feed(Definitions.GroupResource()) }

// installed has the definitions that Install has stored, in the form that informers have. The zero value is ready for
// use.
type installed struct {
	mu     sync.Mutex
	byName map[string]*apiextensionsv1.CustomResourceDefinition
}

func (i *installed) add(crd *apiextensionsv1.CustomResourceDefinition) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byName == nil {
		i.byName = map[string]*apiextensionsv1.CustomResourceDefinition{}
	}
	i.byName[crd.Name] = crd
}

// take returns the definition that Install has stored at the etcd revision. It returns nil for another revision, and
// in a second call for the same name.
func (i *installed) take(name string, revision int64) *apiextensionsv1.CustomResourceDefinition {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := i.byName[name]
	delete(i.byName, name)
	if found == nil || found.ResourceVersion != strconv.FormatInt(revision, 10) {
		return nil
	}
	return found
}

// decoding returns the feed with a decoder that saves work. The decoder doesn't decode a definition that Install has
// stored, because r.installed has the decoded definition. It also doesn't decode a spec that r.specs has.
func (r *Resources) decoding(feed *storage.Feed) *storage.Feed {
	if feed == nil {
		return nil
	}
	return feed.Decoding(storage.Decoder{
		Known: func(key string, revision int64) runtime.Object {
			if crd := r.installed.take(path.Base(key), revision); crd != nil {
				return crd
			}
			return nil
		},
		Decode: func(data []byte, revision int64) (runtime.Object, error) {
			crd, err := r.specs.decodeServed(data, func(rest []byte) (runtime.Object, error) { return feed.Decode(rest, revision) })
			if crd != nil || err != nil {
				return crd, err
			}
			return feed.Decode(data, revision)
		},
	})
}
