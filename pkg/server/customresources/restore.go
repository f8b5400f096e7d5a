package customresources

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// deletionTimeout limits the time for which a Restore waits for the deletion of definitions, which takes
// milliseconds.
const deletionTimeout = 500 * time.Millisecond

// EndDeletions waits until definitions that are being deleted are gone. Otherwise the controllers would continue
// with the restored definitions; cleanup would stop them, but they would log that. If finalizers hold custom
// resources, EndDeletions doesn't wait, because the controllers check such custom resources only every five
// seconds.
func (r *Resources) EndDeletions(ctx context.Context) {
	b := r.barrier
	b.settle()
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	defer context.AfterFunc(b.following, cancel)()
	// Finalizers may hold them for a longer time, which is no error.
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

// Restored waits until a definition is in effect that was written to etcd, or deleted there, without the storage.
// The argument is the revision of the write, or 0 if another write came first.
func (r *Resources) Restored(name string, revision int64, deleted bool) {
	b := r.barrier
	switch {
	case revision == 0:
	case deleted:
		b.await(name, func(k knownDefinitions) bool { return k.seen[name] == nil })
	default:
		resourceVersion := strconv.FormatInt(revision, 10)
		b.await(name, func(k knownDefinitions) bool {
			crd := k.seen[name]
			// At the time of the snapshot, the names may have been about to be accepted.
			return crd != nil && k.isPast(name, resourceVersion) && isServed(crd)
		})
		if kept := b.last(name); kept != nil && kept.DeletionTimestamp == nil {
			b.cleanup.keep(name, resourceVersion)
		}
		b.definitionChanged()
	}
}
