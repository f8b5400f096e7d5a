package customresources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"path"
	"sync"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// preparing is how many definitions are prepared at once, which is work for the processors.
const preparing = 4

// Installation are definitions to store before the informers start, as if FieldManager had applied them.
type Installation struct {
	// Definitions are in JSON.
	Definitions [][]byte
	// Prepared is shared with other servers of the process. Those of servers with the same Settings are used.
	Prepared *Prepared
	Settings string
	// FieldManager applies the definitions, and StatusManager is that of the controllers.
	FieldManager, StatusManager string
}

// Installed is a definition of an Installation that is stored.
type Installed struct {
	// Index is that of the definition in the Installation.
	Index int
	// Warnings are those that the answer to a request would have had.
	Warnings []string
}

// Install stores definitions in an embedded etcd that has none, each in one write, as requests and the controllers would
// leave them. Install leaves out those about which that isn't certain: requests must create them. Informers, which
// haven't started, find the definitions in their first list.
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
	var records []storage.Record
	for index, p := range withoutConflicts(all) {
		if p == nil {
			continue
		}
		crd, data := p.copy(now)
		record, err := feed.EncodedRecord(ctx, "", crd.Name, data)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
		installed = append(installed, Installed{index, p.warnings})
		r.installed.add(crd, data)
	}
	return installed, r.member.Create(ctx, records)
}

// prepareAll returns the forms of the definitions, nil for those that requests must create.
func (r *Resources) prepareAll(ctx context.Context, i Installation) ([]*prepared, error) {
	all := make([]*prepared, len(i.Definitions))
	preparer := sync.OnceValues(r.preparer)
	var group errgroup.Group
	group.SetLimit(preparing)
	for index, given := range i.Definitions {
		group.Go(func() error {
			var failed error
			all[index] = i.Prepared.of(content{i.Settings, i.FieldManager, sha256.Sum256(given)}, func() *prepared {
				p, err := preparer()
				if err != nil {
					failed = err
					return nil
				}
				// Other servers have the result, too.
				return p.prepare(context.WithoutCancel(ctx), given, managers{i.FieldManager, i.StatusManager})
			})
			return failed
		})
	}
	return all, group.Wait()
}

func (r *Resources) feed() *storage.Feed { return r.member.Feed(definitionsResource.GroupResource()) }

// installed are the definitions that were stored by Install, as informers have them. The zero value is ready for use.
type installed struct {
	mu     sync.Mutex
	byName map[string]installedDefinition
	// structural are the UIDs of definitions whose first specs have been found to be structural.
	structural map[types.UID]struct{}
}

type installedDefinition struct {
	crd  *apiextensionsv1.CustomResourceDefinition
	data []byte
}

func (i *installed) add(crd *apiextensionsv1.CustomResourceDefinition, data []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byName == nil {
		i.byName, i.structural = map[string]installedDefinition{}, map[types.UID]struct{}{}
	}
	i.byName[crd.Name] = installedDefinition{crd, data}
	i.structural[crd.UID] = struct{}{}
}

// take returns the definition that was installed under a name, once, if it is stored as it was.
func (i *installed) take(name string, data []byte) *apiextensionsv1.CustomResourceDefinition {
	i.mu.Lock()
	defer i.mu.Unlock()
	found := i.byName[name]
	delete(i.byName, name)
	if !bytes.Equal(found.data, data) {
		return nil
	}
	return found.crd
}

// isStructural reports whether the schemas of a definition have been found to be structural.
func (i *installed) isStructural(crd *apiextensionsv1.CustomResourceDefinition) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, known := i.structural[crd.UID]
	return known && crd.Generation == 1
}

// decoding returns the feed of definitions in v1. Definitions that Install has stored need no decoding.
func (i *installed) decoding(feed *storage.Feed) *storage.Feed {
	if feed == nil {
		return nil
	}
	return feed.Decoding(func(key string, data []byte, revision int64) (runtime.Object, error) {
		if crd := i.take(path.Base(key), data); crd != nil {
			return crd, storage.SetRevision(crd, revision)
		}
		return feed.Decode(data, revision)
	})
}

// unknown is the informer of definitions for the controller that looks for schemas that aren't structural. Its handlers
// aren't told of the definitions whose schemas are known to be.
type unknown struct {
	crdinformers.CustomResourceDefinitionInformer
	installed *installed
}

// Informer implements crdinformers.CustomResourceDefinitionInformer.
func (u unknown) Informer() cache.SharedIndexInformer {
	return unknownInformer{u.CustomResourceDefinitionInformer.Informer(), u.installed}
}

type unknownInformer struct {
	cache.SharedIndexInformer
	installed *installed
}

// AddEventHandler implements cache.SharedInformer.
func (u unknownInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return u.SharedIndexInformer.AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
			return !ok || !u.installed.isStructural(crd)
		},
		Handler: handler,
	})
}
