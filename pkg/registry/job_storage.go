package registry

import (
	"context"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// jobStorage warns of deletions that leave pods behind: batch/v1 orphans them unless
// told otherwise, which few expect.
type jobStorage struct{ *Storage }

var _ rest.StandardStorage = &jobStorage{}

func newJobStorage(main *Storage, _ Dependencies) (rest.Storage, error) {
	return &jobStorage{main}, nil
}

func (j *jobStorage) warn(ctx context.Context, options *metav1.DeleteOptions) {
	//nolint:staticcheck // orphanDependents is deprecated, and still obeyed
	if options != nil && options.PropagationPolicy == nil && options.OrphanDependents == nil &&
		j.Strategy.DefaultGarbageCollectionPolicy(ctx) == rest.OrphanDependents {
		warning.AddWarning(ctx, "", warnings.JobDeletion)
	}
}

// Delete deletes a job.
func (j *jobStorage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	j.warn(ctx, options)
	return j.Storage.Delete(ctx, name, validate, options)
}

// DeleteCollection deletes the jobs that are selected.
func (j *jobStorage) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions) (runtime.Object, error) {
	j.warn(ctx, options)
	return j.Storage.DeleteCollection(ctx, validate, options, list)
}
