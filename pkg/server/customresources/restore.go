package customresources

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// deletionTimeout bounds how long a Restore waits for the deletion of definitions, which takes milliseconds.
const deletionTimeout = 500 * time.Millisecond

// EndDeletions waits until definitions that are being deleted are gone. The controllers would go on with what is
// restored, which cleanup keeps them from, and say so in the log. Where finalizers hold custom resources, the
// controllers only look for these every five seconds, and EndDeletions doesn't wait for that.
func (r *Resources) EndDeletions(ctx context.Context) {
	b := r.barrier
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

// Restored waits until a definition that was written past the storage, or deleted there, is in effect. The revision is
// that of the write, 0 if another write came first.
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
			// Names that were about to be accepted are what was before the snapshot.
			return crd != nil && k.isPast(name, resourceVersion) && isServed(crd)
		})
		if kept := b.last(name); kept != nil && kept.DeletionTimestamp == nil {
			b.cleanup.keep(name, resourceVersion)
		}
		b.definitionChanged()
	}
}
