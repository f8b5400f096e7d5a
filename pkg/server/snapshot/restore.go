package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// rounds is the number of times that Restore compares the stored objects with the snapshot. Other clients may write
// during a restore, so one comparison isn't enough.
const rounds = 10

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
		changes, err := s.Keys.Changes(ctx, snapshot.stored)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return nil
		}
		for _, step := range locate.steps(changes) {
			if err := s.Keys.Apply(ctx, step); err != nil {
				return err
			}
			s.await(ctx, step, locate)
		}
	}
	return fmt.Errorf("other clients write during the restore: after %d rounds, the stored objects still differ from the snapshot: stop these clients during the restore", rounds)
}

// steps splits the changes into steps. In the order of the steps, every watch can decode its events. If a definition
// changes, its custom resources are deleted first, because their watches can decode only the versions of the old
// definition. Restore writes these custom resources again in its next round.
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
			s.CustomResources.Restored(ctx, path.Base(change.Key), change.Revision, change.Delete)
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
