// Package snapshot takes snapshots of the stored objects of a server with an embedded etcd, and restores them.
// [Snapshots] has the functions. A snapshot is in memory: to keep objects longer than the process, use a data folder.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// rounds is the number of times that Restore compares the stored objects with the snapshot. Other clients may write
// during a restore, so one comparison isn't enough.
const rounds = 10

// Snapshot is a copy of all stored objects at one moment.
type Snapshot struct {
	of     *Snapshots
	stored *storage.Snapshot
}

// CustomResources prepares custom resource definitions for a restore, and waits until restored definitions are in
// effect.
type CustomResources interface {
	// EndDeletions waits until custom resource definitions that are being deleted are gone.
	EndDeletions(ctx context.Context)
	// Restored waits until the server serves a custom resource definition as it was written at an etcd revision. If
	// deleted is true, the definition was deleted at the revision, and Restored waits until the server doesn't serve it.
	Restored(name string, revision int64, deleted bool)
}

// Barrier waits until informers have seen a write: see admission.Barrier.
type Barrier interface {
	Wait(ctx context.Context, resource schema.GroupResource, obj runtime.Object)
}

// Snapshots takes and restores the snapshots of one server with an embedded etcd.
type Snapshots struct {
	Table           *registry.Table
	Member          *storage.Member
	CustomResources CustomResources
	Barrier         Barrier
	// Hold stops the writes of controllers, and of the code that checks the servers of APIServices, until release is
	// called.
	Hold func() (release func())
	// Root is the prefix of all etcd keys, without the slash at its end.
	Root string
}

// Take takes a snapshot of all stored objects, for Restore.
func (s *Snapshots) Take(ctx context.Context) (*Snapshot, error) {
	stored, err := s.Member.Snapshot(ctx, s.Root+"/")
	if err != nil {
		return nil, err
	}
	return &Snapshot{of: s, stored: stored}, nil
}

// Restore brings back the objects of the snapshot. It deletes objects that the snapshot lacks, and writes changed or
// deleted objects as they were, with a new resourceVersion. It bypasses admission and finalizers; watches get an event
// for each change. As after any write, the next request sees the effect.
func (s *Snapshots) Restore(ctx context.Context, snapshot *Snapshot) error {
	if snapshot.of != s {
		return errors.New("the snapshot is of another server: a server restores only its own snapshots")
	}
	locate := s.locate()
	s.CustomResources.EndDeletions(ctx)
	defer s.Hold()()
	for range rounds {
		changes, err := s.Member.Changes(ctx, snapshot.stored)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return nil
		}
		for _, step := range locate.steps(changes) {
			if err := s.Member.Apply(ctx, step); err != nil {
				return err
			}
			s.await(ctx, step, locate)
		}
	}
	return fmt.Errorf("other clients write during the restore: after %d rounds, the stored objects still differ from the snapshot", rounds)
}

// steps splits the changes into steps. In the order of the steps, every watch can decode its events. If a definition
// changes, its custom resources are deleted first, because their watches can decode only the versions of the old
// definition. The next round restores these custom resources.
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

// await waits until the changes are in effect. The response to a write request waits in the same way for the effect of
// the write.
func (s *Snapshots) await(ctx context.Context, changes []storage.Change, locate locations) {
	last := map[schema.GroupResource]int64{}
	for _, change := range changes {
		if locate.defines(change.Key) {
			s.CustomResources.Restored(path.Base(change.Key), change.Revision, change.Delete)
			continue
		}
		for _, resource := range locate.resources(change.Key) {
			last[resource] = max(last[resource], change.Revision)
		}
	}
	for resource, revision := range last {
		s.Barrier.Wait(ctx, resource, &metav1.PartialObjectMetadata{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(revision, 10)},
		})
	}
}

// locations maps etcd keys to resources.
type locations struct {
	root        string
	byPrefix    map[string][]schema.GroupResource
	definitions string
}

func (s *Snapshots) locate() locations {
	root := s.Root
	l := locations{root: root, byPrefix: map[string][]schema.GroupResource{}}
	for resource, prefix := range s.Table.StoragePrefixes() {
		key := root + path.Join("/", prefix)
		l.byPrefix[key] = append(l.byPrefix[key], resource)
	}
	l.definitions = root + path.Join("/", apiextensionsv1.GroupName, "customresourcedefinitions")
	return l
}

// resources returns the resources that are stored at the prefix of the key.
func (l locations) resources(key string) []schema.GroupResource {
	for prefix := path.Dir(key); prefix != "/" && prefix != "."; prefix = path.Dir(prefix) {
		if resources := l.byPrefix[prefix]; resources != nil {
			return resources
		}
	}
	return []schema.GroupResource{l.customResource(key)}
}

// customResource returns the custom resource of a key. The key has the form ROOT/GROUP/RESOURCE/[NAMESPACE/]NAME, and
// doesn't belong to a built-in resource.
func (l locations) customResource(key string) schema.GroupResource {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, l.root+"/"), "/")
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

func (l locations) defines(key string) bool { return strings.HasPrefix(key, l.definitions+"/") }

// definedBy returns the custom resource of a custom resource definition. The key of the definition ends in
// RESOURCE.GROUP.
func definedBy(key string) schema.GroupResource { return schema.ParseGroupResource(path.Base(key)) }
