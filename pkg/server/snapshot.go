package server

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

const (
	// restoreRounds bounds how often Restore looks again at what others write meanwhile.
	restoreRounds = 10

	// deletionTimeout bounds how long Restore waits for the deletion of definitions, which takes milliseconds.
	deletionTimeout = 500 * time.Millisecond
)

// Snapshot is what a server stored at a moment.
type Snapshot struct {
	of     *Server
	stored *storage.Snapshot
}

// Snapshot takes a snapshot of everything that is stored, for Restore. Only a server
// with an embedded etcd can.
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	if s.config.member == nil {
		return nil, errors.New("a snapshot takes an embedded etcd, and this server has an external one")
	}
	stored, err := s.config.member.Snapshot(ctx, s.config.storageRoot()+"/")
	if err != nil {
		return nil, err
	}
	return &Snapshot{of: s, stored: stored}, nil
}

// Restore brings back what was stored when the snapshot was taken: what is new is gone,
// what has changed or gone is as it was, under a new resourceVersion. Nobody is asked,
// no admission and no finalizer; watches are told of each change. When it returns, the
// next request is served accordingly, as after any write.
func (s *Server) Restore(ctx context.Context, snapshot *Snapshot) error {
	if snapshot.of != s {
		return errors.New("the snapshot is another server's")
	}
	locate := s.config.locate()
	s.config.crdBarrier.endDeletions(ctx)
	if aggregator := s.config.aggregator.Load(); aggregator != nil {
		defer aggregator.Hold()()
	}
	for range restoreRounds {
		changes, err := s.config.member.Changes(ctx, snapshot.stored)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return nil
		}
		for _, step := range locate.steps(changes) {
			if err := s.config.member.Apply(ctx, step); err != nil {
				return err
			}
			s.config.awaitChanges(ctx, step, locate)
		}
	}
	return fmt.Errorf("somebody else goes on writing: after %d rounds the server still isn't as it was", restoreRounds)
}

// endDeletions waits until definitions that are being deleted are gone. The controllers would go on with what is
// restored, which crdCleanup keeps them from, and say so in the log. Where finalizers hold custom resources, all that
// they do is to look for these, every five seconds, and that isn't waited for.
func (b *crdBarrier) endDeletions(ctx context.Context) {
	b.settle()
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	defer context.AfterFunc(b.following, cancel)()
	// Finalizers may hold them for longer, which is no error.
	_ = b.known.Wait(ctx, func(k knownDefinitions) bool {
		for _, crd := range k.seen {
			if isCleanedUp(crd) {
				return false
			}
		}
		return true
	})
}

// isCleanedUp says that the controllers delete what is defined.
func isCleanedUp(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// steps are the changes in an order in which whoever watches can read each of them. Custom resources whose
// definitions change go first: those who watch them know the versions of the old definition alone, and what they are
// to be comes in the next round.
func (l locations) steps(changes []storage.Change) [][]storage.Change {
	redefined := map[schema.GroupResource]bool{}
	var definitions, dropped []storage.Change
	for _, change := range changes {
		switch {
		case !l.defines(change.Key):
			continue
		case change.Delete:
			dropped = append(dropped, change)
		default:
			definitions = append(definitions, change)
		}
		redefined[definedBy(change.Key)] = true
	}
	var gone, objects []storage.Change
	for _, change := range changes {
		switch {
		case l.defines(change.Key):
		case !redefined[l.customResource(change.Key)]:
			objects = append(objects, change)
		case change.Exists():
			change.Delete = true
			gone = append(gone, change)
		}
	}
	return [][]storage.Change{gone, definitions, objects, dropped}
}

// awaitChanges waits until the changes are in effect, as the writes of requests do.
func (c *Config) awaitChanges(ctx context.Context, changes []storage.Change, locate locations) {
	last := map[schema.GroupResource]int64{}
	for _, change := range changes {
		if locate.defines(change.Key) {
			c.crdBarrier.restored(path.Base(change.Key), change)
			continue
		}
		for _, resource := range locate.resources(change.Key) {
			last[resource] = max(last[resource], change.Revision)
		}
	}
	for resource, revision := range last {
		c.informers.Barrier().Wait(ctx, resource, &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(revision, 10)},
		})
	}
}

// restored waits until a definition that was written past the storage is in effect.
func (b *crdBarrier) restored(name string, change storage.Change) {
	switch {
	case change.Revision == 0:
	case change.Delete:
		b.await(name, func(k knownDefinitions) bool { return k.seen[name] == nil })
	default:
		resourceVersion := strconv.FormatInt(change.Revision, 10)
		b.await(name, func(k knownDefinitions) bool {
			crd := k.seen[name]
			// Names that were about to be accepted are what was before the snapshot.
			return crd != nil && k.isPast(name, resourceVersion) && k.isServed(crd)
		})
		if kept := b.last(name); kept != nil && kept.DeletionTimestamp == nil {
			b.cleanup.keep(name, resourceVersion)
		}
		b.updated(name, resourceVersion)
		b.definitionChanged()
	}
}

// locations tell which resource a key of etcd is of.
type locations struct {
	root        string
	byPrefix    map[string][]schema.GroupResource
	definitions string
}

// storageRoot is what all keys begin with, up to a slash.
func (c *Config) storageRoot() string {
	return strings.TrimSuffix(path.Join("/", c.options.Etcd.StorageConfig.Prefix), "/")
}

func (c *Config) locate() locations {
	root := c.storageRoot()
	l := locations{root: root, byPrefix: map[string][]schema.GroupResource{}}
	for resource, prefix := range builtin.Table().StoragePrefixes() {
		key := root + path.Join("/", prefix)
		l.byPrefix[key] = append(l.byPrefix[key], resource)
	}
	l.definitions = root + path.Join("/", apiextensionsv1.GroupName, "customresourcedefinitions")
	return l
}

// resources are those that are kept at the key's prefix.
func (l locations) resources(key string) []schema.GroupResource {
	for prefix := path.Dir(key); prefix != "/" && prefix != "."; prefix = path.Dir(prefix) {
		if resources := l.byPrefix[prefix]; resources != nil {
			return resources
		}
	}
	return []schema.GroupResource{l.customResource(key)}
}

// customResource is what the key is of if it is no built-in resource's: ROOT/GROUP/RESOURCE/[NAMESPACE/]NAME.
func (l locations) customResource(key string) schema.GroupResource {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, l.root+"/"), "/")
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

func (l locations) defines(key string) bool { return strings.HasPrefix(key, l.definitions+"/") }

// definedBy is the custom resource of a definition's key, which ends in RESOURCE.GROUP.
func definedBy(key string) schema.GroupResource { return schema.ParseGroupResource(path.Base(key)) }
