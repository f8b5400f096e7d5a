package server

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// restoreRounds bounds how often Restore looks again at what others write meanwhile.
const restoreRounds = 10

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
	stored, err := s.config.member.Snapshot(ctx, s.config.options.Etcd.StorageConfig.Prefix+"/")
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
	for range restoreRounds {
		changes, err := s.config.member.Changes(ctx, snapshot.stored)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return nil
		}
		// Custom resources go before, and come after, what defines them.
		var definitions, gone, objects []storage.Change
		for _, change := range changes {
			switch {
			case !locate.defines(change.Key):
				objects = append(objects, change)
			case change.Delete:
				gone = append(gone, change)
			default:
				definitions = append(definitions, change)
			}
		}
		for _, step := range [][]storage.Change{definitions, objects, gone} {
			if err := s.config.member.Apply(ctx, step); err != nil {
				return err
			}
			s.config.awaitChanges(ctx, step, locate)
		}
	}
	return fmt.Errorf("somebody else goes on writing: after %d rounds the server still isn't as it was", restoreRounds)
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
		b.await(name, func() bool { return b.seen[name] == nil })
	default:
		b.created(name, "")
		b.updated(name, strconv.FormatInt(change.Revision, 10))
	}
}

// locations tell which resource a key of etcd is of.
type locations struct {
	byPrefix    map[string][]schema.GroupResource
	definitions string
}

func (c *Config) locate() locations {
	root := c.options.Etcd.StorageConfig.Prefix
	l := locations{byPrefix: map[string][]schema.GroupResource{}}
	for resource, prefix := range registry.StoragePrefixes() {
		key := path.Join(root, prefix)
		l.byPrefix[key] = append(l.byPrefix[key], resource)
	}
	l.definitions = path.Join(root, apiextensionsv1.GroupName, "customresourcedefinitions")
	return l
}

// resources are those that are kept at the key's prefix; none for custom resources.
func (l locations) resources(key string) []schema.GroupResource {
	for prefix := path.Dir(key); prefix != "/" && prefix != "."; prefix = path.Dir(prefix) {
		if resources := l.byPrefix[prefix]; resources != nil {
			return resources
		}
	}
	return nil
}

func (l locations) defines(key string) bool { return strings.HasPrefix(key, l.definitions+"/") }
