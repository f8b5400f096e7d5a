package customresources

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// deletionTimeout limits the time for which a restore of a snapshot waits until definitions that are being deleted are
// gone. Such a deletion usually takes milliseconds.
const deletionTimeout = 500 * time.Millisecond

// EndDeletions waits until the controllers have deleted the custom resources of definitions that are being deleted. A
// restore of a snapshot calls it first. Otherwise the controllers would try to go on with the deletion after the
// restore, and would log the errors of the type cleanup. When the informer has received the deletions, EndDeletions
// waits no longer than deletionTimeout, because finalizers may keep custom resources.
func (r *Resources) EndDeletions(ctx context.Context) {
	b := r.barrier
	b.settle(ctx)
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	defer context.AfterFunc(b.following, cancel)()
	// A timeout is no error: finalizers may keep custom resources for a long time.
	_ = b.known.Wait(ctx, func(k knownDefinitions) bool {
		for _, crd := range k.seen {
			if isCleanedUp(crd) {
				return false
			}
		}
		return true
	})
}

// isCleanedUp tells whether the controllers are deleting the custom resources of the definition.
func isCleanedUp(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// Restored waits until a restore's write or deletion of a definition is in effect. The argument revision is the etcd
// revision of the restore's write. It is 0 if another client has written the definition in the meantime: then Restored
// doesn't wait.
func (r *Resources) Restored(ctx context.Context, name string, revision int64, deleted bool) {
	b := r.barrier
	switch {
	case revision == 0:
	case deleted:
		b.await(ctx, name, func(k knownDefinitions) bool { return k.seen[name] == nil })
	default:
		resourceVersion := strconv.FormatInt(revision, 10)
		b.await(ctx, name, func(k knownDefinitions) bool {
			crd := k.seen[name]
			// isServed returns true for a definition whose names the controllers haven't checked yet. If the snapshot
			// has such a definition, the controllers accept the names after the restore.
			return crd != nil && k.isPast(name, resourceVersion) && isServed(crd)
		})
		if kept := b.last(name); kept != nil && kept.DeletionTimestamp == nil {
			b.cleanup.keep(name, resourceVersion)
		}
		b.definitionChanged()
	}
}
