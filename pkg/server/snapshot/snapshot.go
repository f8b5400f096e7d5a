// Package snapshot takes snapshots of the stored objects of a server with an embedded etcd, and restores them.
// [Snapshots] is the way in. Don't use the package for a backup that outlives the process: a data folder is one.
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

// rounds limits how often Restore checks for changes by other writers.
const rounds = 10

// Snapshot has the stored objects of a server at a moment.
type Snapshot struct {
	of     *Snapshots
	stored *storage.Snapshot
}

// CustomResources are restored with their definitions.
type CustomResources interface {
	// EndDeletions waits until definitions that are being deleted are gone.
	EndDeletions(ctx context.Context)
	// Restored waits until the server serves a definition as it was written at a revision. If deleted is true, Restored
	// waits until the definition, which was deleted at the revision, is no longer served.
	Restored(name string, revision int64, deleted bool)
}

// Barrier waits until informers have seen a write.
type Barrier interface {
	Wait(ctx context.Context, resource schema.GroupResource, obj runtime.Object)
}

// Snapshots takes and restores the snapshots of one server with an embedded etcd.
type Snapshots struct {
	Table           *registry.Table
	Member          *storage.Member
	CustomResources CustomResources
	Barrier         Barrier
	// Hold prevents writes of the results of other servers' checks, until release is called.
	Hold func() (release func())
	// Root is the prefix of all keys, without the slash.
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

// Restore brings back the objects of the snapshot. It deletes new objects, and writes changed or deleted objects as
// they were, with a new resourceVersion. It bypasses admission and finalizers; watches see each change. As after
// any write, the next request sees the effect.
func (s *Snapshots) Restore(ctx context.Context, snapshot *Snapshot) error {
	if snapshot.of != s {
		return errors.New("the snapshot is another server's")
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
	return fmt.Errorf("another client writes meanwhile: after %d rounds, the stored objects still differ from the snapshot", rounds)
}

// steps are the changes in an order in which a watch can decode each of them. Custom resources whose definitions
// change are deleted first, because their watches know only the versions of the old definition. They are restored
// in the next round.
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

// await waits until the changes are in effect, as with requests.
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

// locations map keys of etcd to resources.
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

// resources are stored at the prefix of the key.
func (l locations) resources(key string) []schema.GroupResource {
	for prefix := path.Dir(key); prefix != "/" && prefix != "."; prefix = path.Dir(prefix) {
		if resources := l.byPrefix[prefix]; resources != nil {
			return resources
		}
	}
	return []schema.GroupResource{l.customResource(key)}
}

// customResource returns the resource of a key that doesn't belong to a built-in resource:
// ROOT/GROUP/RESOURCE/[NAMESPACE/]NAME.
func (l locations) customResource(key string) schema.GroupResource {
	group, rest, _ := strings.Cut(strings.TrimPrefix(key, l.root+"/"), "/")
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

func (l locations) defines(key string) bool { return strings.HasPrefix(key, l.definitions+"/") }

// definedBy returns the custom resource of a definition, whose key ends in RESOURCE.GROUP.
func definedBy(key string) schema.GroupResource { return schema.ParseGroupResource(path.Base(key)) }
